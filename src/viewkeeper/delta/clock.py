"""What the clock changes: the rows that cross an edge, and no others.

    Q = π_E(R ⋈_{p(t)} clock)        p(t): the condition at the time t; then at OLD, now at NEW

    ΔQ = π_E(ΔR ⋈_{p(then)} clock)  ⊎  π_E σ_{p(now) ∧ ¬p(then)}(R)  −  π_E σ_{p(then) ∧ ¬p(now)}(R)

A clock is one row, so that its old and its new one can stand beside each row of R. Where E shows what the
clock shows, all rows change; where it shows tests of it, those for which some test comes out otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import empty, filtered, fresh, joined, minus, projected, union_all
from viewkeeper.algebra.clock import is_clock
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    columns_of,
    conjunction,
    conjuncts,
    not_,
    or_,
    rename_columns,
    same_or_both_null,
)
from viewkeeper.algebra.nullability import rejected_nulls
from viewkeeper.algebra.relations import Bound, Join, JoinKind, Project, Relation, Scan, State
from viewkeeper.delta.states import old

Changing = Callable[[Relation], Relation]
"""The delta of a part of the plan."""

_TESTS = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.Between, exp.In, exp.And, exp.Or, exp.Not),
)
_TOTAL = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.And, exp.Paren),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Add, exp.Sub, exp.Mul, exp.Neg),
    *(exp.Interval, exp.IntervalSpan, exp.Var, exp.TsOrDsAdd, exp.DateAdd, exp.DateSub),
)
"""What is NULL only where some column is."""


@dataclass(frozen=True)
class Timed:
    """A projection of a relation beside clocks, and the conditions between them."""

    outputs: tuple[Named, ...]
    base: Relation
    clocks: tuple[Scan, ...]
    on: tuple[Scalar, ...]

    def over(self, base: Relation, clocks: Iterable[Relation], on: Iterable[Scalar]) -> Relation:
        for clock in clocks:
            base = joined(base, clock, JoinKind.INNER, exp.true())
        return filtered(base, conjunction(on))


def timed(rel: Relation) -> Timed | None:
    """A plan of this form; None of others."""
    if not isinstance(rel, Project):
        return None
    base, clocks, on = rel.child, list[Scan](), list[Scalar]()
    while isinstance(base, Join) and base.kind is JoinKind.INNER:
        if not isinstance(base.right, Scan) or not is_clock(base.right.table):
            break
        clocks, on = [base.right, *clocks], [*conjuncts(base.on), *on]
        base = base.left
    return Timed(rel.outputs, base, tuple(clocks), tuple(on)) if clocks else None


def delta_of_timed(rel: Relation, changed: frozenset[str], change: Changing) -> Relation | None:
    """The delta where clocks have changed, and perhaps the relation beside them; None of other plans."""
    found = timed(rel)
    if found is None or changed.isdisjoint(clock.table for clock in found.clocks):
        return None
    then = tuple(old(clock, changed) for clock in found.clocks)
    own = projected(found.over(change(found.base), then, found.on), found.outputs)
    return union_all((own, _crossing(found, changed)), rel.columns)


def _crossing(found: Timed, changed: frozenset[str]) -> Relation:
    """The rows that come and go because the clock has changed."""
    still = [clock for clock in found.clocks if clock.table not in changed]
    now = [clock for clock in found.clocks if clock.table in changed]
    showing = [name for clock in now for name in clock.columns]
    taken = [*found.base.columns, *(name for clock in found.clocks for name in clock.columns)]
    names = {name: fresh(f"{name}_then", taken) for name in showing}
    then = [
        replace(clock, at=State.OLD, bound=tuple(Bound(names[b.name], b.source) for b in clock.bound))
        for clock in now
    ]
    tests = _tests(found.outputs, frozenset(showing))
    at_now, at_then = found.on, tuple(rename_columns(part, names) for part in found.on)
    outputs_then = tuple(Named(one.name, rename_columns(one.expr, names)) for one in found.outputs)
    if tests is None:
        came = projected(found.over(found.base, (*still, *now), at_now), found.outputs)
        return minus(came, projected(found.over(found.base, (*still, *then), at_then), outputs_then))
    both, ticking = (*still, *now, *then), frozenset((*showing, *names.values()))
    differ = [_differs(test, rename_columns(test, names)) for test in tests]
    came_if = [*_fails(at_then, at_now, ticking), *differ]
    went_if = [*_fails(at_now, at_then, ticking), *differ]
    if not came_if:
        return empty(output.name for output in found.outputs)
    came = projected(found.over(found.base, both, [*at_now, or_(*came_if)]), found.outputs)
    went = projected(found.over(found.base, both, [*at_then, or_(*went_if)]), outputs_then)
    return minus(came, went)


def _differs(test: Scalar, other: Scalar) -> Scalar:
    """That two tests come out otherwise; NULL is one way to come out."""
    return not_(exp.paren(same_or_both_null(exp.paren(test), exp.paren(other))))


def _fails(parts: Iterable[Scalar], where: Iterable[Scalar], ticking: frozenset[str]) -> list[Scalar]:
    """That some condition about the clock is not true, where others are: NOT, if none of them is NULL."""
    own = [part for part in parts if columns_of(part) & ticking]
    if not own:
        return []
    full = rejected_nulls(conjunction(where)) | ticking
    is_told = all(columns_of(part) <= full and _is_total(part) for part in own)
    whole = exp.paren(conjunction(own))
    return [not_(whole if is_told else exp.paren(exp.Is(this=whole, expression=exp.true())))]


def _is_total(part: Scalar) -> bool:
    return all(isinstance(node, _TOTAL) for node in part.walk())


def _tests(outputs: Iterable[Named], showing: frozenset[str]) -> list[Scalar] | None:
    """The tests through which outputs depend on the clock; None where they show more of it than tests."""
    found: list[Scalar] = []

    def collect(expr: Scalar) -> bool:
        if isinstance(expr, exp.Column):
            return expr.name not in showing
        if isinstance(expr, _TESTS) and columns_of(expr) & showing:
            found.append(expr)
            return True
        return all(map(collect, expr.iter_expressions()))

    return found if all(collect(output.expr) for output in outputs) else None
