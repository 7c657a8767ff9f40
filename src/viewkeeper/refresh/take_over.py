"""Propagate apart from refresh: mumick97 section 3, the two halves of maintenance.

    propagate   computes summary-deltas and stores them as layers that no reader sees
    refresh     takes them over: the layers become part of the views, in one commit

What was propagated is the view's next state, under a name of its own, and the version of the base tables
that it is for. It is of use only on top of the very state that it was made from.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.refresh.state import RefreshState
from viewkeeper.storage.draft import propagated_name
from viewkeeper.storage.relation import RelationState


def take_over(state: RefreshState) -> RefreshState:
    """Puts what was propagated in the place of the views' states; adds the views that it was there for."""
    if state.request.policy == "full":
        return state
    draft, taken = state.draft, set()
    for definition in state.views:
        names = (*definition.state, definition.name)
        pending = {name: draft.relations.pop(propagated_name(name), None) for name in names}
        if definition.propagated is None:
            continue
        current = replace(definition, propagated=None)
        following = {n: new for n, new in pending.items() if new and _follows(draft.relations[n], new)}
        if len(following) == len(names):
            draft.relations.update(following)
            current = replace(current, position=definition.propagated, published=draft.version)
            taken.add(definition.name)
        draft.put_view(current)
    views = tuple(draft.catalog.views[view.name] for view in state.views)
    return replace(state, views=views, taken_over=frozenset(taken))


def _follows(current: RelationState, pending: RelationState) -> bool:
    """Whether nothing has happened to a relation since its next state was made."""
    same_main = (current.folder, current.main_version) == (pending.folder, pending.main_version)
    return (
        same_main
        and pending.overlay[: len(current.overlay)] == current.overlay
        and pending.log[: len(current.log)] == current.log
    )


def set_aside(state: RefreshState) -> RefreshState:
    """Makes the new states of views pending: readers go on to see what the draft's base shows."""
    draft = state.draft
    for name, view in draft.base.catalog.views.items():
        new = draft.catalog.views[name]
        if new.published != draft.version:
            continue
        for relation in (*view.state, name):
            draft.put(propagated_name(relation), draft.relations[relation])
            draft.put(relation, draft.base.relations[relation])
        draft.put_view(replace(view, propagated=new.position))
    return state
