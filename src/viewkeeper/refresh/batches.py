"""What a view goes through: which inputs changed since it last read them, and how all is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.maintenance.strategy import Batch, Stored, TableChange
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import Layer, RelationState, layers_between
from viewkeeper.views import compiled


def batches(state: RefreshState) -> RefreshState:
    """Adds what each view goes through; of a view over views, what is known of that by now."""
    known = {name for name, task in state.tasks.items() if state.is_over_tables(task)}
    return state.with_tasks(_task(state, view) for view in state.views if view.name not in known)


def _task(state: RefreshState, definition: ViewDefinition) -> Task:
    """A view's task; where its rows are those of an earlier definition, with what changed for that one."""
    log, draft, view = state.work.log, state.draft, compiled(definition, state.draft.catalog)
    filled = draft.redefined.get(definition.name, definition)
    if filled is not definition:
        view = replace(view, before=compiled(filled, draft.base.catalog))
    old, told = inputs_seen(log, filled), last_details(draft.base, log, definition.name)
    tables = tuple(dict.fromkeys((*filled.tables, *definition.tables)))
    stored = stored_of(draft, replace(definition, tables=tables), old)
    return Task(definition, view, old, told, Batch(changes_of(log, draft, filled) or {}, stored))


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


def changes_of(
    log: WarehouseLog, draft: Draft, definition: ViewDefinition
) -> Mapping[str, TableChange] | None:
    """The inputs of a view that changed since its last refresh; None before its first."""
    if definition.position is None:
        return None
    old = inputs_seen(log, definition)
    found = {name: _change(old.get(name), draft.relations[name]) for name in definition.tables}
    return {name: change for name, change in found.items() if change is not None}


def stored_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Stored:
    """How the inputs, now and as they were last read, and the view itself are stored."""
    states = [(name, draft.relations[name]) for name in definition.tables]
    own = {n: draft.relations[n] for n in (*definition.state, definition.name) if n in draft.relations}
    return Stored(
        sizes={name: state.stored_rows for name, state in (*states, *own.items())},
        counted=frozenset(n for n, s in (*states, *old.items()) if s.has_pending_deletes),
        columns={name: state.columns for name, state in own.items()},
        keyed=frozenset(name for name, state in states if state.merge is not None),
        groups={name: state.groups for name, state in own.items() if state.merge is not None},
    )


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
