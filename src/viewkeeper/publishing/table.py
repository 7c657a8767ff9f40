"""What a published table is at one of its Delta versions: files, and which of their rows no longer count.

The newest commit of the table's log names a file with this in it, so that the next commit need not replay the
log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.algebra.schema import Column
from viewkeeper.errors import StorageError
from viewkeeper.publishing.layout import Layout, Partition
from viewkeeper.storage.deletion_vectors import DeletionVector
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.relation import RelationState

_LOG = "_delta_log"
_NUMBERED = re.compile(r"(\d{20})\.json$")


@dataclass(frozen=True)
class PublishedFile:
    """A data file with its statistics, its partition, and the vector of its rows that are gone."""

    path: str
    rows: int
    bytes: int
    ranges: Mapping[str, tuple[Any, Any]]
    nulls: Mapping[str, int]
    gone: DeletionVector | None = None
    partition: Partition = ()

    @property
    def left(self) -> int:
        """How many rows count."""
        return self.rows - (0 if self.gone is None else self.gone.rows)

    def to_json(self) -> list[Any]:
        ranges = {name: list(pair) for name, pair in self.ranges.items()}
        gone = None if self.gone is None else self.gone.to_json()
        own = [[list(pair) for pair in self.partition]] if self.partition else []
        return [self.path, self.rows, self.bytes, ranges, dict(self.nulls), gone, *own]

    @staticmethod
    def from_json(data: list[Any]) -> PublishedFile:
        path, rows, size, ranges, nulls, gone, *partition = data
        pairs = {name: (low, high) for name, (low, high) in ranges.items()}
        own = tuple((name, value) for name, value in partition[0]) if partition else ()
        return PublishedFile(path, rows, size, pairs, nulls, DeletionVector.from_json(gone), own)


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its Delta version, the warehouse version that it shows, its columns and files.

    `shown` is the state of the relation whose rows these are. `removed` are files that earlier versions are
    read from, each with the time of its removal in milliseconds.
    """

    delta_version: int
    version: int
    shown: RelationState
    columns: tuple[Column, ...]
    files: tuple[PublishedFile, ...]
    identity: str
    layout: Layout
    removed: tuple[tuple[str, int], ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.left for file in self.files)

    def to_bytes(self) -> bytes:
        data = {
            "delta_version": self.delta_version,
            "version": self.version,
            "shown": self.shown.to_json(),
            "columns": [column.to_json() for column in self.columns],
            "files": [file.to_json() for file in self.files],
            "identity": self.identity,
            **self.layout.to_json(),
            "removed": [list(pair) for pair in self.removed],
        }
        return json.dumps(data, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(content: bytes) -> PublishedTable:
        data = json.loads(content)
        return PublishedTable(
            data["delta_version"],
            data["version"],
            RelationState.from_json(data["shown"]),
            tuple(Column(*column) for column in data["columns"]),
            tuple(PublishedFile.from_json(file) for file in data["files"]),
            data["identity"],
            Layout.from_json(data),
            tuple((path, at) for path, at in data["removed"]),
        )


@dataclass(frozen=True)
class Place:
    """Where files of a published table are written, and in which order of rows."""

    folder: Folder
    table: str
    cluster: tuple[str, ...] = ()


def log_path(table: str, version: int) -> str:
    return join(table, _LOG, f"{version:020d}.json")


def newest_version(folder: Folder, table: str) -> int:
    """The newest Delta version of a table; −1 where there is none."""
    found = (_NUMBERED.search(path) for path, _ in folder.listed(join(table, _LOG)))
    return max((int(match[1]) for match in found if match), default=-1)


def published_table(folder: Folder, table: str) -> PublishedTable | None:
    """A table as it was last published; None where it never was."""
    newest = newest_version(folder, table)
    if newest < 0:
        return None
    lines = folder.read(log_path(table, newest)).decode().splitlines()
    infos = (json.loads(line).get("commitInfo", {}) for line in lines if line)
    path = next((info["viewkeeper"]["state"] for info in infos if "viewkeeper" in info), None)
    if path is None:
        raise StorageError(
            f"The published table {folder.delta_address(table)} was changed by another program.",
            f"Its version {newest} is not one of Viewkeeper's.",
            "Unpublish the view, which removes the table, and publish it again.",
        )
    return PublishedTable.from_bytes(folder.read(join(table, path)))
