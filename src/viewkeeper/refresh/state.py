"""A refresh that is under way: what was asked for, and what is known of its views so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.refresh.derivations import Derivations
from viewkeeper.refresh.task import Task
from viewkeeper.report import ViewReport
from viewkeeper.spark.shared_results import SharedResults
from viewkeeper.storage.draft import Draft
from viewkeeper.tracing import span
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class Request:
    """What is asked of a refresh.

    `names` are those of views; None: the stale ones. `check` is the share of each view that is compared with
    its text. `is_lenient`: a strict view that no strategy can maintain is no error. `at` says which versions
    of followed tables are wanted, where not the newest, and `as_of` what time it is, where not now.
    """

    names: tuple[str, ...] | None = None
    policy: str | None = None
    use_lattice: bool = True
    check: float | None = None
    is_lenient: bool = False
    at: tuple[tuple[str, int], ...] = ()
    as_of: datetime | None = None

    def policy_of(self, view: ViewDefinition) -> str:
        policy = self.policy or view.policy
        return "incremental" if self.is_lenient and policy == "strict" else policy


@dataclass(frozen=True)
class RefreshState:
    """Some views of a refresh, each after the views that it reads, and what stages have found out.

    `renewed`: the state of these views was of another form. `taken_over`: what was propagated has become part
    of these views. `derivations` say what views take from each other, `shared` what several scripts do.
    """

    work: Workspace
    draft: Draft
    request: Request = field(default_factory=Request)
    views: tuple[ViewDefinition, ...] = ()
    renewed: frozenset[str] = frozenset()
    taken_over: frozenset[str] = frozenset()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    derivations: Derivations = field(default_factory=Derivations)
    shared: SharedResults = field(default_factory=SharedResults)

    @property
    def changed(self) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks.values() if task.is_changed)

    @property
    def reports(self) -> tuple[ViewReport, ...]:
        return tuple(task.report for task in self.tasks.values() if task.report is not None)

    def policy_of(self, task: Task) -> str:
        return self.request.policy_of(task.definition)

    def is_over_tables(self, task: Task) -> bool:
        return not any(table in self.draft.catalog.views for table in task.definition.tables)

    def through_tables(self) -> list[Task]:
        """The views that go through changes of base tables, and of nothing else."""
        return [
            task
            for task in self.tasks.values()
            if task.batch.changes
            and not (task.is_first or task.is_redefined)
            and self.policy_of(task) != "full"
            and self.is_over_tables(task)
        ]

    def of(self, views: Iterable[ViewDefinition]) -> RefreshState:
        """The same for some of the views."""
        chosen = tuple(views)
        return replace(self, views=chosen, tasks={view.name: self.tasks[view.name] for view in chosen})

    def with_tasks(self, tasks: Iterable[Task]) -> RefreshState:
        return replace(self, tasks={**self.tasks, **{task.name: task for task in tasks}})

    def each(self, step: Callable[[Task], Task]) -> RefreshState:
        """The same after a step of each view that there is something to do for."""
        busy = [task for task in self.tasks.values() if self.request.policy == "full" or not task.is_idle]
        return self.with_tasks(_timed(step, task) for task in busy)


Stage = Callable[[RefreshState], RefreshState]


def through(stages: Iterable[Stage], state: RefreshState) -> RefreshState:
    """What is known after some stages."""
    for stage in stages:
        with span("viewkeeper.stage", stage=stage.__name__, views=len(state.views)):
            state = stage(state)
    return state


def _timed(step: Callable[[Task], Task], task: Task) -> Task:
    started = time.perf_counter()
    done = step(task)
    return replace(done, seconds=done.seconds + time.perf_counter() - started)
