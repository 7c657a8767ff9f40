"""Whether a choice was right: every strategy that could refresh a view is run, and timed.

Each runs on a draft of its own that nobody publishes, so the warehouse stays as it is; vacuum removes the
files. Where the view is fresh, its last refresh is repeated, from the version before it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from viewkeeper.batches import batch_of, inputs_seen, last_details
from viewkeeper.catalog import ViewDefinition
from viewkeeper.definitions import view_named
from viewkeeper.draft import Draft
from viewkeeper.fresh import with_fresh_keys
from viewkeeper.inspection import history
from viewkeeper.planning.cost import Estimate
from viewkeeper.planning.planner import Alternative, choose
from viewkeeper.refresh import compute_views
from viewkeeper.refresh_view import learned
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.commits import Entry
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class Measured:
    """One strategy: what it was expected to cost, and what it took."""

    strategy: str
    expected: Estimate
    seconds: float
    chosen: bool


@dataclass(frozen=True)
class Measurement:
    """All strategies that could refresh a view through one batch; `planning` is what choosing took."""

    view: str
    version: int
    planning: float
    results: tuple[Measured, ...]

    @property
    def chosen(self) -> Measured:
        return next(one for one in self.results if one.chosen)

    @property
    def fastest(self) -> Measured:
        return min(self.results, key=lambda one: one.seconds)

    @property
    def ratio(self) -> float:
        """The time of the choice by that of the fastest: 1 where the choice was right."""
        return self.chosen.seconds / self.fastest.seconds

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


def measured(work: Workspace, name: str, repeat: int = 1) -> Measurement | None:
    """Runs every strategy that could refresh the view; None where no retained version has a batch for it.

    They run in turn, `repeat` times, and the medians are told.
    """
    latest = work.log.latest()
    view = view_named(latest.catalog, name)
    before = _before_last_refresh(work, latest, view)
    if before is None:
        return None
    definition = before.catalog.views[view.name]
    ready = Draft(before, "measure")
    above = [table for table in definition.tables if table in before.catalog.views]
    compute_views(work, ready, above, None)
    old = inputs_seen(work.log, definition)
    batch = batch_of(ready, definition, old)
    if batch is None or not batch.changes:
        return None
    started = time.perf_counter()
    batch = with_fresh_keys(work.engine, ready, old, batch)
    known = learned(last_details(before, work.log, definition.name))
    choice = choose(compiled(definition, before.catalog), batch, definition.policy, known)
    planning = time.perf_counter() - started
    rounds = [[_run(work, ready, definition, one) for one in choice.alternatives] for _ in range(repeat)]
    results = [
        Measured(one.strategy.name, one.expected, planning + median(times), one is choice.taken)
        for one, times in zip(choice.alternatives, zip(*rounds, strict=True), strict=True)
    ]
    return Measurement(view.name, before.version, planning, tuple(results))


def _before_last_refresh(work: Workspace, latest: Entry, view: ViewDefinition) -> Entry | None:
    """The state in which the view has a batch to go through: now, or before its last refresh."""
    batch = batch_of(Draft(latest, ""), view, inputs_seen(work.log, view))
    if batch is not None and batch.changes:
        return latest
    refreshed = [
        entry.version
        for entry in history(work, view.name)
        if entry.report and entry.report["strategy"] != "none" and entry.operation == "refresh"
    ]
    versions = work.log.versions()
    return work.log.entry(refreshed[-1] - 1) if refreshed and refreshed[-1] - 1 in versions else None


def _run(work: Workspace, ready: Draft, definition: ViewDefinition, one: Alternative) -> float:
    """Seconds that a script takes on a draft of its own."""
    draft = Draft(ready.base, "measure")
    draft.relations = dict(ready.relations)
    own = {name: draft.relations[name] for name in (*definition.state, definition.name)}
    old = inputs_seen(work.log, definition)
    started = time.perf_counter()
    with work.under(definition), work.engine.keeping():
        expected = one.model.rows_written
        Execution(work.engine, draft, {**old, **own}, expected=expected).run(one.script)
    return time.perf_counter() - started
