"""Aggregate functions taken apart into state that changes can be merged into (quass96 Table 1).

    COUNT(*)               rows                                     f: 2.a + 1.a
    COUNT(x)               n(x)                                     f: 2.a + 1.a
    SUM(x), AVG(x)         sum(x), n(x)                             by type: see `delta/numbers.py`
    MIN(x), MAX(x)         the extreme, how many rows hold it, n(x) see `delta/extremes.py`
    VAR, STDDEV            n(x), mean, central moment               see `delta/moments.py`
    COVAR, CORR            the same of pairs, and the joint moment
    BOOL_AND, BOOL_OR      n(x), how many are true
    f(x) FILTER (WHERE c)  f(CASE WHEN c THEN x END)

DISTINCT (except of an extreme, where it says nothing) and every other function have no such state:
their groups are computed anew by the rule of `delta/aggregate.py`.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, is_present
from viewkeeper.delta.moments import moments_of, pair_moments_of
from viewkeeper.delta.numbers import average_of, sum_of
from viewkeeper.delta.parts import ROWS, Decomposition, Part, PartKind, when

_FORMULAS: dict[type[exp.Expr], str] = {
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
            return Decomposition(
                "n", (("n", Part(PartKind.COUNT, argument(when(call.this, exp.convert(1))))),)
            )
        case exp.Coalesce(this=exp.Sum(), expressions=[exp.Literal()]):
            return Decomposition("v", (("v", Part(PartKind.TOTAL, argument(call.this.this))),))
        case exp.Sum() if not call.args.get("expressions"):
            return sum_of(call.this, argument)
        case exp.Avg():
            return average_of(call.this, argument)
        case exp.Min() | exp.Max() if not call.args.get("expressions"):
            kind, x = PartKind(type(call).__name__.lower()), argument(call.this)
            return Decomposition("v", (("v", Part(kind, x)), ("n", Part(PartKind.COUNT, x))))
        case exp.Variance() | exp.VariancePop() | exp.Stddev() | exp.StddevPop() | exp.StddevSamp():
            return moments_of(call, argument)
        case exp.CovarPop() | exp.CovarSamp() | exp.Corr():
            return pair_moments_of(call, argument)
        case exp.LogicalAnd() | exp.LogicalOr():
            x = argument(call.this)
            true = Part(PartKind.COUNT, when(x, exp.convert(1)))
            return Decomposition(_FORMULAS[type(call)], (("n", Part(PartKind.COUNT, x)), ("y", true)))
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
        present = exp.and_(*(is_present(expr) for expr in several))
        one = when(present, exp.convert(1))
        return Part(PartKind.COUNT, one if condition is None else when(condition, one))
    if isinstance(call.this, (exp.Star, exp.Literal)) or call.this is None:
        return ROWS if condition is None else Part(PartKind.COUNT, when(condition, exp.convert(1)))
    return Part(PartKind.COUNT, call.this.copy() if condition is None else when(condition, call.this))
