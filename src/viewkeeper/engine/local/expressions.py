"""Expressions as Acero takes them, in the types that Spark gives to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.engine.types import arrow_type
from viewkeeper.planning.physical.agreement import WHOLE, Differ, Types, branches, common_type, type_of

_BINARY: dict[type[exp.Expr], Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
    exp.And: pc.and_kleene,
    exp.Or: pc.or_kleene,
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
}


def compiled(expr: Scalar, types: Types, wanted: str | None = None) -> pc.Expression:
    """An expression over columns of some types; `wanted` is the type that it is used as."""
    kind = type_of(expr, types)
    if isinstance(expr, exp.Literal | exp.Boolean | exp.Null):
        return pc.scalar(pa.scalar(expr.to_py(), arrow_type(wanted or kind) or pa.null()))
    made = _compiled(expr, types, kind)
    is_wide = wanted is not None and wanted != kind and kind in WHOLE
    return made.cast(arrow_type(wanted)) if is_wide and wanted else made


def _compiled(expr: Scalar, types: Types, kind: str) -> pc.Expression:
    match expr:
        case exp.Column():
            return pc.field(expr.name)
        case exp.Paren():
            return compiled(expr.this, types)
        case exp.Neg():
            return pc.negate_checked(compiled(expr.this, types))
        case exp.Not():
            return pc.invert(compiled(expr.this, types, "boolean"))
        case exp.Is():
            return pc.is_null(compiled(expr.this, types))
        case exp.Cast():
            return compiled(expr.this, types).cast(arrow_type(kind))
        case exp.Coalesce():
            return pc.coalesce(*(compiled(one, types, kind) for one in (expr.this, *expr.expressions)))
        case exp.Case():
            return _case(expr, types, kind)
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            same = null_safe(*_sides(expr, types))
            return same if isinstance(expr, exp.NullSafeEQ) else pc.invert(same)
        case exp.Binary():
            return _BINARY[type(expr)](*_sides(expr, types))
        case _:
            raise Differ


def _sides(expr: exp.Binary, types: Types) -> tuple[pc.Expression, pc.Expression]:
    """Both sides in the type that they have in common."""
    kind = common_type((expr.left, expr.right), types)
    return compiled(expr.left, types, kind), compiled(expr.right, types, kind)


def null_safe(left: pc.Expression, right: pc.Expression) -> pc.Expression:
    """Whether two values are equal, NULL being a value like any other."""
    both = pc.and_kleene(pc.is_null(left), pc.is_null(right))
    return pc.or_kleene(both, pc.coalesce(pc.equal(left, right), pc.scalar(False)))


def holds(condition: pc.Expression) -> pc.Expression:
    """Where a condition is true, and neither false nor NULL."""
    return pc.coalesce(condition, pc.scalar(False))


def _case(expr: exp.Case, types: Types, kind: str) -> pc.Expression:
    *values, otherwise = (compiled(value, types, kind) for value in branches(expr))
    tests = [holds(compiled(one.this, types, "boolean")) for one in expr.args["ifs"]]
    pairs = reversed(list(zip(tests, values, strict=True)))
    return reduce(lambda rest, pair: pc.if_else(pair[0], pair[1], rest), pairs, otherwise)
