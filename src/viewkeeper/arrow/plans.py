"""Plans over Arrow tables: the part of the algebra that merging and comparing states is made of.

    rows(main ⊕ layers, {"main": …, "layers": …})

Operators work on whole columns: rows that are compared become codes (`equality`), and joins and groups are
Acero's over these. A plan is what `storage/layers.py` and `storage/id_layers.py` make; what Arrow does in
another way than Spark raises `NeedsSpark`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.expressions import conjunction, conjuncts, is_true
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.arrow.aggregates import aggregated
from viewkeeper.arrow.casts import cast
from viewkeeper.arrow.equality import first_rows, group_codes, match_codes
from viewkeeper.arrow.expressions import flat, holds, value
from viewkeeper.arrow.types import common_type
from viewkeeper.errors import NeedsSpark
from viewkeeper.rewrite.equalities import column_equalities

Leaves = Mapping[str, pa.Table]
"""The tables that references stand for, by name."""


def rows(plan: Relation, leaves: Leaves) -> pa.Table:
    """The rows of a plan; a part that occurs twice is evaluated once."""
    return _Run(leaves).rows(plan)


class _Run:
    def __init__(self, leaves: Leaves) -> None:
        self.leaves = leaves
        self.known: dict[Relation, pa.Table] = {}

    def rows(self, plan: Relation) -> pa.Table:
        if plan not in self.known:
            self.known[plan] = self._rows(plan)
        return self.known[plan]

    def _rows(self, plan: Relation) -> pa.Table:
        match plan:
            case Reference():
                return self.leaves[plan.name]
            case Values() if is_empty(plan):
                return pa.table({name: pa.nulls(0) for name in plan.columns})
            case Project():
                return _projected(plan, self.rows(plan.child))
            case Filter():
                table = self.rows(plan.child)
                return table.filter(holds(plan.condition, table))
            case Join():
                return _joined(plan, self.rows(plan.left), self.rows(plan.right))
            case Distinct():
                return _distinct(plan, self.rows(plan.child))
            case Aggregate():
                return _grouped(plan, self.rows(plan.child))
            case Window():
                return _beside_groups(plan, self.rows(plan.child))
            case UnionAll():
                return _union(plan, [self.rows(each) for each in plan.inputs])
            case Lateral():
                return _exploded(plan, self.rows(plan.child))
            case Expand():
                return _copied(plan, self.rows(plan.child))
            case Negate() | Consolidate() | Affected() | Scan() | Values() | TopK() | Fixpoint():
                raise NeedsSpark(f"Only Spark evaluates {type(plan).__name__}.")
            case Difference() | Intersection():
                raise NeedsSpark(f"Only Spark evaluates {type(plan).__name__}.")
            case _:
                assert_never(plan)


def _projected(plan: Project, table: pa.Table) -> pa.Table:
    columns = [
        table[output.expr.name] if output.is_column else value(output.expr, table) for output in plan.outputs
    ]
    if not columns:
        return table.select([])
    return pa.table(columns, names=list(plan.columns))


def _distinct(plan: Distinct, table: pa.Table) -> pa.Table:
    table = table.select(_read(plan.columns, table))
    return table.take(pa.array(first_rows(group_codes(table.columns, table.num_rows, plan.exact))))


def _grouped(plan: Aggregate, table: pa.Table) -> pa.Table:
    keys = [value(key.expr, table) for key in plan.keys]
    codes = group_codes([pa.chunked_array([key]) for key in keys], table.num_rows, plan.exact)
    first = first_rows(codes)
    groups = len(first) if plan.keys else 1
    found = {key.name: column.take(pa.array(first)) for key, column in zip(plan.keys, keys, strict=True)}
    for item in plan.aggregates:
        found[item.name] = aggregated(item.expr, table, codes, groups)
    return pa.table(found)


def _beside_groups(plan: Window, table: pa.Table) -> pa.Table:
    """Every row beside what aggregates say of its group."""
    codes = group_codes([table[name] for name in plan.partition], table.num_rows)
    groups = len(first_rows(codes))
    for item in plan.functions:
        if item.expr.args.get("order") is not None:
            raise NeedsSpark(f"Only Spark evaluates {item.expr.sql('spark')}.")
        values = aggregated(item.expr.this, table, codes, groups)
        table = table.append_column(item.name, values.take(pa.array(codes)))
    return table


def _union(plan: UnionAll, tables: list[pa.Table]) -> pa.Table:
    """All rows, columns by position and in the types that they have in common."""
    found = []
    for place in range(len(plan.columns)):
        columns = [table.column(each.columns[place]) for table, each in zip(tables, plan.inputs, strict=True)]
        kind = common_type([column.type for column in columns])
        alike = (column if column.type == kind else cast(flat(column), kind) for column in columns)
        found.append(pa.chunked_array([chunk for c in alike for chunk in _chunks(c)], kind))
    return pa.table(found, names=list(plan.columns))


def _chunks(column: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _exploded(plan: Lateral, table: pa.Table) -> pa.Table:
    """Every row once for each of some constants."""
    generator = plan.generator
    if not isinstance(generator, exp.Explode) or not isinstance(generator.this, exp.Array):
        raise NeedsSpark(f"Only Spark evaluates {generator.sql('spark')}.")
    [name] = plan.produced
    copies = [table.append_column(name, value(each, table)) for each in generator.this.expressions]
    return pa.concat_tables(copies)


def _read(names: Iterable[str], table: pa.Table) -> list[str]:
    """Those columns that were read: what nobody uses was not."""
    return [name for name in names if name in table.column_names]


def _copied(plan: Expand, table: pa.Table) -> pa.Table:
    """As many copies of each row as its count says."""
    counts = flat(table[COUNT]).to_numpy(zero_copy_only=False)
    rest = table.select(_read(plan.columns, table))
    return rest if (counts == 1).all() else rest.take(pa.array(np.repeat(np.arange(table.num_rows), counts)))


def _joined(join: Join, left: pa.Table, right: pa.Table) -> pa.Table:
    by = column_equalities(join.on, join.left.columns, join.right.columns)
    mine, theirs = match_codes(
        [left[one.left.name] for one in by],
        [right[one.right.name] for one in by],
        [one.null_safe for one in by],
        (left.num_rows, right.num_rows),
    )
    rest = conjunction(part for part in conjuncts(join.on) if not _is_among(part, len(by), join))
    if is_true(rest) and join.kind in (JoinKind.SEMI, JoinKind.ANTI) and right.num_rows:
        found = pc.is_valid(mine)
        return left.filter(found if join.kind is JoinKind.SEMI else pc.invert(found))
    pairs = _pairs(mine, theirs)
    if not is_true(rest):
        pairs = pairs.filter(holds(rest, _beside(left, right, pairs)))
    return _of_kind(join, left, right, pairs)


def _is_among(part: exp.Expr, number: int, join: Join) -> bool:
    """Whether a conjunct is one of the equalities between columns."""
    return number > 0 and bool(column_equalities(part, join.left.columns, join.right.columns))


def _pairs(left: pa.Array, right: pa.Array) -> pa.Table:
    """The places of the rows of both sides whose codes are equal."""
    mine = pa.table({"code": left, "left": np.arange(len(left), dtype=np.int64)})
    theirs = pa.table({"code": right, "right": np.arange(len(right), dtype=np.int64)})
    return mine.join(theirs, "code", join_type="inner", use_threads=False).select(["left", "right"])


def _beside(left: pa.Table, right: pa.Table, pairs: pa.Table) -> pa.Table:
    taken = (left.take(pairs["left"]), right.take(pairs["right"]))
    names = [*left.column_names, *right.column_names]
    return pa.table([column for table in taken for column in table.columns], names=names)


def _of_kind(join: Join, left: pa.Table, right: pa.Table, pairs: pa.Table) -> pa.Table:
    """The rows that a kind of join makes of the pairs that match."""
    alone = _without(left.num_rows, pairs["left"])
    match join.kind:
        case JoinKind.SEMI:
            return left.filter(pc.invert(alone))
        case JoinKind.ANTI:
            return left.filter(alone)
        case JoinKind.INNER:
            found = pairs
        case JoinKind.LEFT:
            found = pa.concat_tables([pairs, _lonely("left", alone)], promote_options="default")
        case JoinKind.RIGHT | JoinKind.FULL:
            own = [_lonely("left", alone)] if join.kind is JoinKind.FULL else []
            other = _lonely("right", _without(right.num_rows, pairs["right"]))
            found = pa.concat_tables([pairs, *own, other], promote_options="default")
        case _:
            assert_never(join.kind)
    return _beside(left, right, found)


def _without(number: int, places: pa.ChunkedArray) -> pa.Array:
    """Which of so many rows are not among some."""
    alone = np.ones(number, dtype=bool)
    alone[flat(places).to_numpy(zero_copy_only=False)] = False
    return pa.array(alone)


def _lonely(side: str, alone: pa.Array) -> pa.Table:
    return pa.table({side: pa.array(np.flatnonzero(alone.to_numpy(zero_copy_only=False)), pa.int64())})
