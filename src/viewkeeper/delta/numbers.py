"""The numeric tower: what SUM and AVG keep of numbers of each type, and how they show it.

Spark is asked for the types of arguments when a view is defined (`maintenance/typed_calls.py`), and they
stand in the plan as casts: SUM(CAST(x AS DOUBLE)). An argument without a cast is of a type whose own sum is
exact and has room for any number of rows: TINYINT to INT, intervals.

    type              kept                                          SUM                      AVG
    TINYINT … INT     sum(x), n                                     sum                      sum / n
    BIGINT            two halves of 32 bits, n                      h·2³² + l                as DOUBLE
    DECIMAL to 27     sum(x) of ten digits more than x, n           sum                      exact, rounded
    DECIMAL from 28   x div u, x mod u, n; u is 10^26 units of x    put together as text     no state
    FLOAT, DOUBLE     four limbs of 32 bits, what is outside of     from the lowest limb up  sum / n
                      them and how many that are, n

Halves, limbs, quotients and remainders just add up and never overflow on the way. The whole overflows, in
Spark's own words, where it does not fit itself. A sum of two DECIMAL(38,s) in SQL would lose a digit: that is
why nothing is kept in more than 37.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, literal, not_, replace_columns
from viewkeeper.algebra.schema import WIDE
from viewkeeper.delta.parts import Decomposition, Part, PartKind, parsed, when

ROOMY = 27
"""The sum of a DECIMAL of so many digits has 37: two of them can be added without losing one."""
_LOW = 26
"""Digits of the remainder that is kept of a longer DECIMAL."""
_MOST_SCALE = 22
"""Up to this scale the quotient of a DECIMAL and a count is exact in the type of the average."""
_HALF = 2**32
_UNITS = tuple(f"{2.0**power:.17e}" for power in (-26, 6, 38, 70))
"""What a number in floating point is multiplied with to count the units of each limb, the highest first."""
_GREATEST = f"{2.0**57:.17e}"

Wrap = Callable[[Scalar], Scalar]


def sum_of(x: Scalar, filtered: Wrap) -> Decomposition | None:
    """The state of SUM(x); `filtered` leaves out the values of rows that a FILTER leaves out."""
    return _decomposed(x, filtered, _SUM)


def average_of(x: Scalar, filtered: Wrap) -> Decomposition | None:
    """The state of AVG(x)."""
    return _decomposed(x, filtered, _AVG)


_SUM, _AVG = "sum", "avg"


def _decomposed(x: Scalar, filtered: Wrap, call: str) -> Decomposition | None:
    kind = x.to if isinstance(x, exp.Cast) else None
    value = filtered(x)
    if kind is None:
        return _plain(value, "v" if call == _SUM else "CASE WHEN n > 0 THEN v / n END")
    if kind.is_type(*exp.DataType.FLOAT_TYPES, "double"):
        return _in_limbs(value, "" if call == _SUM else " / n")
    if kind.is_type("bigint"):
        return _in_halves(value, _HALVES_ADDED if call == _SUM else _HALVES_SHARED)
    if kind.is_type("decimal"):
        return _of_decimal(value, *_digits(kind), call)
    return _plain(value, "v" if call == _SUM else "CASE WHEN n > 0 THEN v / n END")


def digits_of(x: Scalar) -> tuple[int, int] | None:
    """Precision and scale of an argument that is a DECIMAL."""
    return _digits(x.to) if isinstance(x, exp.Cast) and x.to.is_type("decimal") else None


def is_addable(x: Scalar) -> bool:
    """Whether sums of an argument can be added to one another by `+`, as far as its digits are known."""
    digits = digits_of(x)
    return digits is None or digits[0] <= ROOMY


def widened(x: Scalar) -> Scalar:
    """A whole number in a type whose sums do not overflow on the way; decimals have room already."""
    return x if digits_of(x) is not None else exp.cast(x, WIDE)


def in_type_of_sum(x: Scalar, total: Scalar) -> Scalar:
    """A sum of sums of x in the type that SUM(x) has."""
    digits = digits_of(x)
    return total if digits is None else exp.cast(total, f"decimal({digits[0] + 10}, {digits[1]})")


def average_from(x: Scalar, total: Scalar, count: Scalar) -> Scalar | None:
    """AVG(x) from SUM(x) and COUNT(x); none where that would need more digits than there are."""
    found = average_of(x, lambda value: value)
    if found is None or not is_addable(x):
        return None
    return replace_columns(parsed(found.formula), {"v": total, "n": count})


def _plain(x: Scalar, formula: str, kind: str = "") -> Decomposition:
    return Decomposition(formula, (("v", Part(PartKind.SUM, x, kind)), ("n", Part(PartKind.COUNT, x))))


def _digits(kind: exp.DataType) -> tuple[int, int]:
    """Precision and scale of a DECIMAL."""
    found = [int(parameter.name) for parameter in kind.expressions]
    return (found[0], found[1] if len(found) > 1 else 0) if found else (10, 0)


_HALVES_ADDED = f"CASE WHEN n > 0 THEN (h + shiftright(l, 32)) * {_HALF} + (l & {_HALF - 1}) END"
_HALVES_SHARED = f"CASE WHEN n > 0 THEN (CAST(h AS DOUBLE) * {_HALF} + CAST(l AS DOUBLE)) / n END"


def _in_halves(x: Scalar, formula: str) -> Decomposition:
    """A whole number of 64 bits as two numbers of 32, of which the lower is not negative."""
    halves = (("h", _total("shiftright(x, 32)", x, limit=_HALF // 4)), ("l", _total(f"x & {_HALF - 1}", x)))
    return Decomposition(formula, (*halves, ("n", Part(PartKind.COUNT, x))))


def _of_decimal(x: Scalar, precision: int, scale: int, call: str) -> Decomposition | None:
    if precision <= ROOMY:
        kind = f"decimal({precision + 10},{scale})"
        if call == _SUM:
            return _plain(x, "v", kind)
        return _plain(x, exact_average(precision, scale), kind) if scale <= _MOST_SCALE else None
    return _in_two(x, scale) if call == _SUM and scale <= _LOW else None


def exact_average(precision: int, scale: int) -> str:
    """The average of DECIMAL(p,s) from its sum v and count n, as Spark's AVG rounds it: DECIMAL(p+4,s+4).

    v / n in SQL has another scale. The quotient's whole part is exact, and what is left of v is divided in
    types that give the quotient the scale of the result.
    """
    n, shown = "CAST(n AS DECIMAL(12, 0))", scale + 4
    whole = f"CAST((v - v % {n}) / {n} AS DECIMAL({precision - scale + 1}, 0))"
    rest = f"CAST(CAST(v % {n} AS DECIMAL(34, {scale})) / {n} AS DECIMAL({shown + 1}, {shown}))"
    return f"CASE WHEN n > 0 THEN CAST({whole} + {rest} AS DECIMAL({precision + 4}, {shown})) END"


def _in_two(x: Scalar, scale: int) -> Decomposition:
    """A long DECIMAL as a quotient and a remainder. Their sums become one number as text: no operator of SQL
    has a result of 38 digits and any scale."""
    unit = f"CAST('{10 ** (_LOW - scale)}' AS DECIMAL({_LOW + 1 - scale}, 0))"
    high, low = f"(h + l div {unit})", f"(l % {unit})"
    lend, borrow = f"{high} > 0 AND {low} < 0", f"{high} < 0 AND {low} > 0"
    high, low = (
        f"(CASE WHEN {lend} THEN {high} - 1 WHEN {borrow} THEN {high} + 1 ELSE {high} END)",
        f"(CASE WHEN {lend} THEN {low} + {unit} WHEN {borrow} THEN {low} - {unit} ELSE {low} END)",
    )
    sign = f"CASE WHEN {high} < 0 OR {low} < 0 THEN '-' ELSE '' END"
    scaled = f"abs({low}) * CAST('{10**scale}' AS DECIMAL({scale + 1}, 0))"
    digits = f"lpad(CAST(CAST({scaled} AS DECIMAL({_LOW}, 0)) AS STRING), {_LOW}, '0')"
    text = f"concat({sign}, CAST(abs({high}) AS STRING), {digits}, 'E-{scale}')"
    low_kind = f"decimal({_LOW + 11},{scale})"
    parts = (
        ("h", _total(f"x div {unit}", x, limit=10 ** (38 - _LOW) // 2)),
        ("l", _total(f"x % {unit}", x, low_kind)),
        ("n", Part(PartKind.COUNT, x)),
    )
    return Decomposition(f"CASE WHEN n > 0 THEN CAST({text} AS DECIMAL(38, {scale})) END", parts)


def _in_limbs(x: Scalar, share: str) -> Decomposition:
    """A number in floating point as four limbs of 32 bits, in units of 2^26, 2^-6, 2^-38 and 2^-70.

        limb k  =  rint(x·c_k) − 2³²·rint(x·c_{k−1})

    Every step is exact. What is not finite, too large for the highest limb or finer than the lowest is
    outside: it is summed up as SQL does, and a group that has some is computed anew when some are deleted.
    """
    scaled = [f"rint(x * {unit})" for unit in _UNITS]
    limbs = [scaled[0], *(f"{low} - {high} * {_HALF}" for high, low in pairwise(scaled))]
    inside = _over(f"abs(x) < {_GREATEST} AND {scaled[-1]} = x * {_UNITS[-1]}", x)
    zero = exp.cast(literal(0), "bigint")
    parts = [
        (
            f"l{number}",
            Part(PartKind.TOTAL, when(inside, _over(f"CAST({limb} AS BIGINT)", x), zero), "bigint"),
        )
        for number, limb in enumerate(limbs)
    ]
    outside = when(not_(exp.paren(inside)), x)
    parts += [("o", Part(PartKind.SUM, outside, inexact=True)), ("n", Part(PartKind.COUNT, x))]
    return Decomposition(f"CASE WHEN n > 0 THEN (coalesce(o, 0) + {_limbs_added()}){share} END", tuple(parts))


def _limbs_added() -> str:
    """The limbs with what exceeds 31 bits carried over to the next higher one, added from the lowest up."""
    found, carried = "", ""
    for number in (3, 2, 1, 0):
        limb = f"(l{number}{carried})"
        carry = f"shiftright({limb} + {_HALF // 2}, 32)"
        digit = limb if number == 0 else f"({limb} - {carry} * {_HALF})"
        value = f"CAST({digit} AS DOUBLE) / {_UNITS[number]}"
        found, carried = f"({found} + {value})" if found else value, f" + {carry}"
    return found


def _total(formula: str, x: Scalar, kind: str = "bigint", limit: int = 0) -> Part:
    return Part(PartKind.TOTAL, _over(formula, x), kind, limit=limit)


def _over(formula: str, x: Scalar) -> Scalar:
    """A formula of the letter x over an expression."""
    return replace_columns(parsed(formula), {"x": x})
