"""What a transaction collects before it commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from viewkeeper.errors import InvalidChange

if TYPE_CHECKING:
    from viewkeeper.storage.commits import Entry

ChangeKind = Literal["insert", "delete", "update"]


@dataclass(frozen=True)
class PendingChange:
    """Rows to insert, delete or update; a callable makes them from the state being changed.

    `updates`: deleted and inserted rows are one update of these columns, which leaves keys as they are.
    `number`: how many rows there are at most, where that is known before they are.
    """

    kind: ChangeKind
    table: str
    rows: Any | Callable[[Entry], Any]
    check: bool = True
    updates: tuple[str, ...] | None = None
    number: int | None = None


class Transaction:
    """Changes to several tables that become visible together, or not at all.

    Used as `with wh.transaction() as t:`; leaving the block commits, an exception discards.
    """

    def __init__(self, named: Callable[[str], str], commit: Callable[[list[PendingChange]], int]) -> None:
        self._named = named
        self._commit = commit
        self._changes: list[PendingChange] = []
        self._open = True
        self.version: int | None = None

    def insert(self, table: str, rows: Any, *, check: bool = True) -> None:
        """Adds rows. `check=False` trusts the caller that keys and references hold."""
        self._add("insert", table, rows, check)

    def delete(self, table: str, rows: Any, *, check: bool = True) -> None:
        """Removes rows: whole rows, one copy each, or keys of a keyed table."""
        self._add("delete", table, rows, check)

    def update(self, table: str, rows: Any, *, check: bool = True) -> None:
        """Changes rows found by primary key; only the columns given change."""
        self._add("update", table, rows, check)

    def _add(self, kind: ChangeKind, table: str, rows: Any, check: bool) -> None:
        if not self._open:
            raise InvalidChange("This transaction has ended.", hint="Open a new one.")
        self._changes.append(PendingChange(kind, self._named(table), rows, check))

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        if kind is None and self._changes:
            self.version = self._commit(self._changes)
