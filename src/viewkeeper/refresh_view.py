"""One view's part of a refresh: what it went through, the way that is chosen, the report on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viewkeeper.batches import batch_of, batch_since_redefined, inputs_seen, last_details, storage_of
from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.lattices import DELTA_SIZE, Deltas
from viewkeeper.maintenance.cubes import SummaryDelta
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.materialization import Anew
from viewkeeper.planning.calibration import Calibration
from viewkeeper.planning.planner import RECOMPUTE, Choice, choose
from viewkeeper.report import Reason, ViewReport
from viewkeeper.spark.execute import Execution
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
class _Task:
    """One view with what it went through; `batch` is None before its first refresh."""

    view: View
    batch: Batch | None
    old: Mapping[str, RelationState]
    redefined: bool = False

    @property
    def is_idle(self) -> bool:
        return self.batch is not None and not self.batch.changes and not self.redefined


def _task(work: Workspace, draft: Draft, definition: ViewDefinition, relevant: Batch | None) -> _Task:
    view = compiled(definition, draft.catalog)
    earlier = draft.redefined.pop(definition.name, None)
    old = inputs_seen(work.log, earlier or definition)
    if earlier is None:
        return _Task(view, relevant or batch_of(draft, definition, old), old)
    batch = batch_since_redefined(draft, earlier, definition, old)
    before = compiled(earlier, draft.base.catalog)
    return _Task(replace(view, before=before), batch, old, redefined=True)


def refresh_view(
    work: Workspace,
    draft: Draft,
    definition: ViewDefinition,
    policy: str | None,
    relevant: Batch | None,
    deltas: Deltas,
    anew: Anew,
) -> ViewReport:
    """Brings one view to the draft's state of the base tables, by the cheapest way that the policy allows."""
    started, earlier = time.perf_counter(), last_details(draft.base, work.log, definition.name)
    known = learned(earlier)
    task = _task(work, draft, definition, relevant)
    if task.is_idle and policy != "full":
        _publish_position(draft, definition)
        return _nothing_to_do(task, earlier, time.perf_counter() - started)
    batch, choice = _chosen(draft, definition, task, policy, deltas, anew, known)
    own = {name: draft.relations[name] for name in (*definition.state, definition.name)}
    execution = Execution(work.engine, draft, {**task.old, **own}, progress=_told(work, definition.name))
    deltas.supply(definition.name, execution)
    execution.run(choice.taken.script)
    if definition.name in deltas.members and isinstance(choice.strategy, SummaryDelta):
        deltas.done[definition.name] = execution
    _publish_position(draft, definition)
    parent = _parent(definition.name, batch, deltas, anew)
    return _report(definition.name, choice, execution, batch, parent, known, time.perf_counter() - started)


def _chosen(
    draft: Draft,
    definition: ViewDefinition,
    task: _Task,
    policy: str | None,
    deltas: Deltas,
    anew: Anew,
    known: Calibration,
) -> tuple[Batch, Choice]:
    """What is to be done, with what other views have computed already, and how."""
    name, policy = definition.name, policy or definition.policy
    batch = task.batch or storage_of(draft, definition, {})
    batch = _from_parent(draft, batch, name, anew)
    if task.batch is None:
        choice = choose(task.view, batch, "full", known)
        return batch, replace(choice, reason=FIRST_FILL)
    batch = replace(deltas.batch(name, batch), may_recompute=policy == "auto")
    return batch, choose(task.view, batch, policy, known)


def _from_parent(draft: Draft, batch: Batch, name: str, anew: Anew) -> Batch:
    """The batch with the view's whole state as it follows from its parent's, where it has one."""
    parent = anew.parent(name)
    if parent is None:
        return batch
    sizes = {**batch.sizes, parent: draft.relations[parent].stored_rows}
    return replace(batch, anew=anew.state(name, batch.counted), sizes=sizes)


def _nothing_to_do(task: _Task, earlier: Mapping[str, Any], seconds: float) -> ViewReport:
    assert task.batch is not None
    dropped = task.batch.rows_dropped
    details = {"rows_dropped": dropped, **{name: earlier[name] for name in LASTING if name in earlier}}
    return ViewReport(task.view.name, "none", IRRELEVANT if dropped else UNCHANGED, 0, 0, seconds, details)


def _report(
    name: str,
    choice: Choice,
    execution: Execution,
    batch: Batch,
    parent: str | None,
    known: Calibration,
    seconds: float,
) -> ViewReport:
    """What was done and why, what it was expected to cost, and what is learned from it."""
    is_first = choice.reason is FIRST_FILL
    now_known = known if is_first else known.after(choice.strategy.name, choice.taken.model, seconds)
    is_anew = choice.strategy is RECOMPUTE
    changes = 0 if is_anew else sum(change.rows for change in batch.changes.values())
    return ViewReport(
        name,
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
            "reads": execution.reads,
            "estimate": choice.taken.expected.to_dict(),
            "alternatives": {one.strategy.name: one.expected.to_dict() for one in choice.alternatives},
            "rejected": {strategy: reason.code for strategy, reason in choice.rejected},
            LEARNED: dict(now_known.factors),
            DELTA_SIZE: {"rows": execution.rows_written - execution.groups_recomputed, "changes": changes},
        },
    )


def learned(earlier: Mapping[str, Any]) -> Calibration:
    """What the refreshes of a view have taught so far: the report of the last one tells."""
    return Calibration(earlier.get(LEARNED, {}))


def _parent(name: str, batch: Batch, deltas: Deltas, anew: Anew) -> str | None:
    """The view that the lattice took this one's summary-delta, or its whole state, from."""
    if batch.anew is not None:
        return anew.parent(name)
    return deltas.parent(name) if batch.summary is not None else None


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
