"""Advice as data: what becomes of each summary, what it is for, and what the workload reads with and without.

Rows are those of the files that a query or a refresh goes through, and those that a refresh writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SummaryAdvice:
    """What should become of a summary: `add`, `extend`, `keep` or `drop`, and the statement that does it.

    `rows` are stored; `upkeep` is read and written by a refresh; `saves` is what all queries of the workload
    together read less because of it. `reason` is one sentence.
    """

    action: str
    view: str
    group_by: tuple[str, ...]
    rows: int
    upkeep: int
    saves: int
    queries: int
    reason: str
    sql: str = ""


@dataclass(frozen=True)
class QueryAdvice:
    """A query of the workload: what it reads, and from where, before the advice is taken and after. `why`
    says what keeps it from being answered from a summary."""

    sql: str
    times: float
    reads: int
    source: str
    reads_after: int
    source_after: str
    why: str = ""


@dataclass(frozen=True)
class Advice:
    """Which summaries to add, extend, keep and drop: print it, or run `to_sql()`."""

    summaries: tuple[SummaryAdvice, ...]
    queries: tuple[QueryAdvice, ...]
    budget: int | None = None
    rows_stored: int = 0
    rows_stored_after: int = 0
    upkeep: int = 0
    upkeep_after: int = 0

    @property
    def changes(self) -> tuple[SummaryAdvice, ...]:
        """What is there to do."""
        return tuple(one for one in self.summaries if one.sql)

    @property
    def rows_read(self) -> int:
        """What the whole workload reads today."""
        return round(sum(query.times * query.reads for query in self.queries))

    @property
    def rows_read_after(self) -> int:
        """What it reads once the advice is taken."""
        return round(sum(query.times * query.reads_after for query in self.queries))

    def __iter__(self) -> Iterator[SummaryAdvice]:
        return iter(self.summaries)

    def to_sql(self) -> str:
        """The statements, one after the other."""
        return "\n\n".join(f"{one.sql};" for one in self.changes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "summaries": [asdict(one) for one in self.summaries],
            "queries": [asdict(query) for query in self.queries],
            "budget": self.budget,
            "rows_read": {"before": self.rows_read, "after": self.rows_read_after},
            "rows_stored": {"before": self.rows_stored, "after": self.rows_stored_after},
            "upkeep": {"before": self.upkeep, "after": self.upkeep_after},
        }

    def totals(self) -> list[str]:
        """What is read, stored and kept fresh in all, before and after."""
        figures = (
            ("the workload reads", self.rows_read, self.rows_read_after),
            ("summaries store", self.rows_stored, self.rows_stored_after),
            ("a refresh reads and writes", self.upkeep, self.upkeep_after),
        )
        return [f"{what} {before:,} rows, then {after:,}" for what, before, after in figures]

    def summary_rows(self) -> list[dict[str, Any]]:
        """The summaries as rows of a table."""
        return [
            {
                "advice": one.action,
                "summary": one.view,
                "group by": ", ".join(one.group_by),
                "rows": one.rows,
                "saves": one.saves,
                "upkeep": one.upkeep,
                "queries": one.queries,
                "why": one.reason,
            }
            for one in self.summaries
        ]

    def query_rows(self) -> list[dict[str, Any]]:
        """The queries as rows of a table."""
        return [
            {
                "times": f"{query.times:g}",
                "reads": query.reads,
                "of": query.source,
                "then": query.reads_after,
                "from": query.source_after,
                "query": " ".join(query.sql.split()),
                "why": query.why,
            }
            for query in self.queries
        ]

    def __str__(self) -> str:
        parts = [aligned(self.summary_rows()) or "No summary is worth its space."]
        parts += ["\n".join(self.totals()), aligned(self.query_rows())]
        return "\n\n".join([*parts, *([self.to_sql()] if self.changes else [])])


def aligned(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a table of plain text; numbers stand to the right."""
    if not rows:
        return ""
    lines = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [isinstance(value, int) for value in rows[0].values()]
    return "\n".join(_line(line, widths, right) for line in lines)


def _line(cells: Iterable[str], widths: Iterable[int], right: Iterable[bool]) -> str:
    padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
    return "  ".join(padded).rstrip()


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
