"""The counting algorithm: gupta93 Algorithm 4.1 over the strata of a view.

    for each stratum, in order:   Δ(P) by the delta rules;   P ← P ⊎ Δ(P)

The delta of a stratum reads the deltas of the strata below it. Where a stratum eliminates
duplicates or aggregates, its delta is the change of what stands above it can see (statement 2):
nothing flows on when that did not change, and the steps above are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.algebra.build import bound_columns, minus, named_like, union_all
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Scalar, columns_of, rename_columns
from viewkeeper.algebra.facts import is_linear
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.relations import (
    Consolidate,
    Filter,
    Fixpoint,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.walk import base_tables, nodes, rewrite
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.delta.minimal import minimal
from viewkeeper.delta.rules import delta
from viewkeeper.delta.states import old
from viewkeeper.delta.stored_answer import stored_answer
from viewkeeper.delta.summary_delta import summary_delta
from viewkeeper.maintenance.aggregates import append_summary, must_look
from viewkeeper.maintenance.looked_at_once import looked_at_once
from viewkeeper.maintenance.recursion.stored_strata import maintain_fixpoint
from viewkeeper.maintenance.recursion.unfold import branches, union_branches
from viewkeeper.maintenance.steps import AppendLayer, Compute, Script, Step, delta_name
from viewkeeper.maintenance.strategy import Batch, ByDeltaRules, Progress, Stratum, View, bound
from viewkeeper.maintenance.top_k import buffered, maintain_buffer
from viewkeeper.report import Reason
from viewkeeper.rewrite.fresh_keys import FreshKeys, answered_by_changes
from viewkeeper.rewrite.join_order import small_first
from viewkeeper.rewrite.whole_keys import delta_of_whole_keys, key_column


@dataclass(frozen=True)
class SummaryDeltas:
    """Strata whose summary-deltas come from those of others, `parents`, which stand first in `order`."""

    along: Mapping[str, Relation] = field(default_factory=dict)
    parents: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()

    def ordered(self, strata: Iterable[Stratum]) -> list[Stratum]:
        place = {name: number for number, name in enumerate(self.order)}
        return sorted(strata, key=lambda stratum: place.get(stratum.name, len(place)))


NO_LATTICE = SummaryDeltas()


def sd_name(stratum: str) -> str:
    """The result that holds the summary-delta of a stratum."""
    return f"__sd__{stratum}"


class Counting(ByDeltaRules):
    """Signed counts, one delta rule per changed input."""

    name = "counting"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return no_plan(view) or replaced_input(batch) or redefined(view)


def maintained(view: View, batch: Batch, lattice: SummaryDeltas = NO_LATTICE) -> Script:
    """The steps of all strata that something changes for, in order; recursive ones are DRed's."""
    steps: list[Step] = []
    work = Progress(batch.changed, frozenset())
    for stratum in lattice.ordered(view.strata):
        if stratum.name in work.changed:
            continue
        before = _before(stratum, view)
        if not work.inputs(stratum) and before is None:
            continue
        if stratum.fixpoint is not None:
            steps.append(maintain_fixpoint(stratum, before, work, view, batch))
            done = frozenset(relation for _, relation in stratum.relations)
            work = Progress(work.changed | done, work.computed | done)
        else:
            if before is not None:  # its groups change with the definition too, not only with whole keys
                batch = replace(batch, fresh=())
            steps += _changed_stratum(stratum, before, work, view, batch, lattice)
            batch = replace(batch, fresh=tuple(_with_groups(keys, stratum, work) for keys in batch.fresh))
            told = {stratum.name} if _is_told(stratum) else set()
            work = Progress(work.changed | {stratum.name}, work.computed | told)
    return tuple(steps)


