"""One view's part of a refresh: what it went through, the way that is chosen, doing it, the report on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viewkeeper.batches import batch_of, batch_since_redefined, inputs_seen, last_details, storage_of
from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.fresh import with_fresh_keys
from viewkeeper.lattices import DELTA_SIZE, Deltas
from viewkeeper.maintenance.cubes import SummaryDelta
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.materialization import Anew
from viewkeeper.planning.calibration import Calibration
from viewkeeper.planning.planner import RECOMPUTE, Choice, choose
from viewkeeper.planning.steps import Script
from viewkeeper.report import Reason, ViewReport
from viewkeeper.spark.execute import Execution
from viewkeeper.spark.shared_results import SharedResults
from viewkeeper.storage.relation import RelationState
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

UNCHANGED = Reason("unchanged", "Nothing that the view reads has changed.")
FIRST_FILL = Reason("first-fill", "The view is filled for the first time.")
IRRELEVANT = Reason("irrelevant", "No change of what the view reads can matter to it.")


LEARNED = "learned"
"""In the report on a view: how far the model was off."""

LASTING = (LEARNED, DELTA_SIZE)
"""What a report hands on from the one before it where nothing was to be done."""


@dataclass(frozen=True)
class Refresh:
    """What a refresh knows before it comes to its views: their batches without changes that cannot matter,
    and what they take from each other along the lattice."""

    work: Workspace
    draft: Draft
    policy: str | None
    relevant: Mapping[str, Batch]
    deltas: Deltas
    anew: Anew


@dataclass(frozen=True)
class _Task:
    """One view with what it went through; `batch` is None before its first refresh."""

    view: View
    batch: Batch | None
    old: Mapping[str, RelationState]
    redefined: bool = False

    @property
    def is_idle(self) -> bool:
        return self.batch is not None and not self.batch.changes and not self.redefined


@dataclass(frozen=True)
class Planned:
    """One view, and the way that is chosen for it; none where nothing is to be done."""

    definition: ViewDefinition
    task: _Task
    earlier: Mapping[str, Any]
    seconds: float
    batch: Batch | None = None
    choice: Choice | None = None
    script: Script = ()

    @property
    def may_share(self) -> bool:
        """Whether its script goes from one state of its inputs to another, as those of other views do."""
        return self.choice is not None and self.task.batch is not None and not self.task.redefined


def _task(refresh: Refresh, definition: ViewDefinition) -> _Task:
    log, draft = refresh.work.log, refresh.draft
    view = compiled(definition, draft.catalog)
    earlier = draft.redefined.pop(definition.name, None)
    old = inputs_seen(log, earlier or definition)
    if earlier is None:
        relevant = refresh.relevant.get(definition.name)
        return _Task(view, relevant or batch_of(draft, definition, old), old)
    batch = batch_since_redefined(draft, earlier, definition, old)
    before = compiled(earlier, draft.base.catalog)
    return _Task(replace(view, before=before), batch, old, redefined=True)


def plan_view(refresh: Refresh, definition: ViewDefinition) -> Planned:
    """The cheapest way that the policy allows to bring a view to the draft's state of the base tables."""
    started = time.perf_counter()
    earlier = last_details(refresh.draft.base, refresh.work.log, definition.name)
    task = _task(refresh, definition)
    if task.is_idle and refresh.policy != "full":
        return Planned(definition, task, earlier, time.perf_counter() - started)
    batch, choice = _chosen(refresh, definition, task, learned(earlier))
    seconds = time.perf_counter() - started
    return Planned(definition, task, earlier, seconds, batch, choice, choice.taken.script)


def run_view(refresh: Refresh, planned: Planned, shared: SharedResults) -> ViewReport:
    """Does what is planned for a view; what other views compute as well is taken from them."""
    started, name, draft = time.perf_counter(), planned.definition.name, refresh.draft
    if planned.choice is None or planned.batch is None:
        _publish_position(draft, planned.definition)
        return _nothing_to_do(planned)
    own = {relation: draft.relations[relation] for relation in (*planned.definition.state, name)}
    old = {**planned.task.old, **own}
    expected = planned.choice.taken.model.rows_written
    execution = Execution(
        refresh.work.engine, draft, old, progress=_told(refresh.work, name), expected=expected
    )
    refresh.deltas.supply(name, execution)
    shared.supply(name, execution)
    execution.run(planned.script)
    if name in refresh.deltas.members and isinstance(planned.choice.strategy, SummaryDelta):
        refresh.deltas.done[name] = execution
    _publish_position(draft, planned.definition)
    seconds = planned.seconds + time.perf_counter() - started
    parent = _parent(name, planned.batch, refresh)
    return _report(
        planned, planned.choice, planned.batch, execution, parent, shared.work.sharers(name), seconds
    )


