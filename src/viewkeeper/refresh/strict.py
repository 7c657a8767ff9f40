"""Strict views that no strategy can maintain fail before any work is done for them or for others."""

from __future__ import annotations

from viewkeeper.planning.planner import require_strategy
from viewkeeper.refresh.batches import batch_of, inputs_seen
from viewkeeper.refresh.state import RefreshState
from viewkeeper.views import compiled


def strict(state: RefreshState) -> RefreshState:
    """Adds nothing, and fails where a strict view cannot be maintained.

    What a view that is not refreshed yet will hand on is not known here: it is asked again when it is.
    """
    log, draft = state.work.log, state.draft
    for view in state.views:
        if state.policy_of(view) != "strict" or view.name in draft.redefined or view.position is None:
            continue
        batch = batch_of(draft, view, inputs_seen(log, view))
        if batch.changes or not state.is_over_tables(view):
            require_strategy(compiled(view, draft.catalog), batch)
    return state
