"""Domains of columns, their constants, and comparisons that cannot overflow (blakeley86 section 3).

The paper assumes discrete domains. Integers, dates and decimals are: their values lie on a grid, of
which 1, a day and 10^-scale is the step, so that `x < y` is `x <= y - step`. The others (strings,
timestamps, floating-point numbers, booleans) are totally ordered, and nothing is added to them: there
a strict comparison stays strict.
"""

from __future__ import annotations

import datetime
import re
import struct
from dataclasses import dataclass, field
from decimal import Context
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar

LONGEST = 38
"""Digits that Spark's longest decimal holds."""

ANY_LENGTH = 2**31
"""Characters of a STRING."""

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "integer": 10, "bigint": 19}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_PLAIN_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?")


class ValueKind(Enum):
    """Values of one kind compare with each other exactly; values of two kinds are never compared."""

    EXACT = "exact number"
    DATE = "date"
    FLOATING = "floating-point number"
    STRING = "string"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp without time zone"
    BOOLEAN = "boolean"

    @property
    def is_discrete(self) -> bool:
        return self in (ValueKind.EXACT, ValueKind.DATE)


_KINDS = {
    "date": ValueKind.DATE,
    "float": ValueKind.FLOATING,
    "double": ValueKind.FLOATING,
    "timestamp": ValueKind.TIMESTAMP,
    "timestamp_ntz": ValueKind.TIMESTAMP_NTZ,
    "boolean": ValueKind.BOOLEAN,
}
_INSTANT_TYPES = {
    exp.DType.TIMESTAMP: ValueKind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: ValueKind.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: ValueKind.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: ValueKind.TIMESTAMP_NTZ,
}


@dataclass(frozen=True)
class Domain:
    """The values of a column. `digits` before and `scale` after the point, for exact numbers.

    A string has as many digits as it may have characters.
    """

    kind: ValueKind
    digits: int = 0
    scale: int = 0

    @property
    def step(self) -> Fraction:
        return Fraction(1, 10**self.scale)


@cache
def domain_of(type_text: str) -> Domain | None:
    """The domain of a Spark type; None when conditions over it are not reasoned about."""
    text = type_text.strip().lower()
    if text in _INTEGER_DIGITS:
        return Domain(ValueKind.EXACT, _INTEGER_DIGITS[text])
    if found := _DECIMAL.fullmatch(text):
        precision, scale = int(found[1]), int(found[2])
        return Domain(ValueKind.EXACT, precision - scale, scale)
    if text.startswith("varchar("):
        return Domain(ValueKind.STRING, int(text[len("varchar(") : -1]))
    if text == "string":
        return Domain(ValueKind.STRING, ANY_LENGTH)
    return Domain(_KINDS[text]) if text in _KINDS else None


def compare_exactly(*domains: Domain) -> bool:
    """Whether Spark's common decimal type, with a digit to spare, holds all these numbers unrounded."""
    return max(d.digits for d in domains) + max(d.scale for d in domains) < LONGEST


@dataclass(frozen=True)
class ConstantNode:
    """A node of the graph that stands for a fixed value.

    In a discrete kind there is one, the paper's node 0; weights count from it. In the others every
    constant of the condition is a node, `literal` as it is written.
    """

    kind: ValueKind
    value: Any = Fraction(0)
    literal: Scalar | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "0" if self.literal is None else self.literal.sql(dialect="spark")


def constant(expr: Scalar, kind: ValueKind) -> ConstantNode | None:
    """The constant that an expression denotes when it is compared with a value of this kind."""
    inner = expr.unnest()
    match kind:
        case ValueKind.EXACT:
            number = exact_number(inner)
            return None if number is None else ConstantNode(kind, number)
        case ValueKind.DATE:
            day = _day(inner)
            return None if day is None else ConstantNode(kind, Fraction(day.toordinal()))
        case ValueKind.FLOATING:
            return _floating(inner)
        case ValueKind.STRING:
            return ConstantNode(kind, inner.name, inner) if inner.is_string else None
        case ValueKind.BOOLEAN:
            return ConstantNode(kind, bool(inner.this), inner) if isinstance(inner, exp.Boolean) else None
        case ValueKind.TIMESTAMP | ValueKind.TIMESTAMP_NTZ:
            return _instant(inner, kind)


