"""An aggregate over its stored old value: quass96 Figures 2 to 5, without reading R.

With 1 the summary-delta of the group, 2 its stored row, and f of Table 1:

    Figure 2  ∇ = Π_{2.a}(1 ⋈ 2)
              Δ = Π_{f(2.a,1.a)}(σ_{2.count + 1.cnt > 0}(1 ⋈ 2)) ⊎ σ_{1.cnt > 0}(1 ▷ 2)
    Figure 3  the same where some f(2.a,1.a) ≠ 2.a: nothing is deleted and inserted again
    Figure 4  groups where some C_i holds come from the new state of R (`delta/extremes.py`)
    Figure 5  ∇ groups that died, μ groups that changed, Δ groups that were born

NULLs are SQL's: equal group-by NULLs meet, and a SUM is NULL again when its last value is deleted.
The plans take the stored relation and the results of earlier steps as relations without counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from viewkeeper.algebra.build import joined, renamed
from viewkeeper.algebra.expressions import (
    Scalar,
    column,
    conjunction,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
)
from viewkeeper.algebra.relations import JoinKind, Relation
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.delta.extremes import Extreme, is_lost
from viewkeeper.delta.moments import Moments
from viewkeeper.delta.parts import Part, PartKind, when
from viewkeeper.delta.summary_delta import lost, summary_columns


def old_of(name: str) -> str:
    """A column of the stored row, beside the summary-delta's of the same name."""
    return f"__old_{name}"


def new_of(name: str) -> str:
    return f"__new_{name}"


def met(
    state: AggregateState, stored: Relation, summary: Relation, kind: JoinKind = JoinKind.LEFT
) -> Relation:
    """1 and 2 side by side, the common subexpression of Figures 2 to 5; 2 is NULL for a new group, and 1 for
    one that did not change, where a full join asks for those."""
    other = {name: old_of(name) for name in state.columns}
    on = null_safe_match((key, old_of(key)) for key in state.keys)
    return joined(summary, renamed(stored, other), kind, on)


def met_columns(state: AggregateState) -> tuple[str, ...]:
    return (*summary_columns(state), *(old_of(name) for name in state.columns))


def is_undetermined(state: AggregateState) -> Scalar:
    """Over 1 and 2 side by side: whether some C_i holds; never NULL."""
    return function("coalesce", undetermined(state), exp.false())


def new_state(state: AggregateState) -> Iterator[tuple[str, Scalar]]:
    """f(2.a, 1.a) for every column, over 1 and 2 side by side."""
    return ((name, _new(state, name)) for name in state.columns)


def _new(state: AggregateState, name: str) -> Scalar:
    """f(2.a, 1.a): the new value of a state column."""
    for part, part_name in state.names:
        if name == part_name:
            return _new_part(state, part)
        if part.is_extreme and name == state.at(part):
            return _extreme(state, part).holders
    return column(name)


def _new_part(state: AggregateState, part: Part) -> Scalar:
    if part.is_moment:
        return _moments(state).new(part)
    return _extreme(state, part).value if part.is_extreme else _added(state, part)


def _moments(state: AggregateState) -> Moments:
    return Moments(
        lambda part: column(old_of(state.name(part))),
        lambda part: column(state.name(part)),
        lambda part: column(lost(state.name(part))),
    )


def _added(state: AggregateState, part: Part) -> Scalar:
    name = state.name(part)
    if part.kind is not PartKind.SUM:
        return _count_after(name)
    value, change = column(old_of(name)), column(name)
    total = function("coalesce", exp.Add(this=value, expression=change), value, change)
    return when(exp.GT(this=_count_after(state.counter(part)), expression=literal(0)), total)


def _count_after(name: str) -> Scalar:
    return exp.Add(this=function("coalesce", column(old_of(name)), literal(0)), expression=column(name))


def _extreme(state: AggregateState, part: Part) -> Extreme:
    value, at = state.name(part), state.at(part)
    return Extreme(
        part.kind is PartKind.MIN,
        old=(column(old_of(value)), column(old_of(at))),
        inserted=(column(value), column(at)),
        deleted=(column(lost(value)), column(lost(at))),
        values_after=_count_after(state.counter(part)),
    )


def undetermined(state: AggregateState) -> Scalar:
    """C_1 or … or C_k; and sums in floating point, out of which no value can be taken again."""
    found = [is_lost(_extreme(state, part)) for part in state.extremes]
    found += [_moments(state).is_lost(part) for part in state.moments if part.kind is PartKind.PEAK]
    found += [_is_mixed(state, part) for part in state.parts if part.inexact]
    return or_(*found) if found else exp.false()


def _is_mixed(state: AggregateState, part: Part) -> Scalar:
    """Whether values of an inexact sum came or went, and some are left: of none the sum is known again."""
    changed = not_(exp.Is(this=column(state.name(part)), expression=exp.null()))
    left = exp.GT(this=exp.paren(_count_after(state.counter(part))), expression=literal(0))
    return conjunction((changed, left))
