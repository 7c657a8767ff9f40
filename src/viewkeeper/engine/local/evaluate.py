"""Plans over tables on the driver, each operator one declaration of Acero.

    π_e(R)            project
    σ_c(R)            filter
    γ_K,f(R), δ(R)    aggregate; whole numbers are added up as decimals, which do not wrap
    L ⋈ R             hashjoin, by copies of the columns: (is null, value) where NULL equals NULL

A part that occurs several times is evaluated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.engine.local.expressions import compiled, holds
from viewkeeper.engine.types import arrow_type, driver_type
from viewkeeper.limits import LIMITS, Limits
from viewkeeper.planning.physical.agreement import (
    WHOLE,
    Differ,
    Types,
    called,
    calls_of,
    of_calls,
)
from viewkeeper.rewrite.equalities import Equality, column_equalities

_JOINS = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left outer",
    JoinKind.SEMI: "left semi",
    JoinKind.ANTI: "left anti",
}
_FUNCTIONS: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Count: "count", exp.Min: "min", exp.Max: "max"}
_WIDE = pa.decimal128(19, 0)
"""Holds any whole number; Arrow's sums of them have 38 digits."""

Named = tuple[str, pc.Expression]


class TooMuch(Exception):
    """What is for Spark after all: a value does not fit its type, or rows are too many."""


@dataclass
class Evaluation:
    """Plans at work, with the rows of those parts that are known."""

    tables: Callable[[Scan | Reference], pa.Table]
    types: Mapping[Relation, Types]
    limits: Limits = LIMITS
    known: dict[Relation, pa.Table] = field(default_factory=dict)

    def rows(self, plan: Relation) -> pa.Table:
        if plan not in self.types:
            raise Differ
        if plan not in self.known:
            try:
                self.known[plan] = self._typed(plan, self._found(plan))
            except pa.ArrowException as error:
                raise TooMuch from error
        return self.known[plan]

    def _typed(self, plan: Relation, table: pa.Table) -> pa.Table:
        """The rows in the types that Spark has for them; times keep the zone that they came in."""
        kinds = [(one, driver_type(self.types[plan][one.name]) or one.type) for one in table.schema]
        schema = pa.schema([(one.name, kind) for one, kind in kinds])
        return table if table.schema.equals(schema) else table.cast(schema)

    def _found(self, plan: Relation) -> pa.Table:
        match plan:
            case Scan():
                table = self.tables(plan).select([item.source.name for item in plan.bound])
                return table.rename_columns(list(plan.columns))
            case Reference():
                return self.tables(plan).select(list(plan.columns))
            case Filter():
                types, below = self.types[plan.child], self.rows(plan.child)
                condition = compiled(plan.condition, types, "boolean")
                return _run("filter", acero.FilterNodeOptions(condition), below)
            case Project():
                items = ((one.name, one.expr) for one in plan.outputs)
                return self._projected(plan.child, items, self.types[plan])
            case Distinct():
                below = self.rows(plan.child)
                return _run("aggregate", acero.AggregateNodeOptions([], keys=list(plan.columns)), below)
            case Expand():
                return self._copies(self.rows(plan.child)).select(list(plan.columns))
            case UnionAll():
                each = (self.rows(one).rename_columns(list(plan.columns)) for one in plan.inputs)
                return pa.concat_tables(each)
            case Aggregate():
                return self._grouped(plan)
            case Join():
                return self._joined(plan)
            case _:
                raise Differ

    def _projected(self, child: Relation, items: Iterable[tuple[str, Scalar]], types: Types) -> pa.Table:
        own, below = self.types[child], self.rows(child)
        return _project([(name, compiled(expr, own, types[name])) for name, expr in items], below)

    def _grouped(self, plan: Aggregate) -> pa.Table:
        """Groups with the values of all calls, and what the aggregates make of these."""
        own, below = self.types[plan.child], self.rows(plan.child)
        calls = list(dict.fromkeys(call for item in plan.aggregates for call in calls_of(item.expr)))
        kinds = {f"call{number}": called(call, own) for number, call in enumerate(calls)}
        keys = {key.name: f"key{number}" for number, key in enumerate(plan.keys)}
        arguments = [*((keys[key.name], compiled(key.expr, own)) for key in plan.keys)]
        wanted = []
        for name, call in zip(kinds, calls, strict=True):
            argument, function = _call(call, own, kinds[name])
            arguments.append((name, argument))
            wanted.append((name, f"hash_{function}" if keys else function, None, name))
        options = acero.AggregateNodeOptions(wanted, keys=list(keys.values()))
        groups = _run("aggregate", options, _project(arguments or [("call", pc.scalar(1))], below))
        known: list[Named] = [(name, pc.field(mine)) for name, mine in keys.items()]
        fit = [(name, pc.field(name).cast(arrow_type(kind))) for name, kind in kinds.items()]
        told = _project([*((mine, pc.field(mine)) for mine in keys.values()), *fit], groups)
        made = ((item.name, compiled(of_calls(item.expr, calls), kinds)) for item in plan.aggregates)
        return _project([*known, *made], told)

    def _joined(self, join: Join) -> pa.Table:
        left, right = self.rows(join.left), self.rows(join.right)
        by = column_equalities(join.on, join.left.columns, join.right.columns)
        mine = _keyed(left, [(one, one.left.name) for one in by], "l", self.types[join.left])
        theirs = _keyed(right, [(one, one.right.name) for one in by], "r", self.types[join.right])
        wide = join.kind in (JoinKind.INNER, JoinKind.LEFT)
        options = acero.HashJoinNodeOptions(
            _JOINS[join.kind],
            [name for name in mine.column_names if name not in left.column_names],
            [name for name in theirs.column_names if name not in right.column_names],
            left_output=left.column_names,
            right_output=right.column_names if wide else [],
        )
        return self._limited(acero.Declaration("hashjoin", options, [_source(mine), _source(theirs)]))

    def _copies(self, below: pa.Table) -> pa.Table:
        """Each row as often as it counts: the rows that lists of so many values come from."""
        counts = below[COUNT].combine_chunks()
        ends = pc.cumulative_sum(counts)
        total = ends[-1].as_py() if len(ends) else 0
        if counts.null_count or total > self.limits.driver_join or pc.any(pc.less(counts, 0)).as_py():
            raise TooMuch
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
        copies = pa.ListArray.from_arrays(offsets, pa.nulls(total))
        return below.take(pc.list_parent_indices(copies))

    def _limited(self, declaration: acero.Declaration) -> pa.Table:
        """The rows of a join, batch by batch, until they are too many."""
        found, rows = [], 0
        with declaration.to_reader(use_threads=False) as reader:
            for batch in reader:
                found.append(batch)
                rows += batch.num_rows
                if rows > self.limits.driver_join:
                    raise TooMuch
            return pa.Table.from_batches(found, reader.schema)


