"""What the scheduler knows of each view: read from the log, and from what the service has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from viewkeeper.algebra.clock import Clock
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.catalog.freshness import freshness
from viewkeeper.errors import ViewkeeperError
from viewkeeper.inspect.status import behind_since, clock_changes, written_at
from viewkeeper.seen import stale_views
from viewkeeper.serve.schedule import Watched
from viewkeeper.storage.clocks import changed_since, shown
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.known import versions_behind

SMOOTH = 0.5
"""Of a new measurement in what a refresh is expected to take."""


@dataclass
class Seen:
    """What a service has seen of a view since it began."""

    seconds: float | None = None
    checked: datetime | None = None
    failures: int = 0
    failed: datetime | None = None
    total_failures: int = 0

    def took(self, seconds: float) -> None:
        known = self.seconds
        self.seconds = seconds if known is None else SMOOTH * seconds + (1 - SMOOTH) * known
        self.failures, self.failed = 0, None

    def failed_at(self, now: datetime) -> None:
        self.failures, self.failed = self.failures + 1, now
        self.total_failures += 1


def watched(
    log: WarehouseLog, entry: Entry, now: datetime, seen: Mapping[str, Seen], news: Mapping[str, datetime]
) -> list[Watched]:
    """Every view; `news` says since when followed tables have versions that are not recorded."""
    stale = set(stale_views(log, Draft(entry, "")))
    return [_watched(log, entry, view, now, seen, news, stale) for view in entry.catalog.in_order()]


def _watched(
    log: WarehouseLog,
    entry: Entry,
    view: ViewDefinition,
    now: datetime,
    seen: Mapping[str, Seen],
    news: Mapping[str, datetime],
    stale: Iterable[str],
) -> Watched:
    own = seen.get(view.name, Seen())
    since = [news[table] for table in entry.catalog.base_tables(view) if table in news]
    done = written_at(log, view.published) if view.published is not None else None
    if view.name in stale and view.position is not None:
        since.append(behind_since(log, entry, view) or done or now)
    if (ticked := clock_changes(entry, view, now)) is not None and ticked <= now:
        since.append(ticked)
    times = [time for time in (done, own.checked) if time is not None]
    return Watched(
        view.name,
        freshness(view.properties),
        tuple(name for name in view.reads if name in entry.catalog.views),
        min(since, default=None),
        max(times, default=None) if view.position is not None else None,
        own.seconds if own.seconds is not None else _told_seconds(log, view),
        own.failures,
        own.failed,
    )


def _told_seconds(log: WarehouseLog, view: ViewDefinition) -> float:
    """What the last refresh of a view took, as its report tells."""
    try:
        report = log.entry(view.published).report_on(view.name) if view.published else None
    except ViewkeeperError:
        return 0.0
    return float(report["seconds"]) if report else 0.0


def followed_news(entry: Entry, now: datetime, known: Mapping[str, datetime]) -> dict[str, datetime]:
    """Since when each followed table has versions that are not recorded, as far as that was seen, and clocks
    show something else; one that cannot be read has none: its views say why when they are refreshed."""
    found = {}
    for name, schema in entry.catalog.tables.items():
        state, clock = entry.relations[name], Clock.of(schema)
        since = None if clock is None else changed_since(clock, shown(state), now)
        if since is not None:
            found[name] = since
        if state.followed is None:
            continue
        try:
            behind = versions_behind(state)
        except ViewkeeperError:
            continue
        if behind:
            found[name] = known.get(name, now)
    return found
