"""Sums and counts of few rows that the driver holds, by group.

    γ_K, coalesce(sum(x), 0) − coalesce(sum(y), 0), count(x) − count(y)

Only whole numbers are summed up, which is exact in whatever order; Spark sums up the others.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.relations import Aggregate, Filter, Project, Relation
from viewkeeper.spark.scalars import LIMIT, value
from viewkeeper.storage.overlay import has_plain_equality

WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})

_AROUND = (exp.Sub, exp.Add, exp.Paren, exp.Coalesce, exp.Literal)


def has_plain_groups(plan: Aggregate) -> bool:
    """Whether the driver can tell the groups of an aggregate from its rows."""
    own = all(key.is_column and _is_equal_to_itself(plan, key.expr.name) for key in plan.keys)
    return bool(plan.keys) and own and all(_is_plain(item.expr, plan) for item in plan.aggregates)


def _is_equal_to_itself(plan: Aggregate, key: str) -> bool:
    """Whether the values of a key are equal here where Spark finds them so, as far as types tell."""
    return column_type(plan.child, key) not in (None, "float", "double")


def _is_plain(expr: Scalar, plan: Aggregate) -> bool:
    match expr:
        case exp.Sum(this=exp.Column() as of):
            return column_type(plan.child, of.name) in WHOLE
        case exp.Count(this=exp.Column()):
            return not expr.expressions
        case _:
            is_own = isinstance(expr, _AROUND)
            return is_own and all(_is_plain(part, plan) for part in expr.iter_expressions())


def plain_type(plan: Relation, name: str) -> str | None:
    """The type of a column that is copied from a stored relation, or that the driver sums up."""
    match plan:
        case Project():
            output = next(one for one in plan.outputs if one.name == name)
            return plain_type(plan.child, output.expr.name) if output.is_column else None
        case Filter():
            return plain_type(plan.child, name)
        case Aggregate() if name not in plan.key_names:
            return "bigint" if has_plain_groups(plan) else None
        case _:
            return column_type(plan, name)


def grouped(plan: Aggregate, table: pa.Table) -> pa.Table | None:
    """The groups of some rows; None where Spark has to tell."""
    keys = [table[key.expr.name] for key in plan.keys]
    if not has_plain_groups(plan) or not has_plain_equality(pa.schema([("key", key.type) for key in keys])):
        return None
    calls = list(dict.fromkeys(call for item in plan.aggregates for call in _calls(item.expr)))
    if not all(_is_exact(call, table) for call in calls):
        return None
    found = _with_calls(keys, calls, table)
    told = [value(_of_calls(item.expr, calls), found) for item in plan.aggregates]
    if any(one is None for one in told):
        return None
    return pa.table([*(found[f"key{place}"] for place in range(len(keys))), *told], names=list(plan.columns))


def _with_calls(keys: list[pa.ChunkedArray], calls: list[Scalar], table: pa.Table) -> pa.Table:
    """The groups, with the value of each call."""
    named = {f"key{place}": key for place, key in enumerate(keys)}
    arguments = {f"call{place}": table[call.this.name] for place, call in enumerate(calls)}
    wanted = [(f"call{place}", _function(call)) for place, call in enumerate(calls)]
    groups = pa.table({**named, **arguments}).group_by(list(named), use_threads=False).aggregate(wanted)
    return groups.rename_columns([*named, *arguments])


def _of_calls(expr: Scalar, calls: list[Scalar]) -> Scalar:
    """An expression of calls as one of the columns that hold their values."""

    def named(part: Scalar) -> Scalar:
        return column(f"call{calls.index(part)}") if part in calls else part

    return expr.transform(named)


def _calls(expr: Scalar) -> list[Scalar]:
    return list(expr.find_all(exp.Sum, exp.Count))


def _function(call: Scalar) -> str:
    return "sum" if isinstance(call, exp.Sum) else "count"


def _is_exact(call: Scalar, table: pa.Table) -> bool:
    """Whether a sum stays within its type, whatever the groups are."""
    if isinstance(call, exp.Count):
        return True
    ends: dict[str, int | None] = pc.min_max(table[call.this.name]).as_py()
    return bool(max(abs(end or 0) for end in ends.values()) * table.num_rows < LIMIT)
