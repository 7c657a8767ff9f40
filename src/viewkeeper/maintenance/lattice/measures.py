"""Aggregate calls in canonical form: mumick97 section 3.1.

Distributive functions (COUNT, SUM, MIN, MAX) and AVG, which is algebraic, stay; a FILTER clause and
COUNT_IF become a CASE inside the argument, BOOL_AND and BOOL_OR are MIN and MAX. DISTINCT and holistic
functions such as MEDIAN cannot be computed from parts and are refused.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, literal
from viewkeeper.maintenance.lattice.cube_view import Refusal


class Refused(Exception):
    """Carries a refusal out of the recursion that found it; never leaves this package."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(code, sentence)


def canonical_measure(call: Scalar) -> Scalar:
    """One of COUNT(*), COUNT(e), SUM(e), AVG(e), MIN(e), MAX(e)."""
    call = call.unnest()
    match call:
        case exp.Filter():
            return _filtered(canonical_measure(call.this), call.expression.this)
        case exp.CountIf():
            return exp.Count(this=_case(call.this, literal(1)))
        case exp.Count():
            return _count(call)
        case exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
            return type(call)(this=_argument(call))
        case exp.LogicalAnd():
            return exp.Min(this=_argument(call))
        case exp.LogicalOr():
            return exp.Max(this=_argument(call))
        case _:
            raise Refused("holistic", f"{call.sql()} cannot be computed from the values of parts of a group")


def _count(call: exp.Count) -> Scalar:
    if call.expressions:
        raise Refused("holistic", f"{call.sql()} counts rows by several columns")
    argument = _argument(call)
    constant = isinstance(argument, (exp.Star, exp.Literal, exp.Boolean))
    return exp.Count(this=exp.Star() if constant else argument)


def _argument(call: Scalar) -> Scalar:
    argument: Scalar = call.this
    if isinstance(argument, exp.Distinct) or call.expressions:
        raise Refused("holistic", f"{call.sql()} (DISTINCT) cannot be computed from parts of a group")
    return argument.unnest().copy()


def _filtered(call: Scalar, condition: Scalar) -> Scalar:
    counts_rows = isinstance(call.this, exp.Star)
    return type(call)(this=_case(condition, literal(1) if counts_rows else call.this))


def _case(condition: Scalar, value: Scalar) -> Scalar:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
