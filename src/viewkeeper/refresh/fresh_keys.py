"""Which keys came or went whole in a batch, as the changes themselves tell (`rewrite/fresh_keys.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from viewkeeper.algebra.expressions import Named, column, equal, function, literal, same
from viewkeeper.algebra.relations import Aggregate, Filter, Join, JoinKind, Project, Reference, Relation
from viewkeeper.algebra.schema import COUNT, TableSchema
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.engine.rows import Held
from viewkeeper.maintenance.recursion.strata import references
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import counted
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState, layers_between

States = Mapping[str, RelationState]

Here = Callable[[Relation, Mapping[str, Held]], Held | None]
"""The rows of a plan over rows that are held, where they are known at once."""


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


def _fresh(engine: SparkEngine, draft: Draft, task: Task) -> tuple[FreshKeys, ...]:
    catalog, new, old, changes = draft.catalog, draft.relations, task.old, task.batch.changes
    changed = {
        name: catalog.tables[name] for name in changes if _has_signed_keys(name, catalog, old, new, changes)
    }
    if sum(changes[name].rows for name in changed) > engine.limits.fresh_keys_read:
        return ()
    found = []
    for parent, children in _references(changed).items():
        members = {parent: changed[parent].key[0], **children}
        values = {name: _values(engine, old[name], new[name], column) for name, column in members.items()}
        closed = closed_by(parent, values, engine.here)
        if closed:
            keys = {name: tuple(changed[name].column(n) for n in changed[name].key) for name in members}
            found.append(FreshKeys(members, closed, keys))
    return tuple(found)


def closed_by(parent: str, values: Mapping[str, Held | None], here: Here) -> frozenset[str]:
    """The tables whose changes mention only keys that are new or gone: none, or the parent and some others.

    Of every table, the changed values of the key and their signs, where they are known.
    """
    known = {name: rows for name, rows in values.items() if rows is not None}
    if parent not in known or not _is_void(_there_twice(_leaf(parent, known)), known, here):
        return frozenset()
    others = (name for name in known if name != parent)
    within = (n for n in others if _is_void(_strays(_leaf(n, known), _leaf(parent, known)), known, here))
    return frozenset({parent, *within})


def _leaf(name: str, known: Mapping[str, Held]) -> Relation:
    """The changes of a table: a key and its sign."""
    return Reference(name, tuple(known[name].table.column_names))


def _there_twice(changes: Relation) -> Relation:
    """The keys that are there before the changes and after them, or neither time."""
    key = changes.columns[0]
    net = Aggregate(changes, same((key,)), (Named(COUNT, function("sum", column(COUNT))),))
    return Filter(net, equal(column(COUNT), literal(0)))


def _strays(changes: Relation, parents: Relation) -> Relation:
    """The changed rows that refer to none of these parents."""
    mine, other = changes.columns[0], "__parent"
    keys = Project(parents, (Named(other, column(parents.columns[0])),))
    return Join(changes, keys, JoinKind.ANTI, equal(column(mine), column(other)))


def _is_void(plan: Relation, known: Mapping[str, Held], here: Here) -> bool:
    """Whether it is known at once that a plan has no rows."""
    found = here(plan, {name: known[name] for name in references(plan)})
    return found is not None and not found.rows


def _has_signed_keys(
    name: str, catalog: Catalog, old: States, new: States, changes: Mapping[str, TableChange]
) -> bool:
    """Whether the layers of a table hold each key that came and each that went, and the table is a set."""
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


def _values(engine: SparkEngine, old: RelationState, new: RelationState, name: str) -> Held | None:
    """The changed values of a column, with their signs."""
    files = [file for layer in layers_between(old, new) for file in layer.files]
    columns = counted(column for column in new.columns if column.name == name)
    table = engine.driver_table(new.folder, files, columns)
    return None if table is None else Held(table, columns)
