"""Views whose state another version stored in another form are made anew, once."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.ddl.redefinition import is_outdated, renewed
from viewkeeper.errors import CannotMaintain
from viewkeeper.refresh.state import RefreshState
from viewkeeper.report import Reason

STATE_CHANGED = Reason(
    "state-changed", "Another version stored other state for it; it is computed anew once."
)


def renew(state: RefreshState) -> RefreshState:
    """Empties views whose state has not the form that is asked for now; adds which ones."""
    draft = state.draft
    stored = (view for view in state.views if view.name not in draft.redefined)
    found = [view for view in stored if is_outdated(view, draft.catalog, draft.relations)]
    for view in found:
        if state.request.policy_of(view) == "strict":
            raise CannotMaintain(
                f"{view.name} cannot be maintained incrementally.",
                "Its state was stored by another version, which kept other columns.",
                'Run refresh(policy="full") once; it writes the state that is asked for now.',
                view=view.name,
                code=STATE_CHANGED.code,
            )
        renewed(state.work, draft, view)
    views = tuple(draft.catalog.views[view.name] for view in state.views)
    return replace(state, views=views, renewed=frozenset(view.name for view in found))