def _chosen(
    refresh: Refresh, definition: ViewDefinition, task: _Task, known: Calibration
) -> tuple[Batch, Choice]:
    """What is to be done, with what other views have computed already, and how."""
    name, policy = definition.name, refresh.policy or definition.policy
    batch = task.batch or storage_of(refresh.draft, definition, {})
    batch = _from_parent(refresh.draft, batch, name, refresh.anew)
    if task.batch is None:
        choice = choose(task.view, batch, "full", known)
        return batch, replace(choice, reason=FIRST_FILL)
    batch = replace(refresh.deltas.batch(name, batch), may_recompute=policy == "auto")
    if policy != "full":
        batch = with_fresh_keys(refresh.work.engine, refresh.draft, task.old, batch)
    return batch, choose(task.view, batch, policy, known)


def _from_parent(draft: Draft, batch: Batch, name: str, anew: Anew) -> Batch:
    """The batch with the view's whole state as it follows from its parent's, where it has one."""
    parent = anew.parent(name)
    if parent is None:
        return batch
    sizes = {**batch.sizes, parent: draft.relations[parent].stored_rows}
    return replace(batch, anew=anew.state(name, batch.counted), sizes=sizes)


def _nothing_to_do(planned: Planned) -> ViewReport:
    name, batch = planned.definition.name, planned.task.batch
    dropped = batch.rows_dropped if batch is not None else 0
    lasting = {key: planned.earlier[key] for key in LASTING if key in planned.earlier}
    reason = IRRELEVANT if dropped else UNCHANGED
    return ViewReport(name, "none", reason, 0, 0, planned.seconds, {"rows_dropped": dropped, **lasting})


def _report(
    planned: Planned,
    choice: Choice,
    batch: Batch,
    execution: Execution,
    parent: str | None,
    shares: Mapping[str, list[str]],
    seconds: float,
) -> ViewReport:
    """What was done and why, what it was expected to cost, and what is learned from it."""
    known, is_first = learned(planned.earlier), choice.reason is FIRST_FILL
    now_known = known if is_first else known.after(choice.strategy.name, choice.taken.model, seconds)
    is_anew = choice.strategy is RECOMPUTE
    changes = 0 if is_anew else sum(change.rows for change in batch.changes.values())
    return ViewReport(
        planned.definition.name,
        choice.strategy.name,
        _reason(choice, execution),
        execution.rows_read,
        execution.rows_written,
        seconds,
        {
            "groups_recomputed": execution.groups_recomputed,
            "steps_skipped": execution.skipped,
            "recomputed": execution.recomputed,
            "rows_dropped": batch.rows_dropped,
            "parent": parent,
            "shares": shares,
            "fresh": [] if is_anew else [str(keys) for keys in batch.fresh],
            "reads": execution.reads,
            "estimate": choice.taken.expected.to_dict(),
            "alternatives": {one.strategy.name: one.expected.to_dict() for one in choice.alternatives},
            "rejected": {strategy: reason.code for strategy, reason in choice.rejected},
            LEARNED: dict(now_known.factors),
            DELTA_SIZE: {"rows": execution.rows_written - execution.groups_recomputed, "changes": changes},
        },
    )


def was_maintained(earlier: Mapping[str, Any]) -> bool:
    """Whether the last refresh of a view had something to do, and was not the first fill."""
    return "estimate" in earlier and bool(earlier.get(LEARNED))


def learned(earlier: Mapping[str, Any]) -> Calibration:
    """What the refreshes of a view have taught so far: the report of the last one tells."""
    return Calibration(earlier.get(LEARNED, {}))


def _parent(name: str, batch: Batch, refresh: Refresh) -> str | None:
    """The view that the lattice took this one's summary-delta, or its whole state, from."""
    if batch.anew is not None:
        return refresh.anew.parent(name)
    return refresh.deltas.parent(name) if batch.summary is not None else None


def _told(work: Workspace, view: str) -> Callable[[str], None]:
    """One line of progress per round of a recursion."""
    return lambda line: work.progress("iterate", f"{view}: {line}", 0, 0)


def _reason(choice: Choice, execution: Execution) -> Reason:
    if not execution.recomputed:
        return choice.reason
    names = ", ".join(execution.recomputed)
    return Reason("recomputed-stratum", f"Most of {names} was affected, so it was evaluated from scratch.")


def _publish_position(draft: Draft, definition: ViewDefinition) -> None:
    """The view now shows the draft's base tables; it becomes visible with the draft's entry."""
    view = replace(definition, position=draft.position, published=draft.version)
    draft.put_view(view)
