"""Which views a refresh is about: those asked for, or the stale ones, and all views that they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.refresh.state import RefreshState
from viewkeeper.seen import stale_views
from viewkeeper.storage.draft import Draft


def stale(state: RefreshState) -> RefreshState:
    """Adds the views, each after the views that it reads."""
    names = state.request.names
    if names is None:
        names = stale_views(state.work.log, state.draft)
    return replace(state, views=with_ancestors(state.draft.catalog, (*names, *_changed(state.draft))))


def _changed(draft: Draft) -> tuple[str, ...]:
    """Views of which the draft has another definition: whoever asked for it, their rows must follow."""
    before = draft.base.catalog.views
    return tuple(name for name, view in draft.catalog.views.items() if before.get(name) != view)


def with_ancestors(catalog: Catalog, names: Iterable[str]) -> tuple[ViewDefinition, ...]:
    """The named views and every view that they read, in an order that can be worked through."""
    wanted: set[str] = set()

    def visit(name: str) -> None:
        if name in catalog.views and name not in wanted:
            wanted.add(name)
            for table in catalog.views[name].reads:
                visit(table)

    for name in names:
        visit(name)
    return tuple(view for view in catalog.in_order() if view.name in wanted)
