"""Recomputation: the view's query over the new state. Always right, and the rival of the others."""

from __future__ import annotations

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.facts import is_linear
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.delta.summary_delta import group_totals, with_holders
from viewkeeper.maintenance.program import stored_query, with_visible
from viewkeeper.maintenance.recursion.stored_strata import evaluate_fixpoint
from viewkeeper.maintenance.steps import Compute, ReplaceMain, Script, Step
from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.maintenance.top_k import buffered
from viewkeeper.report import Reason

NOTE = "Q at the new state"


class Recompute:
    """V ← Q(NEW), for the view and for all state that belongs to it.

    Inputs with pending deletions are read as plain rows: that costs less than carrying signed counts
    through a whole query, and adding them up at its end.
    """

    name = "recompute"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return None

    def state(self, view: View) -> tuple[Stratum, ...]:
        return ()

    def plan(self, view: View, batch: Batch) -> Script:
        if batch.offer.anew is not None:
            note = "from the state of another view"
            return (ReplaceMain(view.name, with_visible(view.top, batch.offer.anew), view.sql, note),)
        steps: list[Step] = []
        written: set[str] = set()
        for stratum in view.strata:
            if stratum.fixpoint is None:
                steps += recomputed(stratum, view.sql)
            elif stratum.name not in written:
                steps.append(evaluate_fixpoint(stratum, view, batch))
                written |= {relation for _, relation in stratum.relations}
        return tuple(steps)


def recomputed(stratum: Stratum, sql: str) -> Script:
    """A stratum computed from all rows of its input."""
    if stratum.query is None:
        return (ReplaceMain(stratum.name, None, sql, NOTE),)
    if stratum.state is not None and stratum.state.extremes and is_linear(stratum.query):
        return _in_two_passes(stratum, stratum.state, stratum.query, sql)
    return (ReplaceMain(stratum.name, plain(stored_plan(stratum, stratum.query)), sql, NOTE),)


def _in_two_passes(stratum: Stratum, state: AggregateState, source: Relation, sql: str) -> Script:
    """Groups first: when their number is known, Spark knows how to look their rows up again."""
    totals = group_totals(state, source)
    groups = Reference(f"{stratum.name}__groups", totals.columns)
    whole = with_visible(stratum, with_holders(state, groups, source))
    return (
        Compute(groups.name, plain(totals), "the groups at the new state", counted=True),
        ReplaceMain(stratum.name, plain(whole), sql, f"{NOTE}, with the rows that hold an extreme counted"),
    )


def stored_plan(stratum: Stratum, source: Relation) -> Relation:
    """What a stratum stores, computed from all rows of its input."""
    if stratum.buffer is not None:
        return buffered(stratum.buffer, plain(source))
    return source if stratum.state is None else stored_query(stratum, source)
