"""Pieces of state: what is stored of an aggregate call, and the formula that shows its value.

ROWS    COUNT(*)                  a group where it is 0 does not exist
COUNT   n(x)                      values that are not NULL
SUM     SUM(x)                    NULL where n(x) = 0
TOTAL   SUM(x), 0 over nothing    a share of a number, and never NULL; it needs no count of its own
MIN     the least value           beside the number of rows that hold it
MAX     the greatest value        likewise
MEAN, SPREAD, PEAK, COMOMENT      do not add up: see `delta/moments.py`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

import sqlglot
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, function, literal, replace_columns


class PartKind(Enum):
    """What a state column holds of its argument, over the rows of a group."""

    ROWS = "rows"
    COUNT = "n"
    SUM = "sum"
    TOTAL = "total"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    SPREAD = "spread"
    PEAK = "peak"
    COMOMENT = "comoment"


@dataclass(frozen=True)
class Part:
    """A piece of state: its kind and its argument; COUNT(*) has none, and a part of pairs an `other`.

    `type` is what it is stored in, where sums of sums would get another type. `inexact`: the sum is one in
    floating point, out of which no value can be taken again. Beyond its `limit` the whole of which it is a
    share may not fit its type.
    """

    kind: PartKind
    argument: Scalar | None = None
    type: str = field(default="", compare=False)
    inexact: bool = field(default=False, compare=False)
    limit: int = field(default=0, compare=False)
    other: Scalar | None = None

    @property
    def is_extreme(self) -> bool:
        return self.kind in (PartKind.MIN, PartKind.MAX)

    @property
    def is_moment(self) -> bool:
        return self.kind in (PartKind.MEAN, PartKind.SPREAD, PartKind.PEAK, PartKind.COMOMENT)

    @property
    def is_summed(self) -> bool:
        """Whether values themselves are added up, and not their number."""
        return self.kind in (PartKind.SUM, PartKind.TOTAL)

    @property
    def is_null_over_nothing(self) -> bool:
        """Whether a count of values must stand beside it, to tell when it is NULL."""
        return self.kind is PartKind.SUM or self.is_extreme or self.is_moment

    def typed(self, value: Scalar) -> Scalar:
        """A value of it in the type that it is stored in."""
        return exp.cast(value, exp.DataType.build(self.type, dialect="spark")) if self.type else value

    @property
    def call(self) -> Scalar:
        """The function of SQL that gives it over the rows of a group."""
        return (
            function("count", exp.Star()) if self.argument is None else self.over(self.argument, self.other)
        )

    def over(self, x: Scalar, y: Scalar | None = None) -> Scalar:
        """The function of SQL that gives it, over values of its argument."""
        match self.kind:
            case PartKind.COUNT:
                return function("count", x)
            case PartKind.TOTAL:
                return function("coalesce", function("sum", x), literal(0))
            case PartKind.MEAN:
                return function("avg", x)
            case PartKind.SPREAD | PartKind.PEAK:
                return exp.Mul(this=function("var_pop", x), expression=function("count", x))
            case PartKind.COMOMENT:
                assert y is not None, "a comoment is one of pairs"
                return exp.Mul(this=function("covar_pop", x, y), expression=function("count", x))
            case _:
                return function(self.kind.value, x)


@dataclass(frozen=True)
class Decomposition:
    """An aggregate call as a formula over state; `parts` says what each letter of it stands for."""

    formula: str
    parts: tuple[tuple[str, Part], ...]

    def final(self, name_of: Callable[[Part], Scalar]) -> Scalar:
        """The call's value, from the columns that hold its state."""
        return replace_columns(parsed(self.formula), {letter: name_of(part) for letter, part in self.parts})


ROWS = Part(PartKind.ROWS)


def when(condition: Scalar, value: Scalar, otherwise: Scalar | None = None) -> Scalar:
    """`value` where the condition holds, else NULL, or what is given."""
    rest = None if otherwise is None else otherwise.copy()
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())], default=rest)


@cache
def parsed(formula: str) -> Scalar:
    """A formula of Spark SQL as an expression."""
    return sqlglot.parse_one(formula, dialect="spark")
