"""Aggregate functions taken apart into state that changes can be merged into (quass96 Table 1).

    COUNT(*)               rows                                     f: 2.a + 1.a
    COUNT(x)               n(x)                                     f: 2.a + 1.a
    SUM(x)                 sum(x), n(x)                             NULL where n(x) = 0
    AVG(x)                 sum(x), n(x)                             sum / n
    MIN(x), MAX(x)         the extreme, how many rows hold it, n(x) see `delta/extremes.py`
    VAR, STDDEV            sum(x), sum(x²), n(x)                    in floating point
    COVAR, CORR            the same of pairs, sum(xy)               in floating point
    BOOL_AND, BOOL_OR      n(x), how many are true
    f(x) FILTER (WHERE c)  f(CASE WHEN c THEN x END)

DISTINCT (except of an extreme, where it says nothing) and every other function have no such state:
their groups are computed anew by the rule of `delta/aggregate.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache

import sqlglot
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, replace_columns


class Kind(Enum):
    """What a state column holds of its argument, over the rows of a group."""

    ROWS = "rows"
    COUNT = "n"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class Part:
    """A piece of state: its kind and its argument; COUNT(*) has none."""

    kind: Kind
    argument: Scalar | None = None

    @property
    def is_extreme(self) -> bool:
        return self.kind in (Kind.MIN, Kind.MAX)


@dataclass(frozen=True)
class Decomposition:
    """An aggregate call as a formula over state; `parts` says what each letter of it stands for."""

    formula: str
    parts: tuple[tuple[str, Part], ...]

    def final(self, name_of: Callable[[Part], Scalar]) -> Scalar:
        """The call's value, from the columns that hold its state."""
        return replace_columns(_parsed(self.formula), {letter: name_of(part) for letter, part in self.parts})


ROWS = Part(Kind.ROWS)

_VARIANCE = "greatest(q - s * s / n, 0)"
_SPREAD = "greatest(q - s * s / n, 0) * greatest(p - t * t / n, 0)"
_FORMULAS: dict[type[exp.Expr], str] = {
    exp.Avg: "CASE WHEN n > 0 THEN s / n END",
    exp.VariancePop: f"CASE WHEN n > 0 THEN {_VARIANCE} / n END",
    exp.Variance: f"CASE WHEN n > 1 THEN {_VARIANCE} / (n - 1) END",
    exp.StddevPop: f"CASE WHEN n > 0 THEN sqrt({_VARIANCE} / n) END",
    exp.Stddev: f"CASE WHEN n > 1 THEN sqrt({_VARIANCE} / (n - 1)) END",
    exp.StddevSamp: f"CASE WHEN n > 1 THEN sqrt({_VARIANCE} / (n - 1)) END",
    exp.CovarPop: "CASE WHEN n > 0 THEN (c - s * t / n) / n END",
    exp.CovarSamp: "CASE WHEN n > 1 THEN (c - s * t / n) / (n - 1) END",
    exp.Corr: f"CASE WHEN n > 1 AND {_SPREAD} > 0 THEN (c - s * t / n) / sqrt({_SPREAD}) END",
    exp.LogicalAnd: "CASE WHEN n > 0 THEN y = n END",
    exp.LogicalOr: "CASE WHEN n > 0 THEN y > 0 END",
}
_OTHER_NAMES: dict[str, type[exp.Expr]] = {
    "MEAN": exp.Avg,
    "STD": exp.Stddev,
    "EVERY": exp.LogicalAnd,
    "SOME": exp.LogicalOr,
}


def decompose(call: Scalar) -> Decomposition | None:
    """The state of one aggregate call; none where changes cannot be merged into any."""
    condition: Scalar | None = None
    if isinstance(call, exp.Filter):
        condition, call = call.expression.this, call.this
    call = _known_by(call)
    if isinstance(call.this, exp.Distinct):
        if not isinstance(call, (exp.Min, exp.Max)) or len(call.this.expressions) != 1:
            return None
        call = type(call)(this=call.this.expressions[0])
    return _decomposed(call, condition)


