"""What is known of a refresh that is under way: stage after stage adds what it finds out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.planning.planner import Choice
from viewkeeper.planning.steps import Script
from viewkeeper.refresh.anew import Anew
from viewkeeper.refresh.deltas import Deltas
from viewkeeper.report import Checked, ViewReport
from viewkeeper.spark.shared_results import SharedResults
from viewkeeper.storage.relation import RelationState
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class Task:
    """One view of a refresh, and what is known of it.

    `old` are its inputs as it last read them, `earlier` is what its last refresh told. `choice` is the way
    that is taken; there is none where nothing is to be done. `seconds` are those that were spent on it.
    """

    definition: ViewDefinition
    view: View
    old: Mapping[str, RelationState]
    earlier: Mapping[str, Any]
    batch: Batch
    rows_dropped: int = 0
    choice: Choice | None = None
    script: Script = ()
    seconds: float = 0.0
    report: ViewReport | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_first(self) -> bool:
        """Whether the view was never filled."""
        return self.definition.position is None

    @property
    def is_redefined(self) -> bool:
        """Whether the rows of the view are those of an earlier definition."""
        return self.view.before is not None

    @property
    def is_idle(self) -> bool:
        return not (self.is_first or self.is_redefined or self.batch.changes)


@dataclass(frozen=True)
class RefreshState:
    """Some views of a refresh, what was asked for, and what is known so far.

    `asked` names views; None: the stale ones. `is_lenient`: a strict view that no strategy can maintain is no
    error. `started` is called with the name of each view that is worked on.
    """

    work: Workspace
    draft: Draft
    policy: str | None = None
    asked: tuple[str, ...] | None = None
    use_lattice: bool = True
    check: float | None = None
    is_lenient: bool = False
    started: Callable[[str], None] = lambda name: None
    views: tuple[ViewDefinition, ...] = ()
    taken_over: frozenset[str] = frozenset()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    deltas: Deltas = field(default_factory=Deltas)
    anew: Anew = field(default_factory=Anew)
    shared: SharedResults = field(default_factory=SharedResults)
    reports: tuple[ViewReport, ...] = ()
    checked: tuple[Checked, ...] = ()

    @property
    def changed(self) -> tuple[ViewDefinition, ...]:
        """The views that got other rows, as the draft has them."""
        return tuple(self.draft.catalog.views[one.view] for one in self.reports if one.strategy != "none")

    def policy_of(self, view: ViewDefinition) -> str:
        policy = self.policy or view.policy
        return "incremental" if self.is_lenient and policy == "strict" else policy

    def is_over_tables(self, view: ViewDefinition) -> bool:
        return not any(table in self.draft.catalog.views for table in view.tables)

    def through_tables(self) -> list[Task]:
        """The views that go through changes of base tables, and of nothing else."""
        return [
            task
            for task in self.tasks.values()
            if task.batch.changes
            and not (task.is_first or task.is_redefined)
            and self.policy_of(task.definition) != "full"
            and self.is_over_tables(task.definition)
        ]

    def of(self, views: Iterable[ViewDefinition]) -> RefreshState:
        """The same for some of the views."""
        chosen = tuple(views)
        tasks = {view.name: self.tasks[view.name] for view in chosen if view.name in self.tasks}
        return replace(self, views=chosen, tasks=tasks)

    def with_tasks(self, tasks: Iterable[Task]) -> RefreshState:
        return replace(self, tasks={**self.tasks, **{task.name: task for task in tasks}})

    def each(self, step: Callable[[Task], Task]) -> RefreshState:
        """The same after a step of each view that there is something to do for."""
        busy = [task for task in self.tasks.values() if self.policy == "full" or not task.is_idle]
        return self.with_tasks(_timed(step, task) for task in busy)


Stage = Callable[[RefreshState], RefreshState]


def through(stages: Iterable[Stage], state: RefreshState) -> RefreshState:
    """What is known after some stages."""
    for stage in stages:
        state = stage(state)
    return state


def _timed(step: Callable[[Task], Task], task: Task) -> Task:
    started = time.perf_counter()
    done = step(task)
    return replace(done, seconds=done.seconds + time.perf_counter() - started)
