"""An aggregate below others, brought up to date and its change shown in one look at what is stored.

With 1 the summary-delta of a group, 2 its stored row, and f of quass96 Table 1:

    1 ⟕ 2   →   layer    f(2, 1)              in place of 2; a group that died has a count of zero
            →   ∇        2, as others see it   where f(2, 1) looks different
            →   Δ        f(2, 1)               where it looks different, and is left

These are Figures 3 and 5 from one evaluation of their common subexpression. Each group is once in the layer
and at most twice in the change; the number of the part stands beside them (`numbered_parts.py`).
The new state replaces the old one, so that whoever reads the aggregate next looks at main once and adds
nothing up. Where most groups change, and they are few, all are written, by a full join in place of ⟕.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    equal,
    function,
    literal,
    map_named,
    not_,
    or_,
    replace_columns,
    same,
    same_or_both_null,
)
from viewkeeper.algebra.merge.layers import typed
from viewkeeper.algebra.relations import JoinKind, Lateral, Reference, Relation
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState
from viewkeeper.delta.stored_aggregate import new_of, old_of
from viewkeeper.maintenance.aggregates import most_change, refreshed_groups, stored_beside
from viewkeeper.maintenance.numbered_parts import PART, part
from viewkeeper.maintenance.steps import AppendLayer, Compute, Step, delta_name
from viewkeeper.maintenance.strategy import Batch, Stratum

LAYER, CHANGE = 0, 1

SIDE = "__side"
"""0 in the rows of the layer; in those of the change their count."""


def looked_at_once(
    stratum: Stratum, summary: Relation, changed: frozenset[str], batch: Batch, only_from: tuple[str, ...]
) -> list[Step]:
    """The steps that bring a stratum up to date with its summary-delta, and tell its change."""
    state, name = stratum.state, stratum.name
    assert state is not None
    is_whole = most_change(stratum, changed, batch)
    beside = stored_beside(stratum, summary, batch, JoinKind.FULL if is_whole else JoinKind.LEFT)
    groups = before_and_after(state, beside, is_whole, batch.stored.columns.get(name, ()))
    plan = plain(layer_and_change(state, groups))
    both = Compute(f"{name}__both", plan, "δR ⋈ stored", only_from=only_from, held=True)
    whole = Reference(both.name, plan.columns)
    return [
        both,
        AppendLayer(
            name, layer_part(state, whole), True, "f(2, 1)", only_from, whole=is_whole or not state.keys
        ),
        Compute(delta_name(name), change_part(state, whole), f"Δ({name})", True, only_from),
    ]


def layer_part(state: AggregateState, whole: Reference) -> Relation:
    """The new state of every group."""
    return part(whole, LAYER, same(state.columns))


def change_part(state: AggregateState, whole: Reference) -> Relation:
    """What others see of the change, with counts."""
    return part(whole, CHANGE, (*same(state.aggregate.columns), Named(COUNT, column(SIDE))))


def before_and_after(
    state: AggregateState, both: Relation, is_whole: bool, stored: Sequence[Column] = ()
) -> Relation:
    """Every group with its old and its new state, this in the types that are stored."""
    kinds = {one.name: one for one in stored}

    def after(item: Named) -> Named:
        kind = kinds.get(item.name)
        return Named(new_of(item.name), item.expr if kind is None else typed(exp.paren(item.expr), kind))

    new = map(after, refreshed_groups(state, is_whole))
    return projected(both, (*new, *same(old_of(name) for name in state.columns)))


def layer_and_change(state: AggregateState, groups: Relation) -> Relation:
    """Each group as a row of the layer, and, where it looks different, as it was and as it is."""
    sides = function("explode", function("array", literal(0), exp.Neg(this=literal(1)), literal(1)))
    side, is_old = column(SIDE), exp.LT(this=column(SIDE), expression=literal(0))
    before, after = (_seen(state, of) for of in (old_of, new_of))
    shown = (
        Named(mine.name, exp.Case(ifs=[exp.If(this=is_old.copy(), true=mine.expr)], default=theirs.expr))
        for mine, theirs in zip(before, after, strict=True)
        if mine.name not in state.keys
    )
    layer = (Named(name, column(new_of(name))) for name in state.columns)
    is_layer = exp.If(this=equal(side, literal(0)), true=literal(LAYER))
    number = exp.Case(ifs=[is_layer], default=literal(CHANGE))
    rows = filtered(Lateral(groups, sides, (SIDE,)), _is_wanted(state, before, after))
    return projected(rows, (*layer, *shown, Named(SIDE, exp.cast(side, "bigint")), Named(PART, number)))


def _seen(state: AggregateState, of: Callable[[str], str]) -> tuple[Named, ...]:
    """The aggregate's own columns over the old or the new state."""
    values = {name: column(of(name)) for name in state.columns}
    return map_named(state.outputs, lambda expr: replace_columns(expr, values))


def _is_wanted(state: AggregateState, before: tuple[Named, ...], after: tuple[Named, ...]) -> Scalar:
    """Whether a group's row on a side is one of the layer, or of the change."""
    was, is_left = _exists(state, old_of), _exists(state, new_of)
    values = [pair for pair in zip(before, after, strict=True) if pair[0].name not in state.keys]
    alike = [same_or_both_null(mine.expr, theirs.expr) for mine, theirs in values]
    is_same = conjunction((same_or_both_null(was, is_left), *alike))
    side, is_old = column(SIDE), exp.LT(this=column(SIDE), expression=literal(0))
    is_there = exp.Case(ifs=[exp.If(this=is_old, true=was)], default=is_left)
    return or_(equal(side, literal(0)), conjunction((not_(exp.paren(is_same)), is_there)))


def _exists(state: AggregateState, of: Callable[[str], str]) -> Scalar:
    """Whether a group has rows; without keys there is always one."""
    rows = function("coalesce", column(of(ROWS_NAME)), literal(0))
    return exp.paren(exp.GT(this=rows, expression=literal(0))) if state.keys else exp.true()
