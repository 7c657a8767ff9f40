"""Doing what is chosen for a view, and the report on it."""

from __future__ import annotations

import time
from dataclasses import replace

from viewkeeper.maintenance.incremental import Incremental
from viewkeeper.maintenance.names import SUMMARY_DELTA, of_script
from viewkeeper.planning.planner import RECOMPUTE, Alternative, Choice
from viewkeeper.refresh.choose import LEARNED, learned
from viewkeeper.refresh.lattice import DELTA_SIZE
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.report import Reason, ViewReport
from viewkeeper.spark.execute import Execution

UNCHANGED = Reason("unchanged", "Nothing that the view reads has changed.")
IRRELEVANT = Reason("irrelevant", "No change of what the view reads can matter to it.")
PROPAGATED = Reason("propagated", "Its summary-delta was computed before; it is taken over.")

LASTING = (LEARNED, DELTA_SIZE)
"""What a report hands on from the one before it where nothing was to be done."""


def run(state: RefreshState) -> RefreshState:
    """Adds the report on each view; the draft has its new rows."""
    return state.with_tasks(_run(state, task) for task in state.tasks.values())


def _run(state: RefreshState, task: Task) -> Task:
    started, name = time.perf_counter(), task.name
    if task.choice is None:
        report = _nothing_to_do(task, name in state.taken_over)
    else:
        execution = execution_of(state, task, task.choice.taken)
        state.derivations.supply(name, execution)
        state.shared.supply(name, execution)
        execution.run(task.script)
        if name in state.derivations.members and isinstance(task.choice.strategy, Incremental):
            state.derivations.done[name] = execution
        seconds = task.seconds + time.perf_counter() - started
        report = _report(state, replace(task, seconds=seconds), task.choice, execution)
    _at_the_drafts_position(state, task)
    return replace(task, report=report)


def execution_of(state: RefreshState, task: Task, way: Alternative) -> Execution:
    """What runs the script of one way to refresh a view; it tells of each round of a recursion."""
    work, draft = state.work, state.draft
    own = {relation: draft.relations[relation] for relation in (*task.definition.state, task.name)}

    def told(line: str) -> None:
        work.progress("iterate", f"{task.name}: {line}", 0, 0)

    old = {**task.old, **own, **state.derivations.rows_before(task.name)}
    expected = way.model.rows_written

    def ready(table: str) -> None:
        state.derivations.await_rows(task.name, table)

    return Execution(work.engine, draft, old, progress=told, expected=expected, ready=ready)


def _at_the_drafts_position(state: RefreshState, task: Task) -> None:
    """The view now shows the draft's base tables; it becomes visible with the draft's entry."""
    draft = state.draft
    draft.redefined.pop(task.name, None)
    draft.put_view(replace(task.definition, position=draft.position, published=draft.version))


def _nothing_to_do(task: Task, is_taken_over: bool) -> ViewReport:
    lasting = {key: task.earlier[key] for key in LASTING if key in task.earlier}
    strategy, reason = "none", IRRELEVANT if task.rows_dropped else UNCHANGED
    if is_taken_over:
        strategy, reason = SUMMARY_DELTA, PROPAGATED
    details = {"rows_dropped": task.rows_dropped, **lasting}
    return ViewReport(task.name, strategy, reason, seconds=task.seconds, details=details)


def _report(state: RefreshState, task: Task, choice: Choice, execution: Execution) -> ViewReport:
    """What was done and why, what it was expected to cost, and what is learned from it."""
    known, name, batch = learned(task.earlier), task.name, task.batch
    now_known = (
        known if task.is_first else known.after(choice.strategy.name, choice.taken.model, task.seconds)
    )
    is_anew = choice.strategy is RECOMPUTE
    changes = 0 if is_anew else sum(change.rows for change in batch.changes.values())
    return ViewReport(
        name,
        choice.strategy.name,
        _reason(choice, execution),
        execution.rows_read,
        execution.rows_written,
        task.seconds,
        {
            "strata": _done(task, choice, execution),
            "groups_recomputed": execution.groups_recomputed,
            "steps_skipped": execution.skipped,
            "recomputed": execution.recomputed,
            "rows_dropped": task.rows_dropped,
            "parent": _parent(state, task, choice),
            "shares": state.shared.work.sharers(name),
            "fresh": [] if is_anew else [str(keys) for keys in batch.fresh],
            "reads": execution.reads,
            "steps": execution.told,
            "estimate": choice.taken.expected.to_dict(),
            "alternatives": {one.strategy.name: one.expected.to_dict() for one in choice.alternatives},
            "rejected": {strategy: reason.code for strategy, reason in choice.rejected},
            LEARNED: dict(now_known.factors),
            DELTA_SIZE: {"rows": execution.rows_written - execution.groups_recomputed, "changes": changes},
        },
    )


def _done(task: Task, choice: Choice, execution: Execution) -> dict[str, str]:
    """What was done for each stored relation of the view."""
    done = of_script(task.view, choice.taken.script)
    return done | dict.fromkeys(execution.recomputed, RECOMPUTE.name)


def _parent(state: RefreshState, task: Task, choice: Choice) -> str | None:
    """The view from which this one was computed: from its rows, or from its summary-delta."""
    if choice.strategy is RECOMPUTE:
        return state.derivations.whole(task.name)
    offer = task.batch.offer
    if offer.before is not None:
        return offer.before[0].parent.name
    return state.derivations.parent(task.name) if offer.summary is not None else None


def _reason(choice: Choice, execution: Execution) -> Reason:
    if not execution.recomputed:
        return choice.reason
    names = ", ".join(execution.recomputed)
    return Reason("recomputed-stratum", f"Most of {names} was affected, so it was evaluated from scratch.")
