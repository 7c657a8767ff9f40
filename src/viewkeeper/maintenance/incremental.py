"""Incremental maintenance: the strata of a view in turn (gupta93 Algorithm 4.1), each by what it is.

    for each stratum, in order:   Δ(P);   P ← P ⊎ Δ(P)

    rows                 Δ(P) by the delta rules is appended: counting (`stratum_delta.py`)
    an aggregate         its summary-delta merges with the stored groups (`aggregates.py`), wherever it comes
                         from (`summary_delta/sources.py`)
    a recursion          overdeletion, rederivation, insertion (`dred/`), or level by level
    the first rows       of an order, with some more behind them (`top_k.py`)

The delta of a stratum reads the deltas of the strata below it. Where a stratum eliminates
duplicates or aggregates, its delta is the change of what stands above it can see (statement 2):
nothing flows on when that did not change, and the steps above are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewkeeper.algebra.build import bound_columns
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.relations import (
    Consolidate,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.walk import base_tables
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.delta.minimal import minimal
from viewkeeper.delta.summary_delta import summary_delta
from viewkeeper.maintenance.aggregates import append_summary, must_look
from viewkeeper.maintenance.looked_at_once import looked_at_once
from viewkeeper.maintenance.recursion.stored_strata import maintain_fixpoint
from viewkeeper.maintenance.refusals import refusal
from viewkeeper.maintenance.steps import AppendLayer, Compute, Script, Step, delta_name
from viewkeeper.maintenance.strategy import Batch, Progress, Stratum, View, bound
from viewkeeper.maintenance.stratum_delta import changed_rows, redefined_delta, referring
from viewkeeper.maintenance.summary_delta.sources import SummaryDeltas, sd_name, summary_deltas
from viewkeeper.maintenance.top_k import Buffer, buffered, maintain_buffer
from viewkeeper.report import Reason
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.rewrite.whole_keys import delta_of_whole_keys, key_column


class Incremental:
    """A view's strata, each brought up to date by the algorithm that it is for; `name` says which."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return refusal(view, batch)

    def state(self, view: View) -> tuple[Stratum, ...]:
        return view.strata[:-1]

    def plan(self, view: View, batch: Batch) -> Script:
        return maintained(view, batch)


@dataclass(frozen=True)
class Turn:
    """A stratum whose turn it is, with what was stored in its place where its definition has changed."""

    stratum: Stratum
    before: Stratum | None
    view: View
    batch: Batch
    work: Progress
    sources: SummaryDeltas

    @property
    def changed(self) -> frozenset[str]:
        """What the stratum's change comes from: its own definition too, where that is another one."""
        own = set() if self.before is None else {self.stratum.name}
        return self.work.changed | own

    @property
    def only_from(self) -> tuple[str, ...]:
        return self.work.only_from(self.stratum) if self.before is None else ()

    @property
    def change(self) -> Relation:
        """Δ of the stratum's query."""
        query, before = self.stratum.query, self.before
        assert query is not None
        if before is None or before.query is None:
            return changed_rows(self.stratum, query, self.work.changed, self.batch, self.work.computed)
        return redefined_delta(before.query, query, self.work, self.batch)


def maintained(view: View, batch: Batch) -> Script:
    """The steps of all strata that something changes for, in order."""
    sources = summary_deltas(view, batch)
    steps: list[Step] = [*sources.first]
    work = Progress(batch.changed, frozenset())
    for stratum in sources.ordered(view.strata):
        before = _before(stratum, view)
        if stratum.name in work.changed or (before is None and not work.inputs(stratum)):
            continue
        if before is not None:  # its groups change with the definition too, not only with whole keys
            batch = replace(batch, fresh=())
        steps += _maintained(Turn(stratum, before, view, batch, work, sources))
        batch = replace(batch, fresh=tuple(_with_groups(keys, stratum, work) for keys in batch.fresh))
        work = _after(work, stratum)
    return tuple(steps)


def _maintained(turn: Turn) -> list[Step]:
    """The steps of one stratum, by the algorithm that it is for."""
    stratum = turn.stratum
    if stratum.fixpoint is not None:
        return [maintain_fixpoint(stratum, turn.before, turn.work, turn.view, turn.batch)]
    if stratum.buffer is not None:
        return _first_rows(turn, stratum.buffer)
    return _rows(turn) if stratum.state is None else _aggregate(turn, stratum.state)


def _rows(turn: Turn) -> list[Step]:
    """Counting: Δ is a layer of signed rows."""
    plan = net_effect(minimal(turn.change))
    return [AppendLayer(turn.stratum.name, plan, note="Δ", only_from=turn.only_from)]


def _first_rows(turn: Turn, buffer: Buffer) -> list[Step]:
    assert turn.stratum.query is not None
    refilled = buffered(buffer, plain(bound(turn.stratum.query, turn.batch.stored.counted)))
    return maintain_buffer(turn.stratum.name, buffer, turn.change, refilled, turn.only_from)


def _aggregate(turn: Turn, state: AggregateState) -> list[Step]:
    """The summary-delta merges with the stored groups; strata above are told how these changed."""
    stratum, batch, changed, only_from = turn.stratum, turn.batch, turn.changed, turn.only_from
    summary = turn.sources.along.get(stratum.name)
    if summary is None:
        summary = plain(summary_delta(state, turn.change))
    steps: list[Step] = []
    if stratum.name in turn.sources.parents:
        name = sd_name(stratum.name)
        steps.append(Compute(name, summary, "summary-delta"))
        summary = Reference(name, summary.columns)
    if stratum is turn.view.top:
        return [*steps, *append_summary(stratum, summary, changed, batch, only_from)]
    whole, inline = _of_whole_groups(state, turn.work, batch), _is_only_buffered(stratum, turn.view)
    if whole is None and not inline and not must_look(stratum, batch, changed):
        return [*steps, *looked_at_once(stratum, summary, changed, batch, only_from)]
    steps += append_summary(stratum, summary, changed, batch, only_from)
    if whole is None:
        whole = Scan(stratum.name, bound_columns(state.aggregate.columns), State.DELTA)
    return [*steps, _visible_change(turn, whole, inline)]


def _after(work: Progress, stratum: Stratum) -> Progress:
    """What is known behind a stratum: its change is a result of the script, but for that of plain rows."""
    if stratum.fixpoint is not None:
        done = frozenset(relation for _, relation in stratum.relations)
        return Progress(work.changed | done, work.computed | done)
    told = set() if stratum.state is None and stratum.buffer is None else {stratum.name}
    return Progress(work.changed | {stratum.name}, work.computed | told)


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


def _visible_change(turn: Turn, change: Relation, inline: bool) -> Compute:
    """What the strata above see of an aggregate's change, net; groups that came or went are not looked up.

    `inline`: it is part of the plan that reads it, and not a result of its own.
    """
    name, counted = turn.stratum.name, turn.batch.stored.counted
    plan = weighted(Consolidate(referring(bound(change, counted), turn.work.computed)))
    return Compute(delta_name(name), plan, f"Δ({name})", not inline, turn.only_from)


def _of_whole_groups(state: AggregateState, work: Progress, batch: Batch) -> Relation | None:
    """The change of groups that came or went whole, from the changes alone; where what is stored depends on
    the order of rows, it is not evaluated a second time."""
    if state.depends_on_order:
        return None
    return delta_of_whole_keys(state.as_stored, work.changed, batch.fresh)
