"""What a refresh finds: which inputs of a view changed since it last read them, and how all is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from viewkeeper.algebra.schema import Column
from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.maintenance.strategy import Batch, TableChange
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.relation import Layer, RelationState, layers_between


def inputs_seen(log: WarehouseLog, definition: ViewDefinition) -> dict[str, RelationState]:
    """The inputs of a view as it last read them, and its own stored relations; empty before that."""
    if definition.position is None or definition.published is None:
        return {}
    at_position = log.entry(definition.position)
    seen = {}
    for name in definition.tables:
        is_table = name in at_position.catalog.tables
        entry = at_position if is_table else log.entry(definition.published)
        if name in entry.relations:
            seen[name] = entry.relations[name]
    return seen


def last_details(base: Entry, log: WarehouseLog, name: str) -> Mapping[str, Any]:
    """What the last refresh of a view, or the propagation that is not taken over yet, told."""
    definition = base.catalog.views.get(name)
    if definition is None or definition.published is None:
        return {}
    versions = [definition.published]
    if definition.propagated is not None:
        versions += [version for version in log.versions() if definition.propagated < version <= base.version]
    reports = (log.entry(version).report_on(name) for version in reversed(versions))
    return next((report["details"] for report in reports if report is not None), {})


def batch_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Batch | None:
    """What changed for the view since its last refresh; None before its first."""
    if definition.position is None:
        return None
    changes = {}
    for name in definition.tables:
        change = _change(old.get(name), draft.relations[name])
        if change is not None:
            changes[name] = change
    return replace(storage_of(draft, definition, old), changes=changes)


def batch_since_redefined(
    draft: Draft, earlier: ViewDefinition, definition: ViewDefinition, old: Mapping[str, RelationState]
) -> Batch:
    """What changed of the inputs that the earlier definition read; the others are as they are."""
    tables = tuple(dict.fromkeys((*earlier.tables, *definition.tables)))
    both = replace(definition, tables=tables)
    found = {name: _change(old[name], draft.relations[name]) for name in tables if name in old}
    changes = {name: change for name, change in found.items() if change is not None}
    return replace(storage_of(draft, both, old), changes=changes)


def storage_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Batch:
    """A batch without changes: how the inputs and the view itself are stored."""
    states = [(name, draft.relations[name]) for name in definition.tables]
    counted = frozenset(n for n, s in (*states, *old.items()) if s.has_pending_deletes)
    own = {n: draft.relations[n] for n in (*definition.state, definition.name) if n in draft.relations}
    sizes = {name: state.stored_rows for name, state in (*states, *own.items())}
    stored = {name: state.columns for name, state in own.items()}
    keyed = frozenset(name for name, state in states if state.merge is not None)
    groups = {name: state.groups for name, state in own.items() if state.merge is not None}
    return Batch({}, sizes, counted, stored, keyed, groups=groups)


def _change(old: RelationState | None, new: RelationState) -> TableChange | None:
    if old is None or old.folder != new.folder or new.complete_since > old.newest:
        return TableChange(new.main_rows, only_inserts=False, replaced=True)
    layers = layers_between(old, new)
    if not layers:
        return None
    inserts = new.merge is None and all(layer.only_inserts for layer in layers)
    rows = sum(layer.rows for layer in layers)
    return TableChange(rows, inserts, updates=_updates(layers), constants=_constants(new.columns, layers))


def _constants(columns: Sequence[Column], layers: Sequence[Layer]) -> frozenset[str]:
    """The columns that have one value in all rows of some layers, as their footers tell; what these tell of
    text may be cut short."""
    files = [file for layer in layers for file in layer.files]
    found = set()
    for name in (column.name for column in columns if column.type != "string"):
        if all(name in file.ranges and name not in file.nulls for file in files):
            values = {value for file in files for value in file.ranges[name]}
            found |= {name} if len(values) == 1 else set()
    return frozenset(found)


def _updates(layers: Sequence[Layer]) -> frozenset[str] | None:
    """The columns that changed, where every layer only updates rows."""
    found: set[str] = set()
    for layer in layers:
        if layer.updates is None:
            return None
        found.update(layer.updates)
    return frozenset(found)
