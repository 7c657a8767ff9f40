"""What the log tells of refreshes, kept in memory: an entry is read once, when it is new."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.errors import ViewkeeperError
from viewkeeper.inspect.status import behind_since, written_at
from viewkeeper.storage.commits import Entry, WarehouseLog

REMEMBERED = 300
"""Refreshes of each view, the newest."""


@dataclass(frozen=True)
class Refreshed:
    """One refresh of a view: its report, and how old the oldest change was that it brought."""

    version: int
    written: str
    report: Mapping[str, Any]
    age: float | None

    def to_dict(self) -> dict[str, Any]:
        return {"version": self.version, "written": self.written, "age": self.age, **self.report}


class Chronicle:
    """The refreshes of every view, as far as the log goes back, oldest first."""

    def __init__(self, log: WarehouseLog) -> None:
        self.log = log
        self._read = 0
        self._of: dict[str, deque[Refreshed]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
        self._last: tuple[int, str, tuple[Mapping[str, Any], ...]] | None = None
        self._lock = threading.Lock()

    def of(self, view: str) -> list[Refreshed]:
        """The refreshes of a view, by the name that it has inside."""
        self._catch_up()
        return list(self._of[view])

    def last_refresh(self) -> dict[str, Any] | None:
        """The newest refresh that changed views: what it did, in the order of the work."""
        self._catch_up()
        if self._last is None:
            return None
        version, written, reports = self._last
        return {"version": version, "written": written, "views": list(reports)}

    def _catch_up(self) -> None:
        with self._lock:
            newest = self.log.latest().version
            if newest == self._read:
                return
            for version in self.log.versions():
                if version > self._read:
                    self._read = version
                    self._take(version)

    def _take(self, version: int) -> None:
        try:
            entry = self.log.entry(version)
        except ViewkeeperError:  # forgotten meanwhile
            return
        reports = [report for report in entry.report.get("views", ()) if report["strategy"] != "none"]
        for report in reports:
            name = self._inside(entry, report["view"])
            self._of[name].append(Refreshed(entry.version, entry.written, report, self._age(entry, name)))
        if reports:
            named = tuple({**report, "view": shown(report["view"])} for report in reports)
            self._last = entry.version, entry.written, named

    def _inside(self, entry: Entry, name: str) -> str:
        return name if name in entry.catalog.views else entry.catalog.spelled(name) or name

    def _age(self, entry: Entry, name: str) -> float | None:
        """How old the oldest change was that a view did not show before an entry."""
        try:
            before = self.log.entry(entry.version - 1)
        except ViewkeeperError:  # forgotten: then nothing is known
            return None
        view = before.catalog.views.get(name)
        since = behind_since(self.log, before, view) if view is not None else None
        now = written_at(self.log, entry.version)
        return None if since is None or now is None else round((now - since).total_seconds(), 3)
