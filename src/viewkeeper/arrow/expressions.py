"""Values of expressions over Arrow tables, where Arrow finds what Spark does.

A branch of a CASE is evaluated for the rows that come to it, and for no other. What Spark would answer with
an error, or in another way than Arrow, raises `NeedsSpark`: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.arrow.casts import cast
from viewkeeper.arrow.decimals import arithmetic
from viewkeeper.arrow.equality import float_order
from viewkeeper.arrow.types import built_type, common_type, is_number
from viewkeeper.errors import NeedsSpark

_COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
}
_WHOLE: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
}
_FLOAT: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: pc.add,
    exp.Sub: pc.subtract,
    exp.Mul: pc.multiply,
    exp.Div: pc.divide,
}


def value(expr: Scalar, table: pa.Table) -> pa.Array:
    """The values of an expression, one for each row of a table."""
    try:
        return _value(expr, table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise NeedsSpark(f"Only Spark evaluates {expr.sql('spark')} here.", str(error)) from error


def _value(expr: Scalar, table: pa.Table) -> pa.Array:
    match expr:
        case exp.Paren():
            return _value(expr.this, table)
        case exp.Column():
            return flat(table[expr.name])
        case exp.Literal() | exp.Boolean() | exp.Null():
            return pa.repeat(_constant(expr), table.num_rows)
        case exp.Neg(this=exp.Literal()):
            return pa.repeat(_constant(expr), table.num_rows)
        case exp.And() | exp.Or():
            together = pc.and_kleene if isinstance(expr, exp.And) else pc.or_kleene
            return reduce(together, (_truth(side, table) for side in (expr.left, expr.right)))
        case exp.Not():
            return pc.invert(_truth(expr.this, table))
        case exp.Is(expression=exp.Null()):
            return pc.is_null(_value(expr.this, table))
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            same = _same(*_sides(expr, table))
            return same if isinstance(expr, exp.NullSafeEQ) else pc.invert(same)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _compared(_COMPARISONS[type(expr)], *_sides(expr, table))
        case exp.Between():
            of, low, high = (_value(one, table) for one in (expr.this, expr.args["low"], expr.args["high"]))
            return pc.and_kleene(_compared(pc.greater_equal, of, low), _compared(pc.less_equal, of, high))
        case exp.In(expressions=[_, *_]):
            of = _value(expr.this, table)
            return reduce(pc.or_kleene, (_compared(pc.equal, of, _value(o, table)) for o in expr.expressions))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv() | exp.Mod():
            return _arithmetic(expr, *_sides(expr, table))
        case exp.Case():
            return _case(expr, table)
        case exp.If():
            otherwise = expr.args.get("false")
            return _chosen([(expr.this, expr.args["true"])], otherwise, table)
        case exp.Coalesce():
            return _coalesced([_value(one, table) for one in (expr.this, *expr.expressions)])
        case exp.Nullif():
            of, none = _sides(expr, table)
            is_none = pc.fill_null(_compared(pc.equal, of, none), False)
            return pc.if_else(is_none, pa.scalar(None, of.type), of)
        case exp.Cast():
            return cast(_value(expr.this, table), built_type(expr.to))
        case _:
            return _function(expr, table)


def _function(expr: Scalar, table: pa.Table) -> pa.Array:
    """The functions that figures of views are put together with."""
    match expr:
        case exp.Neg():
            return _signed(_value(expr.this, table), pc.negate_checked)
        case exp.Abs():
            return _signed(_value(expr.this, table), pc.abs_checked)
        case exp.Sqrt():
            return pc.sqrt(cast(_value(expr.this, table), pa.float64()))
        case exp.BitwiseAnd():
            return pc.bit_wise_and(*_alike(list(_sides(expr, table))))
        case exp.BitwiseRightShift():
            of, by = _sides(expr, table)
            return pc.shift_right(of, by.cast(of.type))
        case exp.Concat() | exp.DPipe():
            parts = expr.expressions or [expr.this, expr.expression]
            return pc.binary_join_element_wise(*(_text(one, table) for one in parts), "")
        case exp.Pad() if expr.args["is_left"]:
            width = int(expr.expression.name)
            texts = pc.utf8_lpad(_text(expr.this, table), width, expr.args["fill_pattern"].name)
            return pc.utf8_slice_codeunits(texts, 0, width)
        case _:
            raise NeedsSpark(f"Only Spark evaluates {expr.sql('spark')}.")


def holds(condition: Scalar, table: pa.Table) -> pa.Array:
    """Where a condition is true; where it is NULL it is not."""
    return pc.fill_null(_boolean(value(condition, table)), False)


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _sides(expr: Scalar, table: pa.Table) -> tuple[pa.Array, pa.Array]:
    return _value(expr.this, table), _value(expr.expression, table)


def _truth(expr: Scalar, table: pa.Table) -> pa.Array:
    return _boolean(_value(expr, table))


def _boolean(values: pa.Array) -> pa.Array:
    return values.cast(pa.bool_()) if pa.types.is_null(values.type) else values


def _text(expr: Scalar, table: pa.Table) -> pa.Array:
    return cast(_value(expr, table), pa.string())


def _constant(expr: Scalar) -> pa.Scalar:
    """A literal in its type: 1 is an INT, 1.5 a DECIMAL(2,1), 1e0 a DOUBLE."""
    found = expr.to_py() if not isinstance(expr, exp.Literal) or expr.is_string or expr.is_int else None
    match expr:
        case exp.Null():
            return pa.scalar(None)
        case exp.Literal(is_string=False) if found is None:
            is_float = "e" in expr.name.lower()
            return pa.scalar(float(expr.name)) if is_float else _exact(expr.name)
        case _ if isinstance(found, int) and not isinstance(found, bool):
            return pa.scalar(found, pa.int32() if -(2**31) <= found < 2**31 else pa.int64())
        case _:
            return pa.scalar(found)


def _exact(text: str) -> pa.Scalar:
    whole, _, behind = text.partition(".")
    number = cast(pa.array([text]), pa.decimal128(max(len(whole.lstrip("0")), 0) + len(behind), len(behind)))
    return number[0]


def _signed(values: pa.Array, function: Callable[[Any], Any]) -> pa.Array:
    if pa.types.is_decimal(values.type):
        found = function(values.cast(pa.decimal256(values.type.precision, values.type.scale)))
        return found.cast(values.type)
    return function(values)


def _alike(arrays: list[pa.Array]) -> list[pa.Array]:
    """Arrays in the type that they have in common."""
    kind = common_type([array.type for array in arrays])
    return [array if array.type == kind else cast(array, kind) for array in arrays]


def _arithmetic(node: exp.Binary, left: pa.Array, right: pa.Array) -> pa.Array:
    kinds = [left.type, right.type]
    if any(pa.types.is_null(kind) for kind in kinds):
        return pa.nulls(len(left), next((kind for kind in kinds if is_number(kind)), pa.null()))
    if not all(is_number(kind) for kind in kinds):
        raise NeedsSpark(f"Only Spark evaluates {node.sql('spark')} over values that are no numbers.")
    left, right = _with_fitting_constants(node, left, right)
    is_float = any(pa.types.is_floating(kind) for kind in kinds)
    if not is_float and any(pa.types.is_decimal(kind) for kind in kinds):
        return arithmetic(node, left, right)
    if is_float or isinstance(node, exp.Div):
        return _of_floats(node, left, right)
    return _of_whole_numbers(node, *_alike([left, right]))


def _with_fitting_constants(node: exp.Binary, left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """A whole constant beside a decimal is a decimal of as many digits as it has."""
    sides = [left, right]
    for place, expr in enumerate((node.left, node.right)):
        if pa.types.is_decimal(sides[1 - place].type) and isinstance(expr, exp.Literal) and expr.is_int:
            sides[place] = cast(sides[place], pa.decimal128(len(expr.name.lstrip("0")) or 1, 0))
    return sides[0], sides[1]


def _of_floats(node: exp.Binary, left: pa.Array, right: pa.Array) -> pa.Array:
    if type(node) not in _FLOAT:
        raise NeedsSpark(f"Only Spark evaluates {node.sql('spark')} over floats.")
    is_single = left.type == right.type == pa.float32() and not isinstance(node, exp.Div)
    kind = pa.float32() if is_single else pa.float64()
    if isinstance(node, exp.Div) and pc.any(pc.equal(cast(right, kind), 0.0)).as_py():
        raise NeedsSpark("A value is divided by zero.")
    return _FLOAT[type(node)](cast(left, kind), cast(right, kind))


def _of_whole_numbers(node: exp.Binary, left: pa.Array, right: pa.Array) -> pa.Array:
    if type(node) in _WHOLE:
        return _WHOLE[type(node)](left, right)
    quotient = pc.divide_checked(left, right)
    if isinstance(node, exp.IntDiv):
        return quotient.cast(pa.int64())
    return pc.subtract(left, pc.multiply(quotient, right))


def _comparable(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both sides in one type, whose order is Spark's."""
    if any(pa.types.is_null(side.type) for side in (left, right)):
        kind = right.type if pa.types.is_null(left.type) else left.type
        left, right = left.cast(kind), right.cast(kind)
    if left.type != right.type:
        left, right = _with_parsed_dates(left, right)
    if pa.types.is_nested(left.type):
        raise NeedsSpark("Only Spark compares values of nested types.")
    if pa.types.is_floating(left.type):
        return float_order(left), float_order(right)
    return left, right


