"""Figures 3 to 5 of quass96 as the paper writes them: what a refresh does is compared with this."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import (
    filtered,
    joined,
    matching,
    minus,
    projected,
    renamed,
    union_all,
)
from viewkeeper.algebra.expressions import (
    Named,
    column,
    conjunction,
    literal,
    not_,
    null_safe_match,
    same,
    same_or_both_null,
)
from viewkeeper.algebra.relations import JoinKind, Relation
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState
from viewkeeper.delta.stored_aggregate import (
    is_undetermined,
    met,
    new_of,
    new_state,
    old_of,
    undetermined,
)
from viewkeeper.delta.summary_delta import (
    _prepared,
    _signed,
    full_state,
)
from viewkeeper.rewrite.restrict import restrict_by


def groups_to_recompute(state: AggregateState, stored: Relation, summary: Relation) -> Relation:
    """The keys of the groups that state and changes do not determine: some C_i holds (Figure 4)."""
    both = met(state, stored, summary)
    return projected(filtered(both, undetermined(state)), same(state.keys))


def refreshed(
    state: AggregateState, stored: Relation, summary: Relation, recomputed: Relation | None = None
) -> Relation:
    """The new state of every group of the summary-delta that still exists.

    `recomputed` is the full state of the groups to recompute, from the new R; without it the caller
    knows that there are none.
    """
    both = met(state, stored, summary)
    if recomputed is not None:
        both = filtered(both, not_(is_undetermined(state)))
    parts = (merged(state, both),) if recomputed is None else (merged(state, both), recomputed)
    return union_all(parts, state.columns)


def merged(state: AggregateState, both: Relation) -> Relation:
    """f(2.a, 1.a) for every column: the new state of the groups that still exist."""
    return _alive(state, projected(both, (Named(name, value) for name, value in new_state(state))))


def recomputed_state(state: AggregateState, source: Relation, groups: Relation) -> Relation:
    """The full state of the groups to recompute, reading only their rows of the new R."""
    if not state.keys:
        return joined(full_state(state, source), groups, JoinKind.SEMI, exp.true())
    pairs = tuple((key.expr, key.name) for key in state.aggregate.keys)
    return full_state(state, restrict_by(source, groups, pairs))


def weakly_minimal(state: AggregateState, stored: Relation, summary: Relation, after: Relation) -> Relation:
    """Figure 2: every affected group is deleted as it was, and inserted as it is."""
    return minus(state.visible(after), state.visible(affected_rows(state, stored, summary)))


def strongly_minimal(state: AggregateState, stored: Relation, summary: Relation, after: Relation) -> Relation:
    """Figure 3: only groups with another value than before."""
    changes = as_updates(state, stored, summary, after)
    names = [item.name for item in state.aggregate.aggregates]

    def side(of: str) -> Relation:
        values = (Named(name, column(of + name)) for name in names)
        return projected(changes.updated, (*same(state.keys), *values))

    gone = union_all((changes.deleted, side(old_of(""))), changes.deleted.columns)
    return minus(union_all((changes.inserted, side(new_of(""))), changes.deleted.columns), gone)


@dataclass(frozen=True)
class Updates:
    """Figure 5: ∇, μ and Δ. μ has the group-by columns, and old and new value of every aggregate."""

    deleted: Relation
    updated: Relation
    inserted: Relation


def as_updates(state: AggregateState, stored: Relation, summary: Relation, after: Relation) -> Updates:
    """The changes of the aggregate as deletions, updates and insertions; unchanged groups are none."""
    before = state.visible(affected_rows(state, stored, summary))
    now = state.visible(after)
    return Updates(
        _without(before, now, state.keys), _changed(state, before, now), _without(now, before, state.keys)
    )


def affected_rows(state: AggregateState, stored: Relation, summary: Relation) -> Relation:
    """The stored rows of the groups that the summary-delta mentions."""
    return matching(stored, projected(summary, same(state.keys))) if state.keys else stored


def _without(rel: Relation, other: Relation, keys: tuple[str, ...]) -> Relation:
    names = {key: old_of(key) for key in keys}
    keys_of_other = projected(other, (Named(old_of(key), column(key)) for key in keys))
    return joined(rel, keys_of_other, JoinKind.ANTI, null_safe_match(names.items()))


def _changed(state: AggregateState, before: Relation, now: Relation) -> Relation:
    names = [item.name for item in state.aggregate.aggregates]
    left = renamed(now, {name: new_of(name) for name in names})
    right = renamed(before, {name: old_of(name) for name in before.columns})
    on = null_safe_match((key, old_of(key)) for key in state.keys)
    pairs = joined(left, right, JoinKind.INNER, on)
    same_values = conjunction(same_or_both_null(column(old_of(n)), column(new_of(n))) for n in names)
    values = (Named(name, column(name)) for n in names for name in (old_of(n), new_of(n)))
    return projected(filtered(pairs, not_(same_values)), (*same(state.keys), *values))


def _alive(state: AggregateState, rel: Relation) -> Relation:
    exists = exp.GT(this=column(ROWS_NAME), expression=literal(0))
    return filtered(rel, exists) if state.keys else rel


def signed_rows(state: AggregateState, delta: Relation) -> Relation:
    """δR: the group-by columns, f_i for every argument that is summed or counted, and cnt = ±1."""
    return _signed(state, _prepared(state, delta, net=False))
