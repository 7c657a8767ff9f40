"""Whether a choice was right: every strategy that could refresh a view is run, and timed.

Each runs on a draft of its own that nobody publishes, so the warehouse stays as it is; vacuum removes the
files. Where the view is fresh, its last refresh is repeated, from the version before it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from viewkeeper.catalog.catalog import ViewDefinition, view_named
from viewkeeper.inspect.status import history
from viewkeeper.planning.cost import Estimate
from viewkeeper.planning.planner import Alternative
from viewkeeper.refresh.batches import batches
from viewkeeper.refresh.choose import choose
from viewkeeper.refresh.fresh_keys import fresh_keys
from viewkeeper.refresh.life import computed
from viewkeeper.refresh.net import forget, net
from viewkeeper.refresh.run import execution_of
from viewkeeper.refresh.state import RefreshState, Request, Stage, through
from viewkeeper.refresh.task import Task
from viewkeeper.seen import changes_of
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
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


STAGES: tuple[Stage, ...] = (net, batches, fresh_keys, choose)
"""The view by itself: whatever it might share, or take from others, is the same for all strategies."""


def measured(work: Workspace, name: str, repeat: int = 1) -> Measurement | None:
    """Runs every strategy that could refresh the view; None where no retained version has a batch for it.

    They run in turn, `repeat` times, and the medians are told.
    """
    latest = work.log.latest()
    view = view_named(latest.catalog, name)
    before = _before_last_refresh(work, latest, view)
    if before is None:
        return None
    ready = Draft(before, "measure")
    try:
        return _measured(work, before.catalog.views[view.name], ready, repeat)
    finally:
        forget(work, ready)


def _measured(work: Workspace, definition: ViewDefinition, ready: Draft, repeat: int) -> Measurement | None:
    before = ready.base
    read = tuple(table for table in definition.tables if table in before.catalog.views)
    computed(RefreshState(work, ready, Request(read)))
    state = through(STAGES, RefreshState(work, ready, views=(definition,)))
    task = state.tasks[definition.name]
    if task.is_first or task.choice is None:
        return None
    ways = task.choice.alternatives
    rounds = [[_run(state, task, one) for one in ways] for _ in range(repeat)]
    results = [
        Measured(one.strategy.name, one.expected, task.seconds + median(times), one is task.choice.taken)
        for one, times in zip(ways, zip(*rounds, strict=True), strict=True)
    ]
    return Measurement(definition.name, before.version, task.seconds, tuple(results))


def _before_last_refresh(work: Workspace, latest: Entry, view: ViewDefinition) -> Entry | None:
    """The state in which the view has a batch to go through: now, or before its last refresh."""
    if changes_of(work.log, Draft(latest, ""), view):
        return latest
    refreshed = [
        entry.version
        for entry in history(work.log, view.name)
        if entry.report and entry.report["strategy"] != "none" and entry.operation == "refresh"
    ]
    versions = work.log.versions()
    return work.log.entry(refreshed[-1] - 1) if refreshed and refreshed[-1] - 1 in versions else None


def _run(state: RefreshState, task: Task, way: Alternative) -> float:
    """Seconds that a script takes on a draft of its own."""
    draft = Draft(state.draft.base, "measure")
    draft.relations, draft.net = dict(state.draft.relations), state.draft.net
    started = time.perf_counter()
    with state.work.under(task.definition), state.work.engine.keeping():
        execution_of(replace(state, draft=draft), task, way).run(way.script)
    return time.perf_counter() - started
