"""Recomputation: the view's query over the new state. Always right, and the rival of the others."""

from __future__ import annotations

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.program import stored_query, with_visible
from viewkeeper.maintenance.recursive_strata import evaluate_fixpoint
from viewkeeper.maintenance.strategy import Batch, Stratum, View, bound
from viewkeeper.maintenance.top_k import buffered
from viewkeeper.planning.steps import ReplaceMain, Script, Step
from viewkeeper.report import Reason


class Recompute:
    """V ← Q(NEW), for the view and for all state that belongs to it."""

    name = "recompute"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return None

    def state(self, view: View) -> tuple[Stratum, ...]:
        return ()

    def plan(self, view: View, batch: Batch) -> Script:
        if batch.anew is not None:
            note = "from the state of another view"
            return (ReplaceMain(view.name, with_visible(view.top, batch.anew), view.sql, note),)
        steps: list[Step] = []
        written: set[str] = set()
        for stratum in view.strata:
            if stratum.fixpoint is None:
                steps.append(recomputed(stratum, view.sql, batch.counted))
            elif stratum.name not in written:
                steps.append(evaluate_fixpoint(stratum, view, batch))
                written |= {relation for _, relation in stratum.relations}
        return tuple(steps)


def recomputed(stratum: Stratum, sql: str, counted: frozenset[str]) -> ReplaceMain:
    """A stratum computed from all rows of its input."""
    if stratum.query is None:
        return ReplaceMain(stratum.name, None, sql, "Q at the new state")
    source = bound(stratum.query, counted)
    return ReplaceMain(stratum.name, plain(_stored(stratum, source)), sql, "Q at the new state")


def _stored(stratum: Stratum, source: Relation) -> Relation:
    """What a stratum stores, computed from all rows of its input."""
    if stratum.buffer is not None:
        return buffered(stratum.buffer, plain(source))
    return source if stratum.state is None else stored_query(stratum, source)
