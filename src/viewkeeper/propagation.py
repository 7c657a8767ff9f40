"""Propagate apart from refresh: mumick97 section 3, the two halves of maintenance.

    propagate   computes summary-deltas and stores them as layers that no reader sees
    refresh     takes them over: the layers become part of the views, in one commit

What was propagated is the view's next state, under a name of its own, and the version of the base tables
that it is for. It is of use only on top of the very state that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft, propagated_name
from viewkeeper.storage.relation import RelationState


def take_over(draft: Draft, definitions: Iterable[ViewDefinition]) -> frozenset[str]:
    """Puts what was propagated in the place of the views' states; names the views that it was there for."""
    taken = set()
    for definition in definitions:
        pending = draft.relations.pop(propagated_name(definition.name), None)
        if definition.propagated is None:
            continue
        current = replace(definition, propagated=None)
        if pending is not None and _follows(draft.relations[definition.name], pending):
            draft.put(definition.name, pending)
            current = replace(current, position=definition.propagated, published=draft.version)
            taken.add(definition.name)
        draft.put_view(current)
    return frozenset(taken)


def _follows(current: RelationState, pending: RelationState) -> bool:
    """Whether nothing has happened to a view since its next state was made."""
    same_main = (current.folder, current.main_version) == (pending.folder, pending.main_version)
    return (
        same_main
        and pending.overlay[: len(current.overlay)] == current.overlay
        and pending.log[: len(current.log)] == current.log
    )


def set_aside(draft: Draft) -> None:
    """Makes the new states of views pending: readers go on to see what the draft's base shows."""
    for name, view in draft.base.catalog.views.items():
        new = draft.catalog.views[name]
        if new.published != draft.version:
            continue
        draft.put(propagated_name(name), draft.relations[name])
        draft.put(name, draft.base.relations[name])
        draft.put_view(replace(view, propagated=new.position))
