"""When which view is refreshed: a pure function of what is known of the views and of the time.

A view with a target lag L, whose oldest unseen change is from c and whose refresh takes s seconds, is due at

    c + L − RESERVE · s − LOOK        so that the refresh is done before the change is older than L

Where s is longer than L no time of day would do: that is told, and the view rests for as long as it works.
After a failure a view rests longer each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from viewkeeper.catalog.freshness import Freshness

RESERVE = 1.5
"""A refresh is begun so many times its usual seconds before it must be done."""

LOOK = 0.5
"""Seconds that pass before what is due is begun."""

FIRST_REST, LONGEST_REST = 5.0, 3600.0
"""Seconds after the first failure, which double with each, and the most that they come to."""


@dataclass(frozen=True)
class Watched:
    """What is known of a view.

    `reads` are the views below it. `behind_since`: when the oldest change was made that it does not show;
    None: it shows all. `refreshed`: when it was last refreshed, or had no need to be; None before the first
    time. `seconds` is what a refresh takes. `failures` in a row, the last at `failed`.
    """

    name: str
    asks: Freshness
    reads: tuple[str, ...] = ()
    behind_since: datetime | None = None
    refreshed: datetime | None = None
    seconds: float = 0.0
    failures: int = 0
    failed: datetime | None = None


@dataclass(frozen=True)
class Due:
    """What is to be done now.

    `together` are refreshed in one commit, `apart` one by one: they failed before. `passed` had nothing to do
    when their schedule named a time. `wake`: when something is due next, as far as is known. `unmet` says of
    views why they cannot be as fresh as they ask.
    """

    together: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    wake: datetime | None = None
    unmet: Mapping[str, str] = field(default_factory=dict)


def due(now: datetime, views: Iterable[Watched]) -> Due:
    """What is due at some time, with what will be due before that is done."""
    known = with_downstream(tuple(views))
    times = {view.name: due_at(view) for view in known}
    ready = {view.name for view in known if is_due(times[view.name], now)}
    until = now + timedelta(seconds=max((v.seconds for v in known if v.name in ready), default=0.0))
    together = {view.name for view in known if ready and is_due(times[view.name], until)}
    failing = {view.name for view in known if view.failures}
    later = [time for name, time in times.items() if time is not None and name not in ready | together]
    return Due(
        tuple(v.name for v in known if v.name in together - failing),
        tuple(v.name for v in known if v.name in ready & failing),
        tuple(v.name for v in known if _has_passed(v, now)),
        min(later, default=None),
        {v.name: why for v in known if (why := unmet(v))},
    )


def is_due(time: datetime | None, now: datetime) -> bool:
    return time is not None and time <= now


def due_at(view: Watched) -> datetime | None:
    """When a view is to be refreshed; None: as things stand, not at all."""
    time = _wanted_at(view)
    if time is None or view.failed is None or not view.failures:
        return time
    return max(time, view.failed + timedelta(seconds=rest(view.failures)))


def rest(failures: int) -> float:
    """How many seconds a view is left alone after so many failures in a row."""
    return float(min(FIRST_REST * 2 ** min(failures - 1, 20), LONGEST_REST))


def _wanted_at(view: Watched) -> datetime | None:
    if not view.asks.is_asked:
        return None
    if view.refreshed is None:
        return None if view.asks.downstream and view.asks.lag is None else datetime.min.replace(tzinfo=UTC)
    if view.asks.schedule is not None:
        return view.asks.schedule.after(view.refreshed) if view.behind_since is not None else None
    if view.asks.lag is None or view.behind_since is None:
        return None
    time = view.behind_since + timedelta(seconds=max(view.asks.lag - RESERVE * view.seconds - LOOK, 0.0))
    return max(time, view.refreshed + timedelta(seconds=view.seconds)) if unmet(view) else time


def _has_passed(view: Watched, now: datetime) -> bool:
    """Whether a time of its schedule came while a view had nothing to do."""
    schedule, is_idle = view.asks.schedule, view.behind_since is None
    if schedule is None or view.refreshed is None or not is_idle:
        return False
    return schedule.after(view.refreshed) <= now


def unmet(view: Watched) -> str:
    """Why a view cannot be as fresh as it asks; nothing where it can."""
    lag = view.asks.lag
    if lag is None or view.seconds <= lag:
        return ""
    return f"A refresh takes {view.seconds:.3g} s, and the target lag is {lag:.3g} s."


def with_downstream(views: tuple[Watched, ...]) -> tuple[Watched, ...]:
    """The views, of which those that ask for DOWNSTREAM have the least lag of the views that read them."""
    known = {view.name: view for view in views}
    readers = {name: [view for view in views if name in view.reads] for name in known}

    def lag_of(view: Watched) -> float | None:
        if not view.asks.downstream:
            return view.asks.lag
        above = (lag_of(reader) for reader in readers[view.name])
        return min((lag for lag in above if lag is not None), default=None)

    return tuple(
        replace(view, asks=replace(view.asks, lag=lag_of(view))) if view.asks.downstream else view
        for view in views
    )
