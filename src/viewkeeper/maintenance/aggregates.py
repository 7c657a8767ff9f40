"""How the change of an aggregate's input becomes layers of its stored state.

Two ways, chosen by what the batch holds (an aggregate below others has a third, `looked_at_once.py`):

    blindly     the summary-delta is appended; counts and sums add, extremes compete, and a group
                dies when its count reaches zero. Nothing stored is read.
    looking     rows were deleted and the aggregate keeps extremes or sums in floating point: stored
                groups stand beside their changes (quass96 Figure 4), and the new state replaces the old.
                Groups whose extreme was lost, where there are any, are computed anew and replace that.

A batch with at least as many changes as there are groups touches most of them. All groups are then written,
those that did not change as they were, so that whoever reads next has nothing to merge. An aggregate without
keys has one group, and is always written so.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper import limits
from viewkeeper.algebra.build import bound_columns, filtered, joined, matching, projected, restricted_to
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import Named, Scalar, column, equal, literal, same
from viewkeeper.algebra.facts import is_linear
from viewkeeper.algebra.relations import JoinKind, Reference, Relation, Scan, State
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState
from viewkeeper.delta.stored_aggregate import is_undetermined, met, met_columns, new_state, old_of
from viewkeeper.delta.summary_delta import full_state, summary_columns
from viewkeeper.maintenance.steps import AppendLayer, Compute, Step, beside, flag
from viewkeeper.maintenance.strategy import Batch, Stratum, bound
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict_by

RECOMPUTE = "groups to recompute"
LOST = "__is_lost"
_ANY = "__any"


def append_summary(
    stratum: Stratum, summary: Relation, changed: frozenset[str], batch: Batch, only_from: tuple[str, ...]
) -> list[Step]:
    """The steps that bring a stratum's stored state up to date with its summary-delta."""
    state = _state(stratum)
    if not must_look(stratum, batch, changed):
        layer = restricted_to(summary, state.columns)
        return [AppendLayer(stratum.name, layer, note="summary-delta", only_from=only_from)]
    return _looking(stratum, summary, changed, batch, only_from)


def must_look(stratum: Stratum, batch: Batch, changed: frozenset[str]) -> bool:
    """Whether a deletion may take away an extreme, or a value that floating point cannot forget.

    A row that comes takes others away where something is asked for that is not there, or shown instead.
    """
    state = _state(stratum)
    inserts_only = all(name in batch.changes and batch.changes[name].only_inserts for name in changed)
    if state.moments:  # they do not add up
        return True
    only_grows = inserts_only and is_linear(_query(stratum))
    return not only_grows and bool(state.extremes or any(part.inexact for part in state.parts))


def met_name(relation: str) -> str:
    """The result that holds the summary-delta of a relation beside its stored groups."""
    return f"{relation}__met"


def lost_name(relation: str) -> str:
    """The result that holds the keys of the groups which are computed anew."""
    return f"{relation}__lost"


def _looking(
    stratum: Stratum, summary: Relation, changed: frozenset[str], batch: Batch, only_from: tuple[str, ...]
) -> list[Step]:
    state, name = _state(stratum), stratum.name
    handed_on = summary_columns(state) if batch.offer.handed_on else ()
    changes = [column for column in handed_on if column not in state.keys]
    kept = Reference(met_name(name), (*state.keys, *changes, LOST))
    lost = Reference(lost_name(name), state.keys or (_ANY,))
    whole = most_change(stratum, changed, batch)
    next_to = (Named(beside(change), column(change)) for change in changes)
    layer = projected(
        _met(stratum, summary, batch, whole), (*refreshed_groups(state, whole), *next_to, *same((LOST,)))
    )
    is_lost = filtered(kept, equal(column(LOST), literal(1)))
    is_all = whole or not state.keys
    return [
        AppendLayer(name, plain(layer), True, "δR ⋈ stored", only_from, kept.name, (LOST,), whole=is_all),
        Compute(lost.name, _keys(state, is_lost), RECOMPUTE, True, (flag(kept.name, LOST),)),
        AppendLayer(
            name,
            plain(_recomputed(stratum, lost, batch)),
            replaces=True,
            note="groups computed anew",
            only_from=(lost.name,),
            recomputed=True,
        ),
    ]


