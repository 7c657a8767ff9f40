"""The warehouse log: entry N names the state of every relation, so that several tables are one.

An entry is created with put-if-absent. What the newest entry does not name does not exist: a crash
before it leaves the old state, a crash after it the new one, and of two writers one wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import NotFound, StorageError
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

FORMAT = 1
_LOG = "_viewkeeper"


@dataclass(frozen=True)
class Entry:
    """One committed state of the whole warehouse."""

    version: int
    catalog: Catalog
    relations: Mapping[str, RelationState]
    operation: str = ""
    written: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)

    def relation(self, name: str) -> RelationState:
        return self.relations[name]

    def report_on(self, view: str) -> Mapping[str, Any] | None:
        """What this commit did to a view, if anything."""
        return next((report for report in self.report.get("views", []) if report["view"] == view), None)

    def to_bytes(self) -> bytes:
        data = {
            "format": FORMAT,
            "version": self.version,
            "written": self.written,
            "operation": self.operation,
            "catalog": self.catalog.to_json(),
            "relations": {name: state.to_json() for name, state in self.relations.items()},
            "report": self.report,
        }
        return json.dumps(data, separators=(",", ":"), default=str).encode()

    @staticmethod
    def from_bytes(content: bytes, path: str) -> Entry:
        try:
            data = json.loads(content)
            relations = {n: RelationState.from_json(state) for n, state in data["relations"].items()}
            catalog = Catalog.from_json(data["catalog"])
        except (ValueError, KeyError, TypeError) as error:
            what = f"The warehouse log entry {path} cannot be read."
            raise StorageError(what, str(error), "Restore the file from a backup.") from error
        return Entry(data["version"], catalog, relations, data["operation"], data["written"], data["report"])


class WarehouseLog:
    """The entries of one warehouse. Those that were read are kept: they never change."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._cache: dict[int, Entry] = {}
        self._newest = -1
        self.followers: list[Callable[[Entry], None]] = []
        """Who is told the entry that a writer has left, after a commit or after finding nothing to do."""

    def latest(self) -> Entry:
        """The newest entry; an empty state of version 0 in a new warehouse."""
        start = _path(self._newest) if self._newest >= 0 else ""
        found = self.folder.listed_after(_LOG, start) if start else _all(self.folder)
        if found:
            self._newest = max(_number(path) for path in found)
        if self._newest < 0:
            return Entry(0, Catalog(), {})
        return self.entry(self._newest)

    def entry(self, version: int) -> Entry:
        if version == 0:
            return Entry(0, Catalog(), {})
        if version not in self._cache:
            path = _path(version)
            if version not in self.versions():
                raise NotFound(
                    f"The warehouse has no version {version}.",
                    f"Its versions are {self._span()}.",
                    "Ask for one of these; vacuum removes old ones.",
                )
            self._cache[version] = Entry.from_bytes(self.folder.read(path), path)
        return self._cache[version]

    def versions(self) -> list[int]:
        return sorted(_number(path) for path in _all(self.folder))

    def commit(self, entry: Entry) -> bool:
        """Publishes the entry; False when its version exists already: another writer was first."""
        dated = replace(entry, written=datetime.now(UTC).isoformat(timespec="milliseconds"))
        if not self.folder.create(_path(entry.version), dated.to_bytes()):
            return False
        self._cache[entry.version] = dated
        self._newest = max(self._newest, entry.version)
        return True

    def forget(self, versions: list[int]) -> None:
        """Removes entries; their versions can no longer be read."""
        self.folder.delete([_path(version) for version in versions])
        for version in versions:
            self._cache.pop(version, None)

    def _span(self) -> str:
        versions = self.versions()
        return f"{versions[0]} to {versions[-1]}" if versions else "none yet"


def states_between(
    log: WarehouseLog, name: str, since: int, until: int | None
) -> tuple[RelationState, RelationState, int]:
    """A table or view at two retained versions, and the later of these, which is the newest unless given."""
    last = log.latest() if until is None else log.entry(until)
    known = last.catalog.schema(name).name
    first = log.entry(since)
    if known not in first.relations:
        raise NotFound(
            f"{known} did not exist in version {since}.",
            hint="Ask for changes since a later version.",
            table=known,
        )
    return first.relations[known], last.relations[known], last.version


def _path(version: int) -> str:
    return f"{_LOG}/{version:020d}.json"


def _number(path: str) -> int:
    return int(path.rsplit("/", 1)[-1].removesuffix(".json"))


def _all(folder: Folder) -> list[str]:
    return [path for path, _ in folder.listed(_LOG) if path.endswith(".json")]
