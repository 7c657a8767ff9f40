"""Summary-delta maintenance: mumick97 sections 3 to 5, for generalized cube views.

    propagate   sd_v = γ(prepare-changes), or an edge query over the summary-delta of a parent in the lattice
    refresh     sd_v is appended as a layer; groups whose extreme was lost are computed anew

The state, the summary-delta and its merge are those of every aggregate (`delta/aggregate_state.py`). What the
lattice adds is where the summary-delta comes from: `Batch.summary` holds its plan where a parent has one.
"""

from __future__ import annotations

from viewkeeper.maintenance.aggregates import append_summary
from viewkeeper.maintenance.counting import maintained, no_plan, redefined, replaced_input
from viewkeeper.maintenance.lattice.cube_view import Refusal
from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.planning.steps import Script
from viewkeeper.report import Reason

NOT_A_CUBE = "not-a-cube-view"


class SummaryDelta:
    """One row per group that the changes touch, merged into the summary."""

    name = "summary-delta"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        if view.summary is None or isinstance(view.summary, Refusal):
            why = view.summary.sentence if isinstance(view.summary, Refusal) else "its SQL has no plan"
            return Reason(NOT_A_CUBE, f"The view is no generalized cube view: {why}.")
        if view.before is not None:
            return redefined(view) or Reason(NOT_A_CUBE, "The view's definition has changed.")
        return no_plan(view) or replaced_input(batch)

    def state(self, view: View) -> tuple[Stratum, ...]:
        return view.strata[:-1]

    def plan(self, view: View, batch: Batch) -> Script:
        if batch.summary is None:
            return maintained(view, batch)
        return tuple(append_summary(view.top, batch.summary, batch.changed, batch, ()))
