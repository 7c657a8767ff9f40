"""Recomputation: the view's query over the new state. Always right, and the rival of the others."""

from __future__ import annotations

from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.planning.steps import ReplaceMain, Script
from viewkeeper.report import Reason


class Recompute:
    """V ← Q(NEW), for the view and for all state that belongs to it."""

    name = "recompute"

    def refuse(self, view: View, batch: Batch) -> Reason | None:
        return None

    def state(self, view: View) -> tuple[Stratum, ...]:
        return ()

    def plan(self, view: View, batch: Batch) -> Script:
        return tuple(ReplaceMain(s.name, s.query, view.sql, "Q at the new state") for s in view.strata)
