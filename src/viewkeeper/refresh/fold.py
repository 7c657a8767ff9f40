"""Folding the layers of views that have grown too many (`storage/compaction.py` says when)."""

from __future__ import annotations

from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.together import SIDE_BY_SIDE, by_settings
from viewkeeper.side_by_side import workers
from viewkeeper.spark import stored_relations


def fold(state: RefreshState) -> RefreshState:
    """Adds nothing to what is known; the draft has fewer layers of the views that changed."""
    work, draft = state.work, state.draft
    for views in by_settings([task.definition for task in state.changed]):
        names = [name for v in views for name in (*v.state, v.name) if draft.relations[name].overlay]
        with work.under(views[0]), workers(len(names), SIDE_BY_SIDE) as pool:
            list(pool.map(lambda name: stored_relations.fold(work.engine, draft, name), names))
    return state
