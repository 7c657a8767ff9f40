"""Expressions over rows that the driver holds: their values, and where conditions hold.

None stands for whatever Arrow might find in another way than Spark, which is asked then.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar

LIMIT: int = 2**63
"""Whole numbers from −LIMIT to below it are those that Spark and Arrow share."""


def value(expr: Scalar, table: pa.Table) -> pa.ChunkedArray | None:
    """The values of an expression that adds, subtracts and replaces NULL by whole numbers; those of a column
    are of any type."""
    match expr:
        case exp.Paren():
            return value(expr.this, table)
        case exp.Column():
            return table[expr.name]
        case exp.Coalesce(this=of, expressions=[exp.Literal(is_string=False) as instead]) if instead.is_int:
            values = _whole(of, table)
            return None if values is None else pc.fill_null(values, int(instead.name))
        case exp.Sub() | exp.Add():
            sides = [_whole(side, table) for side in (expr.left, expr.right)]
            together = pc.subtract_checked if isinstance(expr, exp.Sub) else pc.add_checked
            return None if any(side is None for side in sides) else _checked(together, *sides)
        case _:
            return None


def _whole(expr: Scalar, table: pa.Table) -> pa.ChunkedArray | None:
    values = value(expr, table)
    return values if values is not None and values.type == pa.int64() else None


def _checked(together: pc.Function, left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        return together(left, right)
    except pa.ArrowInvalid:  # it does not fit: Spark says so
        return None


def holds(condition: Scalar, table: pa.Table) -> pa.ChunkedArray | None:
    """Where a condition holds that is made of flags, of NULLs, of `IS DISTINCT FROM` and of comparisons with
    whole numbers; None where it is not."""
    match condition:
        case exp.Paren():
            return holds(condition.this, table)
        case exp.Column():
            return table[condition.name] if pa.types.is_boolean(table[condition.name].type) else None
        case exp.And() | exp.Or():
            sides = [holds(side, table) for side in (condition.left, condition.right)]
            together = pc.and_kleene if isinstance(condition, exp.And) else pc.or_kleene
            return None if any(side is None for side in sides) else reduce(together, sides)
        case exp.Not():
            inner = holds(condition.this, table)
            return None if inner is None else pc.invert(inner)
        case exp.NullSafeNEQ():
            return _differ(condition.left, condition.right, table)
        case exp.Is(this=exp.Column() as of, expression=exp.Null()):
            return pc.is_null(table[of.name])
        case exp.LT() | exp.GT() | exp.NEQ():
            return _compared(condition, table)
        case _:
            return None


_COMPARISONS = {exp.LT: pc.less, exp.GT: pc.greater, exp.NEQ: pc.not_equal}


def _compared(condition: exp.Binary, table: pa.Table) -> pa.ChunkedArray | None:
    """How a column of whole numbers compares with a number."""
    of, bound = condition.left, condition.right
    if not isinstance(of, exp.Column) or not bound.is_int or not -LIMIT <= bound.to_py() < LIMIT:
        return None
    values = table[of.name]
    is_whole = pa.types.is_integer(values.type)
    return _COMPARISONS[type(condition)](values, bound.to_py()) if is_whole else None


def _differ(left: Scalar, right: Scalar, table: pa.Table) -> pa.ChunkedArray | None:
    """Where two columns differ, NULL being a value like any other; None for floats: NaN is equal to itself,
    and the sign of a zero may count."""
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    one, other = table[left.name], table[right.name]
    if pa.types.is_floating(one.type) or pa.types.is_floating(other.type):
        return None
    one_null, other_null = pc.is_null(one), pc.is_null(other)
    differ = pc.if_else(pc.or_(one_null, other_null), False, pc.not_equal(one, other))
    return pc.or_(differ, pc.xor(one_null, other_null))