def exact_number(expr: Scalar) -> Fraction | None:
    """An integer or decimal literal, perhaps negated, perhaps a sum of such."""
    inner = expr.unnest()
    match inner:
        case exp.Literal() if not inner.is_string and _PLAIN_NUMBER.fullmatch(inner.name):
            return Fraction(inner.name)
        case exp.Neg():
            number = exact_number(inner.this)
            return None if number is None else -number
        case exp.Add() | exp.Sub() | exp.Mul():
            return _folded(inner)
        case exp.Cast() if inner.to.this in (exp.DType.INT, exp.DType.BIGINT):
            number = exact_number(inner.this)
            return number if number is not None and number.denominator == 1 and abs(number) < 2**31 else None
        case _:
            return None


def _folded(expr: exp.Binary) -> Fraction | None:
    left, right = exact_number(expr.left), exact_number(expr.right)
    if left is None or right is None:
        return None
    if isinstance(expr, exp.Mul):
        return left * right
    return left + right if isinstance(expr, exp.Add) else left - right


def _day(expr: Scalar) -> datetime.date | None:
    if isinstance(expr, exp.Cast) and expr.to.this is exp.DType.DATE:
        expr = expr.this
    if not expr.is_string or not _DAY.fullmatch(expr.name):
        return None
    try:
        return datetime.date.fromisoformat(expr.name)
    except ValueError:
        return None


def _floating(expr: Scalar) -> ConstantNode | None:
    try:
        number = float(expr.sql()) if expr.is_number else None
    except ValueError:
        return None
    return None if number is None else ConstantNode(ValueKind.FLOATING, number, expr)


def _instant(expr: Scalar, kind: ValueKind) -> ConstantNode | None:
    if isinstance(expr, exp.Cast) and _INSTANT_TYPES.get(expr.to.this) is kind:
        expr = expr.this
    if not expr.is_string or not _INSTANT.fullmatch(expr.name):
        return None
    try:
        value = datetime.datetime.fromisoformat(expr.name)
    except ValueError:
        return None
    written = exp.DType.TIMESTAMPTZ if kind is ValueKind.TIMESTAMP else exp.DType.TIMESTAMPNTZ
    return ConstantNode(kind, value, exp.Cast(this=expr.copy(), to=exp.DataType(this=written)))


def domain_of_number(number: Fraction) -> Domain:
    """The smallest domain that holds a number that was written with a decimal point."""
    scale = next(s for s in range(10_000) if (number * 10**s).denominator == 1)
    return Domain(ValueKind.EXACT, len(str(abs(int(number)))), scale)


def precedes(left: ConstantNode, right: ConstantNode) -> bool:
    """Whether one constant is provably smaller, whatever the session's time zone and precision."""
    if left.kind is not right.kind:
        return False
    if left.kind is ValueKind.TIMESTAMP:
        # where clocks are set forward, two local times may stand for instants in the other order
        return bool(right.value - left.value > datetime.timedelta(days=2))
    if left.kind is ValueKind.FLOATING:
        return _single(left.value) < _single(right.value)
    return bool(left.value < right.value)


def _single(number: float) -> float:
    """As a 32-bit number: constants that differ less may be equal for a column of type float."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("nan")


def number_literal(number: Fraction) -> Scalar:
    text = format(Context(prec=4 * LONGEST).divide(number.numerator, number.denominator), "f")
    literal = exp.Literal.number(text.lstrip("-"))
    return exp.Neg(this=literal) if number < 0 else literal


def day_literal(ordinal: Fraction) -> Scalar | None:
    """A date by its number; None when SQL has no such date."""
    if not 1 <= ordinal <= datetime.date.max.toordinal():
        return None
    text = datetime.date.fromordinal(int(ordinal)).isoformat()
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=exp.DType.DATE))
