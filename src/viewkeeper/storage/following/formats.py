"""The formats of tables that can be followed, and the four questions that each answers.

newest       which version is the last one?
observed     what is the table at a version: its columns, and what tells it from others?
files        which files hold its rows, and which rows of them?
difference   which parts of which files came and went between two versions?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from viewkeeper.algebra.schema import Column
from viewkeeper.errors import MissingFile
from viewkeeper.storage.following.state import Followed, Options
from viewkeeper.storage.relation import DataFile

CATALOG = "catalog"
"""No format: the session's catalog says which one a table has, and where it is."""


@dataclass(frozen=True)
class Observed:
    """A table at one version, with its columns as users see them."""

    followed: Followed
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class SourceDifference:
    """The parts that came and went, and how they were found."""

    files: tuple[DataFile, ...]
    how: str

    @property
    def rows_held(self) -> int:
        """The rows of the files that must be opened for it."""
        return sum(file.held for file in self.files)


class Format(Protocol):
    """How tables of one format are followed. Nothing of them is written, and no row is read."""

    def newest(self, address: str, options: Options, known: Followed | None = None) -> int: ...

    def observed(
        self, address: str, options: Options, version: int, known: Followed | None = None
    ) -> Observed:
        """`known` is what was recorded last."""
        ...

    def files(self, followed: Followed) -> tuple[DataFile, ...]: ...

    def difference(self, old: Followed, new: Followed, number: int) -> SourceDifference:
        """Raises MissingFile, which says why, where it cannot be found out any more."""
        ...


def no_such_version(followed: Followed) -> MissingFile:
    return MissingFile(
        f"Version {followed.version} of {followed.address} is not what it was.",
        "The table was dropped and made anew, or an older copy of it was put back.",
        "Refresh: views are then computed from what is there now.",
    )
