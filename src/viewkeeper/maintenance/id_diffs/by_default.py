"""Which views are stored with their IDs where these may pay: those whose updates may then be one row each.

    σ, π, ⋈, ⋉, ▷, ⊎ over tables with keys, and some table with a column that no condition looks at

What else maintains them stays as it is: signed rows, of the plan with its IDs. An ID comes in it at most
once, so signed layers and i-diffs can be laid over each other (`algebra/merge/signed_ids.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Filter, Join, JoinKind, Project, Relation, Scan, UnionAll
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import nodes
from viewkeeper.maintenance.id_diffs import Caching, IdView, define
from viewkeeper.maintenance.id_diffs.schemas import BaseTable, base_tables
from viewkeeper.report import Reason

_WHOLE = ("tinyint", "smallint", "int", "bigint", "decimal")
TOLD_APART = (*_WHOLE, "boolean", "date", "timestamp", "timestamp_ntz")
"""Types in which equal values are the same, as they are in `string` without a collation. 0.0 and -0.0 are
not, nor are texts of CHAR(n) that differ in spaces."""

_KINDS = {JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI}


def by_default(name: str, plan: Relation, schemas: Mapping[str, TableSchema]) -> IdView | Reason:
    """The view with its IDs where they may pay, or why it is stored without."""
    why = _why_not(plan)
    found = why or define(name, plan, schemas, caching=Caching.NEVER)
    if isinstance(found, Reason):
        return found
    tables = base_tables(found.top, found.schemas)
    loose = [column for table in tables for column in _loose_keys(table)]
    if loose:
        return Reason("key-type", f"Equal values of the key column {loose[0]} may not be the same.")
    if not any(_updates_pay(found, table) for table in tables):
        return Reason("no-gain", "No update of its tables could be told without their rows.")
    return found


def _why_not(plan: Relation) -> Reason | None:
    joins = [node for node in nodes(plan) if isinstance(node, Join)]
    if not is_of_rows(plan):
        return Reason("not-rows", "It does not only select, project, join and unite rows of tables.")
    for join in joins:
        if join.kind not in _KINDS:
            return Reason("outer-join", f"A {join.kind.value} outer join has no ID-based rules.")
    if not joins:
        return Reason("no-join", "A row of its table is one row of it, and is told as shortly without IDs.")
    return None


def is_of_rows(plan: Relation) -> bool:
    """Whether a plan only selects, projects, joins and unites rows."""
    return all(isinstance(node, (Scan, Filter, Project, UnionAll, Join)) for node in nodes(plan))


def _loose_keys(table: BaseTable) -> tuple[str, ...]:
    keys = (column for column in table.columns if column.name in table.key)
    return tuple(column.name for column in keys if not _tells_apart(column))


def _tells_apart(column: Column) -> bool:
    kind = column.type.lower()
    return not column.declared and (kind == "string" or kind.split("(")[0] in TOLD_APART)


def _updates_pay(definition: IdView, table: BaseTable) -> bool:
    """Whether some update of the table is an update of the view's rows, and their deletion and insertion is
    not needed."""
    updates = (d for d in definition.diffs_of(table.name) if d.schema.kind is DiffKind.UPDATE)
    scripts = (definition.script({diff.name}) for diff in updates)
    return any(script.steps and script.only_updates for script in scripts)


__all__ = ["by_default", "is_of_rows"]
