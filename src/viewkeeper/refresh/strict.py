"""Strict views that no strategy can maintain fail before any work is done for them or for others."""

from __future__ import annotations

from viewkeeper.planning.planner import require_strategy
from viewkeeper.refresh.state import RefreshState


def strict(state: RefreshState) -> RefreshState:
    """Adds nothing, and fails where a strict view cannot be maintained.

    What a view that is not refreshed yet will hand on is not known here: it is asked again when it is.
    """
    for task in state.tasks.values():
        is_pending = task.batch.changes or not state.is_over_tables(task)
        if state.policy_of(task) == "strict" and is_pending and not (task.is_first or task.is_redefined):
            require_strategy(task.view, task.batch)
    return state
