"""Following Delta tables (`formats.py` says what that asks for)."""

from __future__ import annotations

from functools import lru_cache

from obstore.exceptions import BaseError

from viewkeeper.errors import NotFound, StorageError
from viewkeeper.storage.following.delta_actions import digest, listed
from viewkeeper.storage.following.delta_difference import difference
from viewkeeper.storage.following.delta_files import data_file, rows_held
from viewkeeper.storage.following.delta_schema import schema_of
from viewkeeper.storage.following.delta_snapshot import Snapshot, snapshot
from viewkeeper.storage.following.formats import Observed, SourceDifference, no_such_version
from viewkeeper.storage.following.places import folder_of
from viewkeeper.storage.following.state import Followed, Options
from viewkeeper.storage.relation import DataFile


class DeltaFormat:
    """Delta tables, by their logs."""

    def newest(self, address: str, options: Options, known: Followed | None = None) -> int:
        """The last version; of a long log only what came after a version that is known is listed."""
        try:
            folder = folder_of(address, options)
            if known is not None and (found := listed(folder, known.version).newest) is not None:
                return found
            newest = listed(folder).newest
        except (StorageError, OSError, BaseError) as error:
            raise NotFound(f"There is no Delta table at {address}.", str(error), _HINT) from error
        if newest is None:
            raise NotFound(f"There is no Delta table at {address}.", "It has no log in _delta_log.", _HINT)
        return newest

    def observed(
        self, address: str, options: Options, version: int, known: Followed | None = None
    ) -> Observed:
        found = snapshot(address, options, version)
        columns, fields = schema_of(found.metadata, address)
        followed = Followed("delta", address, version, found.identity, found.digest, fields, options)
        return Observed(followed, columns)

    def files(self, followed: Followed) -> tuple[DataFile, ...]:
        return _files(followed, digest(folder_of(followed.address, followed.options), followed.version))

    def difference(self, old: Followed, new: Followed, number: int) -> SourceDifference:
        folder = folder_of(new.address, new.options)
        return difference(folder, _recorded(old), _recorded(new), new.fields, number)


_HINT = "Give the path of a folder that has a _delta_log."


@lru_cache(maxsize=64)
def _files(followed: Followed, told: str) -> tuple[DataFile, ...]:
    """The files of a version whose commit has this digest."""
    folder = folder_of(followed.address, followed.options)
    files = _recorded(followed).files.values()
    return tuple(data_file(file, followed.fields, rows_held(folder, file)) for file in files)


def _recorded(followed: Followed) -> Snapshot:
    """The version that was recorded, if it still is what it was."""
    found = snapshot(followed.address, followed.options, followed.version)
    if found.identity != followed.identity or (found.digest and found.digest != followed.digest != ""):
        raise no_such_version(followed)
    return found
