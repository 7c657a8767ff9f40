"""A Delta table at one version: its schema, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from viewkeeper.errors import MissingFile, StorageError
from viewkeeper.storage.following.delta_actions import (
    Action,
    Added,
    Listing,
    added,
    checkpoint,
    commit,
    commit_path,
    digest,
    listed,
)
from viewkeeper.storage.following.delta_features import check_protocol
from viewkeeper.storage.following.places import folder_of
from viewkeeper.storage.following.state import Options
from viewkeeper.storage.objects import Folder

Key = tuple[str, str]


@dataclass(frozen=True)
class Snapshot:
    """What the log says of one version."""

    version: int
    digest: str
    metadata: Mapping[str, Any]
    files: Mapping[Key, Added]

    @property
    def identity(self) -> str:
        return str(self.metadata.get("id") or "")


def snapshot(address: str, options: Options, version: int) -> Snapshot:
    """The table at a version. A version of the same number may become another one: its digest is compared."""
    return _snapshot(address, options, version, digest(folder_of(address, options), version))


@lru_cache(maxsize=64)
def _snapshot(address: str, options: Options, version: int, told: str) -> Snapshot:
    folder = folder_of(address, options)
    found = listed(folder)
    if version not in found.commits and version not in found.checkpoints:
        raise MissingFile(
            f"The Delta table {address} has no readable version {version}.",
            f"Its log ends at {found.newest}." if found.newest is not None else "It has no log.",
            "Ask for a version that is there. A log is cleaned up after a while.",
        )
    problem: StorageError | None = None
    for start in sorted((c for c in found.checkpoints if c <= version), reverse=True):
        try:
            return _replayed(folder, address, version, told, _from(folder, found, start, version))
        except StorageError as error:
            problem = problem or error
    if problem is not None and 0 not in found.commits:
        raise problem
    try:
        return _replayed(folder, address, version, told, _from(folder, found, None, version))
    except MissingFile as error:
        raise problem or error from error


def _from(folder: Folder, found: Listing, start: int | None, version: int) -> Iterator[Action]:
    """All actions that lead to a version, from a checkpoint or from the first commit on."""
    if start is not None:
        yield from checkpoint(folder, found.checkpoints[start])
    for number in range(0 if start is None else start + 1, version + 1):
        yield from commit(folder, number)


def _replayed(folder: Folder, address: str, version: int, told: str, actions: Iterable[Action]) -> Snapshot:
    files: dict[Key, Added] = {}
    metadata: Mapping[str, Any] | None = None
    protocol: Mapping[str, Any] | None = None
    for action in actions:
        metadata = action.get("metaData") or metadata
        protocol = action.get("protocol") or protocol
        if named := action.get("add"):
            one = added(named, folder.url)
            files[one.key] = one
        elif named := action.get("remove"):
            files.pop(added(named, folder.url).key, None)
    check_protocol(protocol, address)
    if metadata is None:
        what = f"The log of the Delta table {address} does not say what columns it has."
        raise StorageError(what, f"There is no metadata up to {commit_path(version)}.")
    provider = (metadata.get("format") or {}).get("provider", "parquet")
    if provider != "parquet":
        raise StorageError(
            f"The Delta table {address} has files of the format {provider}.", "Parquet is read."
        )
    return Snapshot(version, told, metadata, files)
