"""Sums, extremes and counts of the rows of each group, exactly as Spark has them.

A sum of whole numbers that leaves BIGINT is Spark's error to raise; NaN is the greatest of floats.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column
from viewkeeper.arrow.equality import Codes, float_order, floats_of
from viewkeeper.arrow.expressions import flat, value
from viewkeeper.arrow.types import MOST_DIGITS
from viewkeeper.errors import NeedsSpark

_LIMIT = 2**63
_WIDEST = 76
_MINIMUM_ONE = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
_CALLS = (exp.Sum, exp.Min, exp.Max, exp.Count, exp.LogicalOr)


def aggregated(expr: Scalar, table: pa.Table, codes: Codes, groups: int) -> pa.Array:
    """The value of an expression of aggregate calls for each group."""
    calls = list(dict.fromkeys(expr.find_all(*_CALLS)))
    if not calls or any(isinstance(call.this, exp.Distinct) for call in calls):
        raise NeedsSpark(f"Only Spark evaluates {expr.sql('spark')}.")
    found = pa.table({f"c{place}": _call(call, table, codes, groups) for place, call in enumerate(calls)})

    def named(part: exp.Expr) -> exp.Expr:
        return column(f"c{calls.index(part)}") if part in calls else part

    return value(expr.transform(named), found)


def _call(call: exp.Expr, table: pa.Table, codes: Codes, groups: int) -> pa.Array:
    if isinstance(call, exp.Count):
        values = pa.repeat(1, table.num_rows) if isinstance(call.this, exp.Star) else value(call.this, table)
        return pc.fill_null(_by_group(values, "count", codes, groups), 0)
    values = value(call.this, table)
    match call:
        case exp.Sum():
            return _sums(values, codes, groups)
        case exp.LogicalOr():
            return _by_group(values, "any", codes, groups)
        case _:
            return _extremes(values, "min" if isinstance(call, exp.Min) else "max", codes, groups)


def _sums(values: pa.Array, codes: Codes, groups: int) -> pa.Array:
    """Sums in the type that Spark gives them."""
    kind = values.type
    if pa.types.is_floating(kind):
        return _by_group(values.cast(pa.float64()), "sum", codes, groups)
    if pa.types.is_decimal(kind):
        wide = values.cast(pa.decimal256(_WIDEST, kind.scale))
        precision = min(kind.precision + 10, MOST_DIGITS)
        return _fitted(_by_group(wide, "sum", codes, groups), pa.decimal128(precision, kind.scale))
    if not pa.types.is_integer(kind):
        raise NeedsSpark(f"Only Spark adds up values of type {kind}.")
    if _greatest(values) * len(values) < _LIMIT:
        return _by_group(values.cast(pa.int64()), "sum", codes, groups)
    wide = values.cast(pa.decimal256(20, 0)).cast(pa.decimal256(_WIDEST, 0))
    return _fitted(_by_group(wide, "sum", codes, groups), pa.int64())


def _greatest(values: pa.Array) -> int:
    ends: dict[str, int | None] = pc.min_max(values).as_py()
    return max(abs(end or 0) for end in ends.values())


def _fitted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise NeedsSpark("A sum does not fit its type.", str(error)) from error


def _extremes(values: pa.Array, function: str, codes: Codes, groups: int) -> pa.Array:
    kind = values.type
    if pa.types.is_floating(kind):
        return floats_of(_by_group(float_order(values, exact=True), function, codes, groups), kind)
    if pa.types.is_nested(kind):
        raise NeedsSpark("Only Spark compares values of nested types.")
    return _by_group(values, function, codes, groups)


def _by_group(values: pa.Array, function: str, codes: Codes, groups: int) -> pa.Array:
    """One value for each group; NULL where a group has no rows, or no value."""
    if pa.types.is_null(values.type):
        return pa.nulls(groups, values.type)
    rows = pa.table({"group": codes, "value": values})
    options = pc.CountOptions(mode="only_valid") if function == "count" else _MINIMUM_ONE
    found = rows.group_by("group", use_threads=False).aggregate([("value", function, options)])
    found = found.sort_by("group")
    if found.num_rows == groups:
        return flat(found[f"value_{function}"])
    places = pc.index_in(pa.array(range(groups), pa.int64()), value_set=flat(found["group"]))
    return flat(found[f"value_{function}"]).take(places)