def _changed_stratum(
    stratum: Stratum,
    before: Stratum | None,
    work: Progress,
    view: View,
    batch: Batch,
    lattice: SummaryDeltas,
) -> list[Step]:
    assert stratum.query is not None
    changed, only_from = work.changed, work.only_from(stratum)
    if before is None or before.query is None:
        change = _own_delta(stratum, stratum.query, changed, batch, work.computed)
    else:
        change = redefined_delta(before.query, stratum.query, work, batch)
        changed, only_from = changed | {stratum.name}, ()
    if stratum.buffer is not None:
        refilled = buffered(stratum.buffer, plain(bound(stratum.query, batch.stored.counted)))
        return maintain_buffer(stratum.name, stratum.buffer, change, refilled, only_from)
    steps: list[Step] = []
    if stratum.state is None:
        plan = net_effect(minimal(change))
        steps.append(AppendLayer(stratum.name, plan, note="Δ", only_from=only_from))
    else:
        summary = lattice.along.get(stratum.name)
        if summary is None:
            summary = plain(summary_delta(stratum.state, change))
        if stratum.name in lattice.parents:
            name = sd_name(stratum.name)
            steps.append(Compute(name, summary, "summary-delta"))
            summary = Reference(name, summary.columns)
        if _is_shown_by_looking(stratum, work, view, batch) and not must_look(stratum, batch, changed):
            return [*steps, *looked_at_once(stratum, summary, changed, batch, only_from)]
        steps += append_summary(stratum, summary, changed, batch, only_from)
    if stratum is not view.top and stratum.state is not None:
        steps.append(_visible_change(stratum, work, batch, only_from, _is_only_buffered(stratum, view)))
    return steps


def _is_told(stratum: Stratum) -> bool:
    """Whether the change of a stratum is a result of the script; that of rows is their new layer."""
    return stratum.state is not None or stratum.buffer is not None


def _is_shown_by_looking(stratum: Stratum, work: Progress, view: View, batch: Batch) -> bool:
    """Whether strata above see the change of an aggregate as a result by itself, and what is stored has to be
    looked at to know it."""
    if stratum is view.top or stratum.state is None or _is_only_buffered(stratum, view):
        return False
    return _of_whole_groups(stratum.state, work, batch) is None


def _is_only_buffered(stratum: Stratum, view: View) -> bool:
    """Whether all that reads a stratum is one buffer, which looks at its change once."""
    readers = [one for one in view.strata if one.query is not None and stratum.name in base_tables(one.query)]
    return len(readers) == 1 and readers[0].buffer is not None


def _with_groups(keys: FreshKeys, stratum: Stratum, work: Progress) -> FreshKeys:
    """The keys, held by the groups of a stratum too where it groups by them: these come and go whole."""
    if stratum.state is None:
        return keys
    held = key_column(stratum.state.aggregate, work.changed, keys)
    if held is None:
        return keys
    return keys.with_member(
        stratum.name, held, tuple(one.source for one in bound_columns(stratum.state.keys))
    )


def _before(stratum: Stratum, view: View) -> Stratum | None:
    """The stratum whose rows are stored, where it is not this one."""
    if view.before is None:
        return None
    stored = next(other for other in view.before.strata if other.name == stratum.name)
    return None if stored == stratum else stored


def redefined_delta(before: Relation, query: Relation, work: Progress, batch: Batch) -> Relation:
    """Δ of a union some of whose branches came or went: what they derive, beside Δ of the others."""
    old_branches, new_branches = Counter(union_branches(before)), Counter(union_branches(query))
    kept, came, went = old_branches & new_branches, new_branches - old_branches, old_branches - new_branches
    change = stratum_delta(union_all(kept.elements(), query.columns), work.changed, batch, work.computed)
    derived = union_all(came.elements(), query.columns)
    gone = old(union_all(went.elements(), query.columns), work.changed)
    return union_all((change, bound(minus(derived, gone), batch.stored.counted)), query.columns)


def _own_delta(
    stratum: Stratum, query: Relation, changed: frozenset[str], batch: Batch, computed: frozenset[str]
) -> Relation:
    """Δ of a stratum; where its rows are the answers of groups, their old ones are read from it."""
    answer = stored_answer(query) if stratum.state is None and stratum.buffer is None else None
    if answer is None:
        return stratum_delta(query, changed, batch, computed)
    stored = Scan(stratum.name, bound_columns(query.columns), State.OLD)
    change = answer.delta(stored, delta(answer.core.child, changed, batch.fresh))
    return _read(change, batch, computed)


def stratum_delta(
    query: Relation, changed: frozenset[str], batch: Batch, computed: frozenset[str]
) -> Relation:
    """Δ of a stratum's query, reading the deltas of lower strata where they were computed.

    Where counts just multiply and add up, changes that cannot matter are left out here as well.
    """
    filters = batch.relevance if is_linear(query) else {}
    return _read(delta(query, changed, batch.fresh), batch, computed, filters)


