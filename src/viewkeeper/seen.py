"""What views have seen of their inputs, and what has changed since: known from the warehouse log alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import Layer, RelationState


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


def changes_of(
    log: WarehouseLog, draft: Draft, definition: ViewDefinition
) -> Mapping[str, TableChange] | None:
    """The inputs of a view that changed since its last refresh; None before its first."""
    if definition.position is None:
        return None
    old = inputs_seen(log, definition)
    found = {name: _change(draft, old.get(name), draft.relations[name]) for name in definition.tables}
    return {name: change for name, change in found.items() if change is not None}


def stale_views(log: WarehouseLog, draft: Draft) -> tuple[str, ...]:
    """Views that are not filled yet, or whose inputs changed since they were."""
    order = draft.catalog.in_order()
    stale: set[str] = set()
    for view in order:
        changes = changes_of(log, draft, view)
        if changes is None or changes or any(table in stale for table in view.reads):
            stale.add(view.name)
    return tuple(view.name for view in order if view.name in stale)


def written_anew(new: RelationState, why: str = "") -> TableChange:
    """The change of an input of which nothing is known but what it is now."""
    return TableChange(new.main_rows, only_inserts=False, replaced=True, why=why)


def _change(draft: Draft, old: RelationState | None, new: RelationState) -> TableChange | None:
    if old is None or old.folder != new.folder or new.complete_since > old.newest:
        return written_anew(new, new.followed.how if new.followed else "")
    layers = draft.between(old, new)
    if not any(layer.rows for layer in layers):
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
