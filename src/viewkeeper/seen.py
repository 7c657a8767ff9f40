"""What views have seen of their inputs, and what has changed since: known from the warehouse log alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import Layer, RelationState

COUNTABLE = frozenset({"tinyint", "smallint", "int", "bigint", "date"})
"""Types whose values between two others can be counted."""


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


def unseen_commits(entry: Entry, view: ViewDefinition) -> frozenset[int]:
    """The commits that changed base tables of a view since the state that it shows."""
    return frozenset(
        layer.commit
        for name in entry.catalog.base_tables(view)
        for layer in entry.relations[name].log
        if view.position is not None and layer.commit > view.position
    )


def written_anew(new: RelationState, why: str = "") -> TableChange:
    """The change of an input of which nothing is known but what it is now."""
    return TableChange(new.main_rows, only_inserts=False, replaced=True, why=why)


def _change(draft: Draft, old: RelationState | None, new: RelationState) -> TableChange | None:
    if old is not None and new.clock is not None:
        return None if old.clock == new.clock else TableChange(2, only_inserts=False, deleted=1.0)
    if old is None or old.folder != new.folder or new.complete_since > old.newest:
        return written_anew(new, new.followed.how if new.followed else "")
    layers = draft.between(old, new)
    if not any(layer.rows for layer in layers):
        return None
    inserts = new.merge is None and all(layer.only_inserts for layer in layers)
    rows = sum(layer.rows for layer in layers)
    whole = all(layer.diff is None for layer in layers)  # a diff has none of the values before it
    return TableChange(
        rows,
        inserts,
        updates=_updates(layers),
        constants=_constants(new.columns, layers) if whole else frozenset(),
        values=_values(new.columns, layers) if whole else {},
        deleted=sum(map(_deleted, layers)),
    )


def _deleted(layer: Layer) -> float:
    """About how many rows of a signed layer are deletions: half, as in updates, where there are both."""
    if layer.only_inserts:
        return 0.0
    return layer.rows if layer.only_deletes else layer.rows / 2


def _constants(columns: Sequence[Column], layers: Sequence[Layer]) -> frozenset[str]:
    """The columns that have one value in all rows of some layers, as their footers tell; what these tell of
    text may be cut short."""
    nulls = {name for layer in layers for file in layer.files for name in file.nulls}
    ranges = _ranges([column.name for column in columns if column.type != "string"], layers)
    return frozenset(name for name, (low, high) in ranges.items() if low == high and name not in nulls)


def _values(columns: Sequence[Column], layers: Sequence[Layer]) -> dict[str, int]:
    """How many values whole numbers and dates can have in some layers: as many as lie between the least and
    the greatest."""
    ranges = _ranges([column.name for column in columns if column.type in COUNTABLE], layers)
    return {name: 1 + _place(high) - _place(low) for name, (low, high) in ranges.items()}


def _place(value: int | str) -> int:
    """A whole number, or a date as footers write it, as a number."""
    return date.fromisoformat(value).toordinal() if isinstance(value, str) else value


def _ranges(names: Iterable[str], layers: Sequence[Layer]) -> dict[str, tuple[Any, Any]]:
    """The least and the greatest value of columns of which all files tell it."""
    files = [file for layer in layers for file in layer.files if file.rows]
    told = {name: [file.ranges[name] for file in files if name in file.ranges] for name in names}
    return {
        name: (min(low for low, _ in pairs), max(high for _, high in pairs))
        for name, pairs in told.items()
        if pairs and len(pairs) == len(files)
    }


def _updates(layers: Sequence[Layer]) -> frozenset[str] | None:
    """The columns that changed, where every layer only updates rows."""
    found: set[str] = set()
    for layer in layers:
        if layer.updates is None:
            return None
        found.update(layer.updates)
    return frozenset(found)
