"""Which way each view takes: the cheapest that its policy allows (`planning/planner.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viewkeeper.planning import planner
from viewkeeper.planning.calibration import Calibration
from viewkeeper.refresh.renew import STATE_CHANGED
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.report import Reason

FIRST_FILL = Reason("first-fill", "The view is filled for the first time.")

LEARNED = "learned"
"""In the report on a view: how far the model was off."""


def choose(state: RefreshState) -> RefreshState:
    """Adds the choice, and the script of what is chosen: the one that is shared, run and told."""

    def step(task: Task) -> Task:
        return chosen(task, "full" if task.is_first else state.policy_of(task), task.name in state.renewed)

    return state.each(step)


def chosen(task: Task, policy: str, is_renewed: bool = False) -> Task:
    """One view with its choice; `is_renewed`: its state was of another form."""
    batch = replace(task.batch, may_recompute=policy == "auto")
    choice = planner.choose(task.view, batch, policy, learned(task.earlier))
    if task.is_first:
        choice = replace(choice, reason=STATE_CHANGED if is_renewed else FIRST_FILL)
    return replace(task, batch=batch, choice=choice, script=choice.taken.script)


def was_maintained(earlier: Mapping[str, Any]) -> bool:
    """Whether the last refresh of a view had something to do, and was not the first fill."""
    return "estimate" in earlier and bool(earlier.get(LEARNED))


def learned(earlier: Mapping[str, Any]) -> Calibration:
    """What the refreshes of a view have taught so far: the report of the last one tells."""
    return Calibration(earlier.get(LEARNED, {}))
