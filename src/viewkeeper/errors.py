"""Everything that Viewkeeper raises on purpose.

    ViewkeeperError
    ├── InvalidSQL                 the statement or the view's query cannot be accepted
    │   ├── UnknownTable           a name that is neither a table nor a view
    │   ├── UnknownColumn          a column that no relation in scope has
    │   ├── AmbiguousColumn        a column that several relations in scope have
    │   ├── NotDeterministic       a query whose answer is not a function of its tables
    │   ├── InvalidName            empty, too long, or with a qualifier
    │   └── Unsupported            valid SQL that this statement does not take
    ├── InvalidDatalog             a program that cannot be accepted; points at line and column
    ├── InvalidOption              an option or property with a value that it cannot have
    ├── AlreadyExists              a table or view of that name exists
    ├── NotFound                   no such table, view or version
    ├── DependencyError            a drop or change that something else depends on
    ├── InvalidChange              rows that cannot be applied; nothing was
    │   ├── MissingRows            a deletion of rows that are not there
    │   ├── DuplicateKey           two rows of one key
    │   ├── BrokenForeignKey       a reference to a row that does not exist
    │   ├── NullNotAllowed         NULL in a column declared NOT NULL
    │   └── WrongType              a value or a column that does not fit
    ├── CannotMaintain             policy `strict`, and no incremental strategy takes the view
    ├── CheckFailed                a refresh that gave other rows than the view's text; not committed
    ├── NeedsSpark                 rows that cannot be told exactly without Spark
    ├── Diverged                   a recursion that did not end within its limit
    ├── ConflictError              another writer was first; the change can be tried again
    └── StorageError               the warehouse's files are not as the log says
        └── MissingFile            a data file is gone or cut short

A message has up to three parts: what is wrong, the detail, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewkeeper.algebra.inner_names import shown, with_shown_names


class ViewkeeperError(Exception):
    """Base class. Fields that apply are set: `view`, `table`, `columns`, `rows`, `code`."""

    def __init__(
        self,
        what: str,
        detail: str = "",
        hint: str = "",
        *,
        view: str | None = None,
        table: str | None = None,
        columns: Sequence[str] = (),
        rows: Sequence[Any] = (),
        code: str | None = None,
    ) -> None:
        what, detail, hint = (with_shown_names(part) for part in (what, detail, hint))
        self.what, self.detail, self.hint = what, detail, hint
        self.view, self.table = (None if name is None else shown(name) for name in (view, table))
        self.columns, self.rows = tuple(map(shown, columns)), tuple(rows)
        self.code = code
        super().__init__("\n".join(part for part in (what, detail, hint) if part))


class InvalidSQL(ViewkeeperError):
    """The statement or the view's query cannot be accepted."""


class UnknownTable(InvalidSQL):
    """A name that is neither a table nor a view."""


class UnknownColumn(InvalidSQL):
    """A column that no relation in scope has."""


class AmbiguousColumn(InvalidSQL):
    """A column that several relations in scope have."""


class NotDeterministic(InvalidSQL):
    """A query whose answer is not a function of its tables."""


class InvalidName(InvalidSQL):
    """A name that is empty or too long, or that has a qualifier."""


class Unsupported(InvalidSQL):
    """Valid SQL that this statement does not take."""


class InvalidDatalog(ViewkeeperError):
    """A Datalog program that cannot be accepted."""


class InvalidOption(ViewkeeperError):
    """An option or property with a value that it cannot have."""


class AlreadyExists(ViewkeeperError):
    """A table or view of that name exists."""


class NotFound(ViewkeeperError):
    """No such table, view or version."""


class DependencyError(ViewkeeperError):
    """A drop or change that something else depends on."""


class InvalidChange(ViewkeeperError):
    """Rows that cannot be applied; nothing was."""


class MissingRows(InvalidChange):
    """A deletion or update of rows that are not there."""


class DuplicateKey(InvalidChange):
    """Two rows of one key."""


class BrokenForeignKey(InvalidChange):
    """A reference to a row that does not exist."""


class NullNotAllowed(InvalidChange):
    """NULL in a column declared NOT NULL."""


class WrongType(InvalidChange):
    """A value or a column that does not fit the table."""


class CannotMaintain(ViewkeeperError):
    """No incremental strategy takes the view, and the policy forbids recomputation."""


class CheckFailed(ViewkeeperError):
    """A refresh that would have given other rows than the view's text; `file` tells how to see it."""

    def __init__(self, *parts: str, file: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.file = file


class NeedsSpark(ViewkeeperError):
    """Rows that cannot be told exactly without Spark."""


class Diverged(ViewkeeperError):
    """A recursion that did not end within its limit."""


class ConflictError(ViewkeeperError):
    """Another writer was first; the change can be tried again."""


class StorageError(ViewkeeperError):
    """The warehouse's files are not as its log says."""


class MissingFile(StorageError):
    """A data file is gone or cut short."""
