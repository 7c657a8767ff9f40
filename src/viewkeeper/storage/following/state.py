"""What a warehouse records of a table that it follows. Its rows stay where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.storage.deletion_vectors import DeletionVector

Options = tuple[tuple[str, str], ...]
"""What opens the storage that a table is in, and how its files are read."""

LISTING = ("on_change", "settle")
"""Options that say which files of a folder are read."""

OF_CATALOG = "catalog:"
"""What the names of options begin with that are for a catalog."""

READ = "read:"
"""What the names of options begin with that are for Spark's readers."""


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
class Listed:
    """A file of a folder without a log: `mark` tells it from another one of its path and size."""

    path: str
    size: int
    mark: str
    rows: int
    partition: tuple[tuple[str, str | None], ...] = ()
    ranges: tuple[tuple[str, tuple[Any, Any]], ...] = ()
    nulls: tuple[str, ...] = ()

    def to_json(self) -> list[Any]:
        pairs = [[list(pair) for pair in self.partition], [[n, list(ends)] for n, ends in self.ranges]]
        return [self.path, self.size, self.mark, self.rows, *pairs, list(self.nulls)]

    @staticmethod
    def from_json(data: list[Any]) -> Listed:
        path, size, mark, rows, partition, ranges, nulls = data
        values = tuple((name, value) for name, value in partition)
        ends = tuple((name, (low, high)) for name, (low, high) in ranges)
        return Listed(path, size, mark, rows, values, ends, tuple(nulls))


@dataclass(frozen=True)
class Followed:
    """One version of a table that others own. `identity` and `digest` tell it from another table of this
    place.

    `how` says how its changes since the version recorded before were found, or why they were not. `listed`
    are its files where no log of its own tells them.
    """

    format: str
    address: str
    version: int
    identity: str
    digest: str
    fields: tuple[SourceField, ...]
    options: Options = ()
    how: str = ""
    listed: tuple[Listed, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether its files are texts, which are parsed."""
        return self.format in ("csv", "json")

    @property
    def read_options(self) -> Options:
        """What Spark is told for reading its files."""
        return tuple((n.removeprefix(READ), value) for n, value in self.options if n.startswith(READ))

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
            **({"listed": [file.to_json() for file in self.listed]} if self.listed else {}),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any] | None) -> Followed | None:
        if data is None:
            return None
        fields = tuple(SourceField(*field) for field in data["fields"])
        options = tuple((name, value) for name, value in data["options"])
        table, commit = (data["format"], data["address"], data["version"]), data["digest"]
        listed = tuple(map(Listed.from_json, data.get("listed", ())))
        return Followed(*table, data["identity"], commit, fields, options, data["how"], listed)


@dataclass(frozen=True)
class FilePart:
    """Which rows of somebody else's file are meant: those in `within`, where it is set, and not in `without`.

    `sign` is how often each counts; 0: the file's own column says whether it came or went. `held` are the
    rows that the file has, `partition` the values of columns that it does not have, `commit` the version of
    the warehouse that recorded the change, which tells a change from the same one made again. `mark` tells
    the file from another one of its path and size, where that may come.
    """

    sign: int
    held: int
    partition: tuple[tuple[str, str | None], ...] = ()
    without: DeletionVector | None = None
    within: DeletionVector | None = None
    commit: int | None = None
    mark: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.without is None and self.within is None

    def to_json(self) -> list[Any]:
        vectors = [None if one is None else one.to_json() for one in (self.without, self.within)]
        marks = [] if self.mark is None else [self.mark]
        return [self.sign, self.held, [list(pair) for pair in self.partition], *vectors, self.commit, *marks]

    @staticmethod
    def from_json(data: list[Any]) -> FilePart:
        sign, held, partition, without, within, commit, *mark = data
        values = tuple((name, value) for name, value in partition)
        taken, named = DeletionVector.from_json(without), DeletionVector.from_json(within)
        return FilePart(sign, held, values, taken, named, commit, *mark)
