"""What a warehouse records of a table that it follows. Its rows stay where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.storage.deletion_vectors import DeletionVector

Options = tuple[tuple[str, str], ...]
"""What opens the storage that a table is in."""


@dataclass(frozen=True)
class SourceField:
    """A column as files have it: `physical` is its name there, `type` what to read it as, in Spark's DDL.

    `is_cast`: its parts are called otherwise inside. `partition`: files do not hold it, the log tells its
    value for each file. `number` finds it in files that go by numbers, not by names.
    """

    name: str
    physical: str
    type: str
    is_cast: bool = False
    partition: bool = False
    number: int | None = None

    def to_json(self) -> list[Any]:
        return [self.name, self.physical, self.type, self.is_cast, self.partition, self.number]


@dataclass(frozen=True)
class Followed:
    """One version of a table that others own. `identity` and `digest` tell it from another table of this
    place.

    `how` says how its changes since the version recorded before were found, or why they were not.
    """

    format: str
    address: str
    version: int
    identity: str
    digest: str
    fields: tuple[SourceField, ...]
    options: Options = ()
    how: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "address": self.address,
            "version": self.version,
            "identity": self.identity,
            "digest": self.digest,
            "fields": [field.to_json() for field in self.fields],
            "options": [list(pair) for pair in self.options],
            "how": self.how,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Followed | None:
        if data is None:
            return None
        fields = tuple(SourceField(*field) for field in data["fields"])
        options = tuple((name, value) for name, value in data["options"])
        table, commit = (data["format"], data["address"], data["version"]), data["digest"]
        return Followed(*table, data["identity"], commit, fields, options, data["how"])


@dataclass(frozen=True)
class FilePart:
    """Which rows of somebody else's file are meant: those in `within`, where it is set, and not in `without`.

    `sign` is how often each counts; 0: the file's own column says whether it came or went. `held` are the
    rows that the file has, `partition` the values of columns that it does not have, `commit` the version of
    the warehouse that recorded the change, which tells a change from the same one made again.
    """

    sign: int
    held: int
    partition: tuple[tuple[str, str | None], ...] = ()
    without: DeletionVector | None = None
    within: DeletionVector | None = None
    commit: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.without is None and self.within is None

    def to_json(self) -> list[Any]:
        vectors = [None if one is None else one.to_json() for one in (self.without, self.within)]
        return [self.sign, self.held, [list(pair) for pair in self.partition], *vectors, self.commit]

    @staticmethod
    def from_json(data: list[Any]) -> FilePart:
        sign, held, partition, without, within, commit = data
        values = tuple((name, value) for name, value in partition)
        taken, named = DeletionVector.from_json(without), DeletionVector.from_json(within)
        return FilePart(sign, held, values, taken, named, commit)
