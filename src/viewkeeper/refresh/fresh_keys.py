"""Which keys came or went whole in a batch, as the changes themselves tell (`rewrite/fresh_keys.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.spark.engine import Engine
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.overlay import has_plain_equality
from viewkeeper.storage.relation import RelationState, layers_between

READ = 500_000
"""Keys of more changed rows are not read to find out."""

States = Mapping[str, RelationState]


def fresh_keys(state: RefreshState) -> RefreshState:
    """Adds which keys of changed tables, referred to by other changed tables, are all new or gone.

    Only the key columns of the changes are read, by the driver. Declared foreign keys hold before and after
    a batch.
    """

    def step(task: Task) -> Task:
        if task.is_first or state.policy_of(task) == "full":
            return task
        return replace(task, batch=replace(task.batch, fresh=_fresh(state.work.engine, state.draft, task)))

    return state.each(step)


def _fresh(engine: Engine, draft: Draft, task: Task) -> tuple[FreshKeys, ...]:
    catalog, new, old, changes = draft.catalog, draft.relations, task.old, task.batch.changes
    changed = {name: catalog.tables[name] for name in changes if _is_told(name, catalog, old, new, changes)}
    if sum(changes[name].rows for name in changed) > READ:
        return ()
    found = []
    for parent, children in _references(changed).items():
        members = {parent: changed[parent].key[0], **children}
        values = {name: _values(engine, old[name], new[name], column) for name, column in members.items()}
        closed = closed_by(parent, values)
        if closed:
            keys = {name: tuple(changed[name].column(n) for n in changed[name].key) for name in members}
            found.append(FreshKeys(members, closed, keys))
    return tuple(found)


def closed_by(parent: str, values: Mapping[str, pa.Table | None]) -> frozenset[str]:
    """The tables whose changes mention only keys that are new or gone: none, or the parent and some others.

    Of every table, the changed values of the key and their signs, where they are known.
    """
    parents = values[parent]
    if parents is None or not _all_fresh(parents):
        return frozenset()
    others = {name: rows for name, rows in values.items() if name != parent and rows is not None}
    return frozenset({parent, *(name for name, rows in others.items() if _is_within(rows, parents))})


def _is_told(
    name: str, catalog: Catalog, old: States, new: States, changes: Mapping[str, TableChange]
) -> bool:
    """Whether the layers of a table tell what came and what went, row by row, of a set."""
    if name not in catalog.tables or name not in old or changes[name].replaced:
        return False
    return bool(catalog.tables[name].key) and new[name].merge is None


def _references(tables: Mapping[str, TableSchema]) -> dict[str, dict[str, str]]:
    """Tables that others refer to by a key of one column, with the column of each that does."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name, schema in tables.items():
        for reference in schema.foreign_keys:
            parent = tables.get(reference.table)
            if parent is not None and parent is not schema and reference.referenced == parent.key:
                if len(reference.columns) == 1 and name not in found[parent.name]:
                    found[parent.name][name] = reference.columns[0]
    return {parent: children for parent, children in found.items() if children}


def _values(engine: Engine, old: RelationState, new: RelationState, name: str) -> pa.Table | None:
    """The changed values of a column, with their signs; None where the driver cannot tell them apart."""
    files = [file for layer in layers_between(old, new) for file in layer.files]
    column = next(column for column in new.columns if column.name == name)
    table = engine.driver_table(new.folder, files, (column, Column(COUNT, "bigint", nullable=False)))
    return table if table is not None and has_plain_equality(table.schema) else None


def _all_fresh(changes: pa.Table) -> bool:
    """Whether every key is there before or after the changes, and not both times."""
    net = changes.group_by(changes.column_names[0]).aggregate([(COUNT, "sum")]).column(f"{COUNT}_sum")
    return not pc.any(pc.equal(net, 0)).as_py()


def _is_within(changes: pa.Table, parents: pa.Table) -> bool:
    """Whether the changed rows refer to these parents, and to no others."""
    values, known = changes.column(0), parents.column(0)
    if values.null_count or values.type != known.type:
        return False
    return not pc.any(pc.invert(pc.is_in(values, value_set=known))).as_py()
