"""What a refresh did: one entry per view, and totals for the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, overload

from viewkeeper.algebra.inner_names import shown
from viewkeeper.htmltable import html_table


@dataclass(frozen=True)
class Reason:
    """Why a strategy was chosen or refused: a code for programs, a sentence for people."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.sentence} [{self.code}]"


@dataclass(frozen=True)
class ViewReport:
    """One view's part of a refresh."""

    view: str
    strategy: str
    reason: Reason
    rows_read: int = 0
    rows_written: int = 0
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "details": dict(self.details)}


def in_users_names(report: ViewReport) -> ViewReport:
    return replace(report, view=shown(report.view))


@dataclass(frozen=True)
class Checked:
    """A view of which a share was compared with the answer to its text: `right`, or `undecided`."""

    view: str
    verdict: str
    share: float
    seconds: float


@dataclass(frozen=True)
class FollowedReport:
    """A followed table of which another version was recorded: which, and how its changes were found, or why
    not.

    `rows` are those of the parts of files that came and went, before they are netted; `rows_read` those of
    the files that were opened to net them.
    """

    table: str
    before: int
    version: int
    how: str
    rows: int = 0
    rows_read: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Report(Sequence[ViewReport]):
    """A whole refresh; a sequence of its views' reports, in the order of the work.

    What `checked` took is in none of the other figures. `followed`: the followed tables that had changed.
    `as_of`: the instant that views which read the clock are the answer for.
    """

    views: tuple[ViewReport, ...]
    version: int
    actions: int = 0
    propagate_seconds: float = 0.0
    refresh_seconds: float = 0.0
    checked: tuple[Checked, ...] = ()
    followed: tuple[FollowedReport, ...] = ()
    as_of: str | None = None

    @property
    def seconds(self) -> float:
        """Both halves: computing the changes, and making them visible."""
        return self.propagate_seconds + self.refresh_seconds

    @overload
    def __getitem__(self, index: int) -> ViewReport: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ViewReport, ...]: ...
    def __getitem__(self, index: int | slice) -> ViewReport | tuple[ViewReport, ...]:
        return self.views[index]

    def __len__(self) -> int:
        return len(self.views)

    def __iter__(self) -> Iterator[ViewReport]:
        return iter(self.views)

    def of(self, view: str) -> ViewReport:
        """The report of one view, by name."""
        return next(entry for entry in self.views if entry.view.lower() == view.lower())

    def _repr_html_(self) -> str:
        """For notebooks: a line per view, and what the refresh cost as a whole."""
        lines = (
            {
                "view": entry.view,
                "strategy": entry.strategy,
                "rows_read": entry.rows_read,
                "rows_written": entry.rows_written,
                "seconds": entry.seconds,
                "reason": entry.reason.sentence,
            }
            for entry in self
        )
        cost = f"version {self.version}, {self.actions} Spark actions, {self.seconds:.2f} s"
        return html_table(lines, "Every view is up to date.", cost)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "actions": self.actions,
            "propagate_seconds": self.propagate_seconds,
            "refresh_seconds": self.refresh_seconds,
            "views": [entry.to_dict() for entry in self.views],
            "checked": [asdict(one) for one in self.checked],
            "followed": [asdict(one) for one in self.followed],
            "as_of": self.as_of,
        }