def _read(
    change: Relation, batch: Batch, computed: frozenset[str], filters: Mapping[str, Scalar] | None = None
) -> Relation:
    """A delta as a script reads it: small tables first, and changes where they are known already."""
    change = answered_by_changes(change, batch.fresh)
    return _referring(bound(small_first(change, batch.stored.sizes), batch.stored.counted), computed, filters)


def _referring(
    change: Relation, computed: frozenset[str], filters: Mapping[str, Scalar] | None = None
) -> Relation:
    """A delta that reads the changes which the script has computed, and of others those that may matter."""
    filters = filters or {}

    def refer(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.at is not State.DELTA:
            return node
        if node.table in computed:
            stored = tuple(item.source.name for item in node.bound)
            return named_like(Reference(delta_name(node.table), stored, counted=True), node.columns)
        return _relevant(node, filters[node.table]) if node.table in filters else node

    return rewrite(change, refer)


def _relevant(scan: Scan, condition: Scalar) -> Relation:
    """The changes that may matter; the condition names stored columns."""
    names = {item.source.name: item.name for item in scan.bound}
    if not columns_of(condition) <= names.keys():
        return scan
    return Filter(scan, rename_columns(condition, names))


def _visible_change(
    stratum: Stratum, work: Progress, batch: Batch, only_from: tuple[str, ...], inline: bool
) -> Compute:
    """What the strata above see of a stratum's change, net; groups that came or went are not looked up.

    `inline`: it is part of the plan that reads it, and not a result of its own.
    """
    assert stratum.state is not None
    aggregate = stratum.state.aggregate
    change = _of_whole_groups(stratum.state, work, batch)
    if change is None:
        change = Scan(stratum.name, bound_columns(aggregate.columns), State.DELTA)
    plan = weighted(Consolidate(_referring(bound(change, batch.stored.counted), work.computed)))
    return Compute(delta_name(stratum.name), plan, f"Δ({stratum.name})", not inline, only_from)


def _of_whole_groups(state: AggregateState, work: Progress, batch: Batch) -> Relation | None:
    """The change of groups that came or went whole, from the changes alone; where what is stored depends on
    the order of rows, it is not evaluated a second time."""
    if state.depends_on_order:
        return None
    return delta_of_whole_keys(state.as_stored, work.changed, batch.fresh)


def no_plan(view: View) -> Reason | None:
    """A view whose SQL the algebra does not express, or that recurses, has no delta."""
    for stratum in view.strata:
        if stratum.query is None:
            why = view.untranslatable or "its SQL has no plan"
            return Reason("untranslatable", f"The query cannot be written as a plan: {why}.")
        if any(isinstance(node, Fixpoint) for node in nodes(stratum.query)):
            return Reason("recursive", "The view is recursive.")
    return None


def replaced_input(batch: Batch) -> Reason | None:
    """Where an input was written anew there is no log of its changes."""
    for name, change in batch.changes.items():
        if change.replaced:
            return Reason("input-replaced", f"{name} was written anew, so its changes are not known.")
    return None


def redefined(view: View) -> Reason | None:
    """A changed definition can be maintained where the same relations hold the same kind of rows."""
    if view.before is None:
        return None
    if _shape(view) != _shape(view.before):
        return Reason("redefined", "The new definition stores other relations than the old one.")
    for stratum, before in zip(view.strata, view.before.strata, strict=True):
        if stratum != before and not _rules(stratum) & _rules(before):
            return Reason("redefined", f"No branch of the old definition of {stratum.name} is left.")
    return None


def _rules(stratum: Stratum) -> frozenset[Relation]:
    """The branches of a stratum's union, of a recursion those of all its definitions."""
    if stratum.fixpoint is not None:
        return frozenset(rel for d in stratum.fixpoint.definitions for rel in branches(d.body))
    return frozenset() if stratum.query is None else frozenset(union_branches(stratum.query))


def _shape(view: View) -> list[object]:
    """What the strata store, apart from the rows."""
    return [(s.name, _columns(s), s.merge, s.relations, _is_set(s)) for s in view.strata]


def _columns(stratum: Stratum) -> tuple[str, ...]:
    if stratum.state is not None:
        return stratum.state.columns
    return () if stratum.query is None else stratum.query.columns


def _is_set(stratum: Stratum) -> bool:
    return stratum.fixpoint is not None and stratum.fixpoint.distinct
