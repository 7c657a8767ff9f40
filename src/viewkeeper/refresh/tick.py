"""The clocks are set: all calls of a refresh see one instant, whichever views they are in.

    clock(draft) = {as_of}        for each clock below the views that are asked for

A clock that shows the same as before, such as the date within a day, has not changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from viewkeeper.algebra.clock import Clock, is_clock
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.refresh.state import RefreshState
from viewkeeper.storage.clocks import set_clocks
from viewkeeper.storage.draft import Draft


def tick(state: RefreshState) -> RefreshState:
    """Adds nothing to what is known of views; in the draft clocks show what is asked for, or now."""
    draft, names = state.draft, state.request.names
    clocks = clocks_below(draft.catalog, draft.catalog.views if names is None else names)
    if clocks:
        instant = state.request.as_of or datetime.now(UTC)
        set_clocks(draft, clocks, instant)
        draft.report["as_of"] = instant.isoformat()
    return state


def has_ticked(draft: Draft) -> bool:
    """Whether some clock shows something else in the draft than before."""
    return any(is_clock(name) for name in draft.changed_relations())


def clocks_below(catalog: Catalog, views: Iterable[str]) -> tuple[Clock, ...]:
    """The clocks that some views read, through views that they read too."""
    below = set[str]().union(*(catalog.base_tables(catalog.views[name]) for name in views))
    found = (Clock.of(catalog.tables[name]) for name in sorted(below))
    return tuple(clock for clock in found if clock is not None)