def _call(call: Scalar, types: Types, kind: str) -> tuple[pc.Expression, str]:
    """What a call is made of, and the function that makes it."""
    of = call.this if isinstance(call, exp.Filter) else call
    argument = pc.scalar(1) if isinstance(of.this, exp.Star) else compiled(of.this, types)
    if isinstance(call, exp.Filter):
        here = holds(compiled(call.expression.this, types, "boolean"))
        argument = pc.if_else(here, argument, pc.scalar(None))
    if isinstance(of, exp.AnyValue):
        return argument, "max" if kind in WHOLE or kind == "date" or "(" in kind else "first"
    return argument.cast(_WIDE) if isinstance(of, exp.Sum) else argument, _FUNCTIONS[type(of)]


def _keyed(table: pa.Table, by: list[tuple[Equality, str]], side: str, types: Types) -> pa.Table:
    """Rows beside copies of the columns that they are joined by: Arrow takes a column for a key once."""
    keys: list[Named] = []
    for number, (one, name) in enumerate(by):
        value = pc.field(name)
        if one.null_safe:
            keys.append((f"__{side}{number}null", pc.is_null(value)))
            value = pc.coalesce(value, pc.scalar(_any_value(arrow_type(types[name]))))
        keys.append((f"__{side}{number}", value))
    return _project([*((name, pc.field(name)) for name in table.column_names), *keys], table)


def _any_value(kind: pa.DataType | None) -> pa.Scalar:
    """Some value of a type, to stand where NULL is told by a flag."""
    values = {pa.string(): "", pa.binary(): b"", pa.bool_(): False}
    return pa.scalar(values.get(kind, 0), kind)


def _project(items: list[Named], below: pa.Table) -> pa.Table:
    names, expressions = zip(*items, strict=True)
    return _run("project", acero.ProjectNodeOptions(list(expressions), list(names)), below)


def _run(node: str, options: acero.ExecNodeOptions, below: pa.Table) -> pa.Table:
    return acero.Declaration(node, options, [_source(below)]).to_table(use_threads=False)


def _source(table: pa.Table) -> acero.Declaration:
    return acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