def most_change(stratum: Stratum, changed: frozenset[str], batch: Batch) -> bool:
    """Whether no fewer rows changed than there are groups, and these are few enough to be written each time.

    Those who take their summary-delta from what is written must not find groups in it that did not change.
    """
    groups = _groups(stratum, batch)
    changes = [batch.changes[name].rows for name in changed if name in batch.changes]
    few = groups <= min(sum(changes), limits.LIMITS.groups_written)
    return few and bool(_state(stratum).keys) and not batch.offer.handed_on


def _groups(stratum: Stratum, batch: Batch) -> int:
    """About how many groups are stored; many, where that is not known."""
    return {**batch.stored.sizes, **batch.stored.groups}.get(stratum.name, limits.LIMITS.groups_looked_up)


def _met(stratum: Stratum, summary: Relation, batch: Batch, whole: bool) -> Relation:
    """Each group's change beside its stored state, and whether they determine its new state; `whole`: groups
    that did not change too."""
    state = _state(stratum)
    both = stored_beside(stratum, summary, batch, JoinKind.FULL if whole else JoinKind.LEFT)
    lost = exp.Case(ifs=[exp.If(this=is_undetermined(state), true=literal(1))], default=literal(0))
    return projected(both, (*same(met_columns(state)), Named(LOST, lost)))


def stored_beside(
    stratum: Stratum, summary: Relation, batch: Batch, kind: JoinKind = JoinKind.LEFT
) -> Relation:
    """The summary-delta beside the stored groups; of many, only those that changed are joined with it, unless
    all are asked for."""
    state = _state(stratum)
    stored: Relation = Scan(stratum.name, bound_columns(state.columns), State.OLD)
    if kind is JoinKind.LEFT and _groups(stratum, batch) >= limits.LIMITS.groups_looked_up:
        stored = _near(stored, summary, state)
    return met(state, stored, summary, kind)


def _near(stored: Relation, summary: Relation, state: AggregateState) -> Relation:
    """The stored groups that changed; they are few, so that no join moves the others."""
    return matching(stored, mentioned(summary, state.keys)) if state.keys else stored


def _keys(state: AggregateState, lost: Relation) -> Relation:
    """The keys of the groups to recompute; without keys, a row when the one group is."""
    return restricted_to(lost, state.keys) if state.keys else projected(lost, (Named(_ANY, literal(1)),))


def _recomputed(stratum: Stratum, lost: Relation, batch: Batch) -> Relation:
    """The state of lost groups: from another view that derives this one, else from the new rows of the input.
    Only those groups are read."""
    state, derived = _state(stratum), batch.offer.anew
    if derived is not None and derived.columns == state.columns and state.keys:
        return restrict_by(derived, lost, tuple((column(key), key) for key in state.keys))
    source = bound(_query(stratum), batch.stored.counted)
    if not state.keys:
        return joined(full_state(state, source), lost, JoinKind.SEMI, exp.true())
    pairs = tuple((key.expr, key.name) for key in state.aggregate.keys)
    return full_state(state, restrict_by(source, lost, pairs))


def refreshed_groups(state: AggregateState, whole: bool) -> tuple[Named, ...]:
    """The new state of each group; one that lost its last row has a count of zero, and nothing else of it
    stays. Without keys there is one group, always. `whole`: a group without a change is as it was."""
    values = {name: _or_old(name, value) if whole else value for name, value in new_state(state)}
    if not state.keys:
        return tuple(Named(name, value) for name, value in values.items())
    is_left = exp.GT(this=exp.paren(values[ROWS_NAME].copy()), expression=literal(0))
    nothing = {ROWS_NAME: exp.cast(literal(0), "bigint")}

    def kept(name: str) -> Scalar:
        if name in state.keys:
            return values[name]
        return exp.Case(ifs=[exp.If(this=is_left.copy(), true=values[name])], default=nothing.get(name))

    return tuple(Named(name, kept(name)) for name in state.columns)


def _or_old(name: str, value: Scalar) -> Scalar:
    """The new value of a state column, in a group that has a change."""
    is_changed = exp.not_(exp.Is(this=column(ROWS_NAME), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_changed, true=value)], default=column(old_of(name)))


def _state(stratum: Stratum) -> AggregateState:
    assert stratum.state is not None
    return stratum.state


def _query(stratum: Stratum) -> Relation:
    assert stratum.query is not None
    return stratum.query
