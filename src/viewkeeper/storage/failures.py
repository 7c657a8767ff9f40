"""Refreshes that failed, kept beside the log: they left no version, and are told in the history of views."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from viewkeeper.storage.objects import Folder

_FAILURES = "_viewkeeper_failures"

KEPT = 100
"""So many of the newest failures are kept."""


@dataclass(frozen=True)
class Failure:
    """A refresh that failed: when, of which views by their users' names, why, and at which version."""

    written: str
    views: tuple[str, ...]
    what: str
    detail: str = ""
    hint: str = ""
    version: int = 0

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.written)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def record(folder: Folder, failure: Failure) -> None:
    """Keeps a failure, and forgets the oldest where there are many."""
    content = json.dumps(failure.to_dict()).encode()
    stem = failure.written.replace(":", "").replace("+", "_")
    number = 0
    while not folder.create(f"{_FAILURES}/{stem}-{number}.json", content):
        number += 1
    folder.delete(_paths(folder)[:-KEPT])


def failures(folder: Folder) -> list[Failure]:
    """What is kept, oldest first."""
    found = (json.loads(folder.read(path)) for path in _paths(folder))
    return [Failure(**{**one, "views": tuple(one["views"])}) for one in found]


def last_failures(folder: Folder) -> dict[str, Failure]:
    """The newest failure of each view that has one."""
    return {view: one for one in failures(folder) for view in one.views}


def _paths(folder: Folder) -> list[str]:
    return sorted(_named(path for path, _ in folder.listed(_FAILURES)))


def _named(paths: Iterable[str]) -> Iterable[str]:
    return (path for path in paths if path.endswith(".json"))
