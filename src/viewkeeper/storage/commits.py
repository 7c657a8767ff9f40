"""The warehouse log: entry N names the state of every relation, so that several tables are one.

An entry is created with put-if-absent. What the newest entry does not name does not exist: a crash
before it leaves the old state, a crash after it the new one, and of two writers one wins.

Every `WHOLE_EVERY`th entry is written whole. The others hold only what differs from the entry before, so
that a commit costs what it changes, however many views there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from viewkeeper.catalog.catalog import Catalog, ViewDefinition, table_from_json, table_to_json
from viewkeeper.errors import MissingFile, NotFound, StorageError, ViewkeeperError
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

FORMAT = 3
"""Entries of format 1 are all whole; those of format 2 know no streams, and nothing else is different."""

WHOLE_EVERY = 20
"""A process that opens the warehouse reads at most so many entries."""

_LOG = "_viewkeeper"

Named = TypeVar("Named")


@dataclass(frozen=True)
class Applied:
    """How far a stream has been applied to a table: its batches are numbered, and come in order."""

    table: str
    batch: int

    def to_json(self) -> list[Any]:
        return [self.table, self.batch]

    @staticmethod
    def from_json(data: list[Any]) -> Applied:
        return Applied(*data)


@dataclass(frozen=True)
class Entry:
    """One committed state of the whole warehouse."""

    version: int
    catalog: Catalog
    relations: Mapping[str, RelationState]
    operation: str = ""
    written: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
    streams: Mapping[str, Applied] = field(default_factory=dict)
    """The newest entry names all of them, so that neither compaction nor vacuum forgets one."""

    def relation(self, name: str) -> RelationState:
        return self.relations[name]

    def report_on(self, view: str) -> Mapping[str, Any] | None:
        """What this commit did to a view, if anything."""
        return next((report for report in self.report.get("views", []) if report["view"] == view), None)

    def to_bytes(self, before: Entry | None = None) -> bytes:
        """The whole entry, or what differs from the one before; that names it as its base."""
        differences = None if before is None else _differences(before, self)
        data = {
            "format": FORMAT if self.streams else FORMAT - 1,
            "version": self.version,
            "written": self.written,
            "operation": self.operation,
            "report": self.report,
            **({"base": self.version - 1, **differences} if differences else self._whole()),
        }
        return json.dumps(data, separators=(",", ":"), default=str).encode()

    def _whole(self) -> dict[str, Any]:
        relations = {name: state.to_json() for name, state in self.relations.items()}
        streams = {name: applied.to_json() for name, applied in self.streams.items()}
        return {"catalog": self.catalog.to_json(), "relations": relations, "streams": streams}


_Content: TypeAlias = "tuple[Catalog, dict[str, RelationState], dict[str, Applied]]"


class WrittenEntry:
    """An entry as it stands in its file: whole, or as what differs from its base."""

    def __init__(self, content: bytes, path: str) -> None:
        self.path = path
        with self._read():
            self._data = json.loads(content)
            self.base: int | None = self._data.get("base")
            if self._data["format"] > FORMAT:
                what = f"The warehouse log entry {path} was written by a later version of Viewkeeper."
                raise StorageError(what, hint="Install that version, or a newer one.")

    def entry(self, before: Entry | None) -> Entry:
        """The entry; `before` is its base, where it has one."""
        data = self._data
        with self._read():
            catalog, relations, streams = self._whole() if before is None else self._applied_to(before)
            told = data["operation"], data["written"], data["report"]
            return Entry(data["version"], catalog, relations, *told, streams)

    def _whole(self) -> _Content:
        relations = {n: RelationState.from_json(s) for n, s in self._data["relations"].items()}
        streams = {n: Applied.from_json(a) for n, a in self._data.get("streams", {}).items()}
        return Catalog.from_json(self._data["catalog"]), relations, streams

    def _applied_to(self, before: Entry) -> _Content:
        changed, catalog = self._data["changed"], before.catalog
        tables = _applied(catalog.tables, changed["tables"], table_from_json)
        views = _applied(catalog.views, changed["views"], ViewDefinition.from_json)
        relations = _applied(before.relations, changed["relations"], RelationState.from_json)
        streams = _applied(before.streams, changed.get("streams", {}), Applied.from_json)
        return Catalog(tables, views), relations, streams

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"The warehouse log entry {self.path} cannot be read."
            raise StorageError(what, str(error), "Restore the file from a backup.") from error


def _differences(before: Entry, after: Entry) -> dict[str, Any] | None:
    """What differs between two entries, as JSON; None where it would not tell the order of names."""
    changed = {
        "tables": _difference(before.catalog.tables, after.catalog.tables, table_to_json),
        "views": _difference(before.catalog.views, after.catalog.views, ViewDefinition.to_json),
        "relations": _difference(before.relations, after.relations, RelationState.to_json),
        "streams": _difference(before.streams, after.streams, Applied.to_json),
    }
    return None if None in changed.values() else {"changed": changed}


def _difference(
    before: Mapping[str, Named], after: Mapping[str, Named], to_json: Callable[[Named], Any]
) -> dict[str, Any] | None:
    """The JSON of what is new or another object than before, by name; None for what is gone."""
    changed = {name: to_json(one) for name, one in after.items() if before.get(name) is not one}
    gone = {name: None for name in before if name not in after}
    in_order = [*(name for name in before if name in after), *(name for name in after if name not in before)]
    return {**changed, **gone} if in_order == list(after) else None


def _applied(
    before: Mapping[str, Named], changed: Mapping[str, Any], from_json: Callable[[Any], Named]
) -> dict[str, Named]:
    new = {name: from_json(data) for name, data in changed.items() if data is not None}
    return {name: one for name, one in {**before, **new}.items() if name in new or name not in changed}


class WarehouseLog:
    """The entries of one warehouse. Those that were read are kept: they never change."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._cache: dict[int, Entry] = {}
        self._newest = -1
        self.followers: list[Callable[[Entry], None]] = []
        """Who is told the entry that a writer has left, after a commit or after finding nothing to do."""
        self._is_closed = False
        self._writing = Lock()

    def latest(self) -> Entry:
        """The newest entry; an empty state of version 0 in a new warehouse."""
        known = self._newest
        start = _path(known) if known >= 0 else ""
        found = self.folder.listed_after(_LOG, start) if start else _all(self.folder)
        # Other threads may be here too: one that began before does not take back what this one found.
        newest = max([known, *map(_number, found)])
        self._newest = max(self._newest, newest)
        return Entry(0, Catalog(), {}) if newest < 0 else self.entry(newest)

    def entry(self, version: int) -> Entry:
        if version == 0:
            return Entry(0, Catalog(), {})
        if version not in self._cache:
            if version not in self.versions():
                raise NotFound(
                    f"The warehouse has no version {version}.",
                    f"Its versions are {self._span()}.",
                    "Ask for one of these; vacuum removes old ones.",
                )
            self._read(version)
        return self._cache[version]

    def versions(self) -> list[int]:
        return sorted(_number(path) for path in _all(self.folder))

    def commit(self, entry: Entry) -> bool:
        """Publishes the entry; False when its version exists already: another writer was first."""
        dated = replace(entry, written=datetime.now(UTC).isoformat(timespec="milliseconds"))
        is_whole = entry.version % WHOLE_EVERY == 1
        before = None if is_whole else self.entry(entry.version - 1)
        with self._writing:
            if self._is_closed:
                raise ViewkeeperError("This warehouse was closed.", "Nothing was applied.", "Open it again.")
            if not self.folder.create(_path(entry.version), dated.to_bytes(before)):
                return False
        self._cache[entry.version] = dated
        self._newest = max(self._newest, entry.version)
        return True

    def close(self) -> None:
        """No entry is written any more; waits for the one that is being written."""
        with self._writing:
            self._is_closed = True

    def forget(self, versions: Collection[int]) -> None:
        """Removes entries; their versions can no longer be read. What stays and goes on from one of them is
        written whole before."""
        for version in set(self.versions()) - set(versions):
            if version - 1 in versions:
                self.folder.replace(_path(version), self.entry(version).to_bytes())
        self.folder.delete([_path(version) for version in versions])
        for version in versions:
            self._cache.pop(version, None)

    def _read(self, version: int) -> None:
        """Reads an entry, and those that it goes on from."""
        try:
            written = self._back_to_whole(version)
        except MissingFile:
            # It was forgotten meanwhile; what goes on from it has been written whole before that.
            written = self._back_to_whole(version)
        for one in reversed(written):
            entry = one.entry(None if one.base is None else self._cache[one.base])
            self._cache[entry.version] = entry

    def _back_to_whole(self, version: int) -> list[WrittenEntry]:
        """An entry as it is written, its base, and so on, as far as one that is whole or known."""
        written = [self._written(version)]
        while (base := written[-1].base) is not None and base not in self._cache:
            written.append(self._written(base))
        return written

    def _written(self, version: int) -> WrittenEntry:
        path = _path(version)
        return WrittenEntry(self.folder.read(path), path)

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