def _with_parsed_dates(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_date(left.type) and pa.types.is_string(right.type):
        return left, right.cast(left.type)
    if pa.types.is_date(right.type) and pa.types.is_string(left.type):
        return left.cast(right.type), right
    one, other = _alike([left, right])
    return one, other


def _compared(function: Callable[[Any, Any], Any], left: pa.Array, right: pa.Array) -> pa.Array:
    return function(*_comparable(left, right))


def _same(left: pa.Array, right: pa.Array) -> pa.Array:
    one, other = _comparable(left, right)
    none, both = pc.or_(pc.is_null(one), pc.is_null(other)), pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(both, pc.and_(pc.invert(none), pc.fill_null(pc.equal(one, other), False)))


def _coalesced(arrays: list[pa.Array]) -> pa.Array:
    return reduce(lambda one, other: pc.if_else(pc.is_valid(one), one, other), _alike(arrays))


def _case(expr: exp.Case, table: pa.Table) -> pa.Array:
    pairs = [(_test(expr, branch.this), branch.args["true"]) for branch in expr.args["ifs"]]
    return _chosen(pairs, expr.args.get("default"), table)


def _test(expr: exp.Case, of: Scalar) -> Scalar:
    """What a branch asks: a condition, or of CASE x WHEN y whether x = y."""
    return of if expr.this is None else exp.EQ(this=expr.this.copy(), expression=of.copy())


def _chosen(pairs: Sequence[tuple[Scalar, Scalar]], otherwise: Scalar | None, table: pa.Table) -> pa.Array:
    """The value of the first branch whose condition holds, evaluated for those rows alone."""
    left = np.arange(table.num_rows)
    places, values = [], []
    for condition, then in pairs:
        rest = table.take(left)
        where = pc.fill_null(_truth(condition, rest), False).to_numpy(zero_copy_only=False)
        places.append(left[where])
        values.append(_value(then, rest.filter(pa.array(where))))
        left = left[~where]
    places.append(left)
    values.append(_value(otherwise if otherwise is not None else exp.null(), table.take(left)))
    order = np.argsort(np.concatenate(places), kind="stable")
    return flat(pa.chunked_array(_alike(values))).take(pa.array(order))
