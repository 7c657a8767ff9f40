"""Arithmetic of decimals, digit by digit as Spark does it: results have its types, and are rounded half up.

+, −    max(p₁−s₁, p₂−s₂) + max(s₁, s₂) + 1, max(s₁, s₂)
×       p₁ + p₂ + 1, s₁ + s₂
÷       p₁ − s₁ + s₂ + max(6, s₁ + p₂ + 1), max(6, s₁ + p₂ + 1)
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import pyarrow as pa
from sqlglot import exp

from viewkeeper.arrow.types import MOST_DIGITS, bounded, digits
from viewkeeper.errors import NeedsSpark

_WIDE = Context(prec=200, rounding=ROUND_HALF_UP)
_QUOTIENT = Decimal(1).scaleb(-(MOST_DIGITS + 1))
"""Spark's quotients have so many digits behind the point before they are rounded to their type."""

Number = Decimal | int


def arithmetic(node: exp.Binary, left: pa.Array, right: pa.Array) -> pa.Array:
    """The values of an operator whose sides are exact numbers, one of them decimal."""
    one, other = digits(left.type), digits(right.type)
    kind, compute = _operator(node, one, other)
    values = (
        None if a is None or b is None else compute(a, b)
        for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)
    )
    return fitted(list(values), kind)


def _operator(
    node: exp.Binary, one: tuple[int, int], other: tuple[int, int]
) -> tuple[pa.DataType, Callable[[Number, Number], Number]]:
    (p1, s1), (p2, s2) = one, other
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)
    match node:
        case exp.Add():
            return bounded(whole + scale + 1, scale), lambda a, b: _WIDE.add(Decimal(a), Decimal(b))
        case exp.Sub():
            return bounded(whole + scale + 1, scale), lambda a, b: _WIDE.subtract(Decimal(a), Decimal(b))
        case exp.Mul():
            return bounded(p1 + p2 + 1, s1 + s2), lambda a, b: _WIDE.multiply(Decimal(a), Decimal(b))
        case exp.Div():
            behind = max(6, s1 + p2 + 1)
            return bounded(p1 - s1 + s2 + behind, behind), _quotient
        case exp.Mod():
            return bounded(min(p1 - s1, p2 - s2) + scale, scale), _remainder
        case exp.IntDiv():
            return pa.int64(), _whole_quotient
        case _:
            raise NeedsSpark(f"Only Spark evaluates {node.sql('spark')} over decimals.")


def _nonzero(divisor: Number) -> Decimal:
    if divisor == 0:
        raise NeedsSpark("A value is divided by zero.")
    return Decimal(divisor)


def _quotient(a: Number, b: Number) -> Decimal:
    return _WIDE.quantize(_WIDE.divide(Decimal(a), _nonzero(b)), _QUOTIENT)


def _remainder(a: Number, b: Number) -> Decimal:
    return _WIDE.remainder(Decimal(a), _nonzero(b))


def _whole_quotient(a: Number, b: Number) -> int:
    return int(_WIDE.divide_int(Decimal(a), _nonzero(b)))


def to_decimal(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Exact numbers, or texts of numbers, in a type of decimals."""
    return fitted([None if one is None else _number(one) for one in values.to_pylist()], kind)


def _number(value: Number | str) -> Decimal:
    try:
        return Decimal(value.strip() if isinstance(value, str) else value)
    except InvalidOperation as error:
        raise NeedsSpark(f"{value!r} is no number.") from error


def fitted(values: list[Number | None], kind: pa.DataType) -> pa.Array:
    """Numbers rounded half up to a type, which must have room for them."""
    if pa.types.is_decimal(kind):
        unit = Decimal(1).scaleb(-kind.scale)
        values = [None if one is None else _WIDE.quantize(Decimal(one), unit) for one in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise NeedsSpark(f"A value does not fit the type {kind}.") from error