def _decomposed(call: Scalar, condition: Scalar | None) -> Decomposition | None:
    def argument(expr: Scalar) -> Scalar:
        return expr.copy() if condition is None else when(condition, expr)

    match call:
        case exp.Count():
            return Decomposition("n", (("n", _counted(call, condition)),))
        case exp.CountIf():
            return Decomposition("n", (("n", Part(Kind.COUNT, argument(when(call.this, exp.convert(1))))),))
        case exp.Sum() | exp.Min() | exp.Max() if not call.args.get("expressions"):
            kind = Kind(type(call).__name__.lower())
            x = argument(call.this)
            return Decomposition("v", (("v", Part(kind, x)), ("n", Part(Kind.COUNT, x))))
        case exp.Avg():
            x = argument(call.this)
            return Decomposition(_FORMULAS[exp.Avg], (("s", Part(Kind.SUM, x)), ("n", Part(Kind.COUNT, x))))
        case exp.Variance() | exp.VariancePop() | exp.Stddev() | exp.StddevPop() | exp.StddevSamp():
            return _moments(_FORMULAS[type(call)], argument(call.this))
        case exp.CovarPop() | exp.CovarSamp() | exp.Corr():
            return _pair_moments(call, argument)
        case exp.LogicalAnd() | exp.LogicalOr():
            x = argument(call.this)
            true = Part(Kind.COUNT, when(x, exp.convert(1)))
            return Decomposition(_FORMULAS[type(call)], (("n", Part(Kind.COUNT, x)), ("y", true)))
        case _:
            return None


def _known_by(call: Scalar) -> Scalar:
    """The call under the name by which it is known here: `every` is `bool_and`."""
    if isinstance(call, exp.Any):
        return exp.LogicalOr(this=call.this.unnest())
    if isinstance(call, exp.Anonymous) and call.name.upper() in _OTHER_NAMES and len(call.expressions) == 1:
        return _OTHER_NAMES[call.name.upper()](this=call.expressions[0])
    return call


def _counted(call: exp.Count, condition: Scalar | None) -> Part:
    """COUNT of a star or a constant counts rows; of several expressions, rows where none is NULL."""
    several = [call.this, *call.expressions]
    if len(several) > 1:
        present = exp.and_(*(_is_present(expr) for expr in several))
        one = when(present, exp.convert(1))
        return Part(Kind.COUNT, one if condition is None else when(condition, one))
    if isinstance(call.this, (exp.Star, exp.Literal)) or call.this is None:
        return ROWS if condition is None else Part(Kind.COUNT, when(condition, exp.convert(1)))
    return Part(Kind.COUNT, call.this.copy() if condition is None else when(condition, call.this))


def _moments(formula: str, x: Scalar) -> Decomposition:
    value = _as_double(x)
    parts = (("s", Part(Kind.SUM, value)), ("q", Part(Kind.SUM, _product(value, value))))
    return Decomposition(formula, (*parts, ("n", Part(Kind.COUNT, value))))


def _pair_moments(call: Scalar, argument: Callable[[Scalar], Scalar]) -> Decomposition:
    """Of the pairs of which neither is NULL."""
    both = exp.and_(_is_present(call.this), _is_present(call.expression))
    x = _as_double(argument(when(both, call.this)))
    y = _as_double(argument(when(both, call.expression)))
    parts = [("n", Part(Kind.COUNT, x)), ("s", Part(Kind.SUM, x)), ("t", Part(Kind.SUM, y))]
    parts.append(("c", Part(Kind.SUM, _product(x, y))))
    if isinstance(call, exp.Corr):
        parts += [("q", Part(Kind.SUM, _product(x, x))), ("p", Part(Kind.SUM, _product(y, y)))]
    return Decomposition(_FORMULAS[type(call)], tuple(parts))


def when(condition: Scalar, value: Scalar) -> Scalar:
    """`value` where the condition holds, else NULL."""
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _is_present(expr: Scalar) -> Scalar:
    return exp.not_(exp.Is(this=expr.copy(), expression=exp.null()))


def _as_double(expr: Scalar) -> Scalar:
    return exp.cast(expr.copy(), "double")


def _product(one: Scalar, other: Scalar) -> Scalar:
    return exp.Mul(this=one.copy(), expression=other.copy())


@cache
def _parsed(formula: str) -> Scalar:
    return sqlglot.parse_one(formula, dialect="spark")
