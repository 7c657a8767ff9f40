"""Keeps views as fresh as they ask to be: looks, has refreshed what is due, and learns from how that went."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from viewkeeper.algebra.inner_names import shown
from viewkeeper.errors import ViewkeeperError
from viewkeeper.serve.jobs import Job, Jobs
from viewkeeper.serve.schedule import Due, Watched, due
from viewkeeper.serve.watch import Seen, followed_news, watched
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.failures import Failure, record

log = logging.getLogger("viewkeeper.serve")

SHORTEST = 0.05
"""Seconds between two looks at least."""


class Kept(Protocol):
    """What a keeper needs of a service: the log, and someone who refreshes."""

    @property
    def log(self) -> WarehouseLog: ...
    @property
    def jobs(self) -> Jobs: ...
    def refreshed(
        self, views: tuple[str, ...], policy: str | None, tell: Callable[..., None]
    ) -> Mapping[str, Any]: ...


def utc_now() -> datetime:
    return datetime.now(UTC)


class Keeper:
    """One turn after the other, until it is told to end."""

    def __init__(self, kept: Kept, poll: float = 2.0, clock: Callable[[], datetime] = utc_now) -> None:
        self.kept, self.poll, self.clock = kept, poll, clock
        self.seen: dict[str, Seen] = defaultdict(Seen)
        self.unmet: Mapping[str, str] = {}
        self._news: dict[str, datetime] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="viewkeeper-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, seconds: float | None = None) -> None:
        """No turn begins any more; waits for the one that is under way, or so many seconds."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _keep(self) -> None:
        while not self._ending.is_set():
            try:
                pause = self.turn()
            except Exception:
                log.exception("looking at the warehouse failed")
                pause = self.poll
            self._ending.wait(pause)

    def turn(self) -> float:
        """Does what is due now; how many seconds later to look again."""
        found = self.look()
        self._tell_unmet(found.unmet)
        for name in found.passed:
            self.seen[name].checked = self.clock()
        if found.together:
            self._together(found.together)
        for name in found.apart:
            self._refresh((name,))
        wake = (found.wake - self.clock()).total_seconds() if found.wake is not None else self.poll
        return min(max(wake, SHORTEST), self.poll)

    def look(self) -> Due:
        return due(self.clock(), self.views())

    def views(self) -> list[Watched]:
        """What is known of every view; followed tables are asked for news."""
        entry, now = self.kept.log.latest(), self.clock()
        self._news = followed_news(entry, now, self._news)
        return watched(self.kept.log, entry, now, self.seen, self._news)

    def _together(self, names: tuple[str, ...]) -> None:
        """All in one commit; where that fails, each by itself, so that one does not hold the others back."""
        if len(names) == 1:
            self._refresh(names)
        elif self._run(names).state == "failed":
            for name in names:
                if not self._ending.is_set():
                    self._refresh((name,))

    def _refresh(self, names: tuple[str, ...]) -> None:
        run = self._run(names)
        if run.failure is not None and run.state == "failed":
            self._note_failure(names, run.failure)

    def _run(self, names: tuple[str, ...]) -> Job:
        asked = tuple(map(shown, names))
        run = Job("refresh", asked, "schedule")
        done = self.kept.jobs.start(run, lambda tell: self.kept.refreshed(asked, None, tell)).result()
        if done.state == "done":
            for name in names:
                self.seen[name].took(done.seconds)
        return done

    def _note_failure(self, names: tuple[str, ...], error: Exception) -> None:
        now = self.clock()
        for name in names:
            self.seen[name].failed_at(now)
        told = error if isinstance(error, ViewkeeperError) else ViewkeeperError(str(error)[:500])
        entry = self.kept.log.latest()
        what = Failure(
            now.isoformat(), tuple(map(shown, names)), told.what, told.detail, told.hint, entry.version
        )
        record(self.kept.log.folder, what)

    def _tell_unmet(self, unmet: Mapping[str, str]) -> None:
        for name in unmet.keys() - self.unmet.keys():
            log.warning("a target lag cannot be met", extra={"view": shown(name), "why": unmet[name]})
        self.unmet = unmet
