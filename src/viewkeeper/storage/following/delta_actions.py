"""The log of a Delta table as it lies in `_delta_log`: commits as JSON, and checkpoints that sum them up.

state of version N  =  a checkpoint of version C ≤ N, and the commits C+1 … N, or the commits 0 … N
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from viewkeeper.errors import MissingFile, StorageError
from viewkeeper.storage.deletion_vectors import DeletionVector
from viewkeeper.storage.objects import Folder

LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-fA-F-]{36}))?\.(parquet|json)"
)
_WANTED = ("add", "metaData", "protocol", "sidecar")

Action = Mapping[str, Any]


@dataclass(frozen=True)
class Added:
    """A data file of the table. A file that gets another deletion vector is another one of these."""

    path: str
    size: int
    partition: tuple[tuple[str, str | None], ...] = ()
    stats: str | None = field(default=None, compare=False)
    vector: DeletionVector | None = None
    data_change: bool = field(default=True, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.vector.identity if self.vector else ""


@dataclass(frozen=True)
class Listing:
    """What there is in a log: versions that have a commit, and the files of each complete checkpoint."""

    commits: frozenset[int]
    checkpoints: Mapping[int, tuple[str, ...]]

    @property
    def newest(self) -> int | None:
        return max((*self.commits, *self.checkpoints), default=None)


def listed(folder: Folder, after: int | None = None) -> Listing:
    """The log's files; of a long log only those behind a version that was seen before."""
    start = f"{LOG}/" if after is None else commit_path(after)
    commits: set[int] = set()
    parts: dict[tuple[int, str], dict[int, str]] = {}
    for path in folder.listed_after(LOG, start):
        name = path.removeprefix(f"{LOG}/")
        if found := _COMMIT.fullmatch(name):
            commits.add(int(found[1]))
        elif found := _CHECKPOINT.fullmatch(name):
            version, number, total, _, _ = found.groups()
            parts.setdefault((int(version), total or name), {})[int(number or 1)] = path
    whole = {
        version: tuple(files[number] for number in sorted(files))
        for (version, total), files in sorted(parts.items())
        if len(files) == (int(total) if total.isdecimal() else 1)
    }
    return Listing(frozenset(commits), whole)


def commit_path(version: int) -> str:
    return f"{LOG}/{version:020d}.json"


def commit(folder: Folder, version: int) -> list[Action]:
    """The actions of one commit."""
    path = commit_path(version)
    return list(_json_actions(folder, path, folder.read(path)))


def digest(folder: Folder, version: int) -> str:
    """What tells the commit of a version from another one of this number; empty where the log is cleaned
    up."""
    try:
        return hashlib.sha256(folder.read(commit_path(version))).hexdigest()[:32]
    except MissingFile:
        return ""


def checkpoint(folder: Folder, files: Iterable[str]) -> Iterator[Action]:
    """The actions of a checkpoint, in one or several parts, or with its files named in sidecars."""
    for path in files:
        actions = (
            _json_actions(folder, path, folder.read(path))
            if path.endswith(".json")
            else _parquet_actions(folder, path)
        )
        for action in actions:
            if "sidecar" in action:
                yield from _parquet_actions(folder, f"{LOG}/_sidecars/{action['sidecar']['path']}")
            else:
                yield action


def _json_actions(folder: Folder, path: str, content: bytes) -> Iterator[Action]:
    try:
        lines = [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]
    except ValueError as error:
        raise StorageError(f"The log file {folder.address(path)} cannot be read.", str(error)) from error
    yield from lines


def _parquet_actions(folder: Folder, path: str) -> Iterator[Action]:
    try:
        file = pq.ParquetFile(pa.BufferReader(folder.read(path)))
        present = [name for name in _WANTED if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=present):
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                yield {name: value for name, value in row.items() if value is not None}
    except pa.ArrowException as error:
        raise StorageError(f"The checkpoint {folder.address(path)} cannot be read.", str(error)) from error


def added(action: Action, root: str) -> Added:
    """The file that an `add`, `remove` or `cdc` action names."""
    values = action.get("partitionValues") or {}
    return Added(
        canonical(action["path"], root),
        action.get("size") or 0,
        tuple(sorted((name, value if value != "" else None) for name, value in values.items())),
        action.get("stats"),
        DeletionVector.from_log(action.get("deletionVector")),
        action.get("dataChange", True),
    )


def canonical(path: str, root: str) -> str:
    """A path of the log: decoded, and from the table's folder where it is below it."""
    plain = unquote(path)
    if plain.startswith("file:/"):
        plain = "/" + plain.removeprefix("file:").lstrip("/")
    base = root.rstrip("/") + "/"
    return plain.removeprefix(base) if plain.startswith(base) else plain
