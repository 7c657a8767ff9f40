"""An in-memory warehouse, so that the command line is tested without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from viewkeeper.advise.advice import Advice, QueryAdvice, SummaryAdvice
from viewkeeper.cli import app, session
from viewkeeper.errors import ConflictError, NotFound, UnknownTable
from viewkeeper.inspect.status import HistoryEntry
from viewkeeper.inspect.verification import Verification
from viewkeeper.planning.cost import Estimate
from viewkeeper.planning.explanation import ExplainedStep, Explanation
from viewkeeper.published import PublishedCheck
from viewkeeper.refresh.measure import Measured, Measurement
from viewkeeper.report import Reason as Known


@dataclass
class Rows:
    columns: list[str]
    rows: list[tuple[Any, ...]]

    def limit(self, count: int) -> Rows:
        return Rows(self.columns, self.rows[:count])

    def collect(self) -> list[tuple[Any, ...]]:
        return self.rows


@dataclass
class Done:
    message: str
    version: int


@dataclass
class Reason:
    code: str
    sentence: str


@dataclass
class Entry:
    view: str
    strategy: str = "counting"
    reason: Reason = field(default_factory=lambda: Reason("cheapest", "it reads the fewest rows"))
    rows_read: int = 12
    rows_written: int = 3
    seconds: float = 0.25
    details: dict[str, Any] = field(default_factory=lambda: {"estimate": {"seconds": 0.5}})


class Report(list[Entry]):
    actions = 4
    propagate_seconds = 0.5
    refresh_seconds = 0.25
    version = 8

    def to_dict(self) -> dict[str, Any]:
        return {
            "views": [asdict(entry) for entry in self],
            "version": self.version,
            "actions": self.actions,
            "propagate_seconds": self.propagate_seconds,
            "refresh_seconds": self.refresh_seconds,
        }


@dataclass
class Line:
    name: str
    version: int
    kind: str = "view"
    commits_behind: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


COUNTING, AGAIN = Estimate(12, 3, 1, 0.5), Estimate(1000, 900, 1, 2.0)

EXPLAINED = Explanation(
    "v",
    "counting",
    Known("incremental", "Only the change is computed."),
    (("counting", COUNTING), ("recompute", AGAIN)),
    (("id-diffs", Known("no-key", "The table t has no primary key to tell its rows apart.")),),
    ("t",),
    "scan t [new] (a)",
    (("__v_1", 7),),
    (ExplainedStep("Append to v", "SELECT a FROM t__delta"),),
    {"strategy": "counting", "seconds": 0.25, "rows_read": 12, "rows_written": 3, "details": {}},
)

MEASURED = Measurement(
    "v", 6, 0.1, (Measured("counting", COUNTING, 0.6, True), Measured("recompute", AGAIN, 0.5, False))
)


ADVICE = Advice(
    (
        SummaryAdvice(
            "add",
            "t_by_a",
            ("a",),
            10,
            20,
            980,
            1,
            "It answers 1 of 1 queries.",
            "CREATE MATERIALIZED VIEW t_by_a",
        ),
    ),
    (QueryAdvice("SELECT a, COUNT(*) FROM t GROUP BY a", 1, 1000, "t", 10, "t_by_a"),),
    rows_stored_after=10,
    upkeep_after=20,
)


class Drawing:
    def __str__(self) -> str:
        return "v  (a)"

    def to_svg(self) -> str:
        return "<svg/>"

    def to_mermaid(self) -> str:
        return "flowchart TD"

    def to_dict(self) -> dict[str, Any]:
        return {"views": ["v"]}


class Double:
    """What the command line needs of a warehouse; `log` is what it was asked to do."""

    def __init__(self) -> None:
        self.tables = ["t"]
        self.views = ["v", "w"]
        self.wrong: set[str] = set()
        self.log: list[tuple[Any, ...]] = []
        self.on_progress: Callable[..., None] | None = None

    def sql(self, text: str) -> Rows | Done:
        self.log.append(("sql", text))
        if "nowhere" in text:
            raise UnknownTable(
                "There is no table nowhere.", "It is read in FROM [nowhere].", "Create it first."
            )
        if "conflict" in text:
            raise ConflictError("Another writer was first.", hint="Try again.")
        if text.upper().startswith("SELECT"):
            return Rows(["n", "t"], [(number, f"[row {number}]") for number in range(5)])
        return Done("Created table t.", 7)

    def refresh(
        self, *names: str, policy: str | None = None, check: float | None = None, as_of: str | None = None
    ) -> Report:
        self.log.append(("refresh", names, policy))
        return Report(Entry(name) for name in names or self.views)

    def status(self) -> list[Line]:
        return [*(Line(table, 7, "table") for table in self.tables), *(Line(view, 7) for view in self.views)]

    def history(self, view: str) -> list[HistoryEntry]:
        if view not in self.views:
            raise NotFound(f"There is no view {view}.", view=view)
        done = {
            "strategy": "counting",
            "reason": {"code": "incremental", "sentence": "Only the change is computed."},
            "rows_read": 12,
            "rows_written": 3,
            "seconds": 0.25,
            "details": {
                "estimate": {"seconds": 0.5},
                "alternatives": {"counting": {"seconds": 0.5}, "recompute": {"seconds": 2.0}},
            },
        }
        return [
            HistoryEntry(6, "2024-01-01T00:00:00", f"create view {view}"),
            HistoryEntry(7, "", "refresh", done),
        ]

    def verify(self, view: str, *, deep: bool = False, measure: bool = False) -> Verification:
        missing = [{"a": 1, "b": None}] if view in self.wrong else []
        return Verification(view, (), tuple(missing), measured=MEASURED if measure else None)

    def advise(
        self, workload: list[str] | None, budget: int | None, *, most: int | None, refreshes: float
    ) -> Advice:
        self.log.append(("advise", workload, budget, most, refreshes))
        return ADVICE

    def create_view(self, name: str, query: str, **options: Any) -> int:
        self.log.append(("create view", name, query, options))
        return 9

    def create_table(self, name: str, rows: str, key: Any) -> int:
        self.log.append(("create table", name, rows, tuple(key)))
        return 9

    def drop(self, name: str, *, cascade: bool) -> int:
        self.log.append(("drop", name, cascade))
        return 9

    def vacuum(self, keep: int) -> int:
        self.log.append(("vacuum", keep))
        return 3

    def extend_views(self) -> int:
        self.log.append(("extend",))
        return 9

    def compact(self, *names: str) -> int:
        self.log.append(("compact", names))
        return 9

    def explain(self, view: str) -> Explanation:
        return EXPLAINED

    def lattice(self) -> Drawing:
        return Drawing()

    def publish(self, name: str, to: str | None, *, mode: str, **layout: object) -> str:
        self.log.append(("publish", name, to, mode, *layout.values()))
        return to or f"here/published/{name}"

    def unpublish(self, name: str) -> int:
        return 10

    @property
    def published(self) -> dict[str, str]:
        return {view: f"here/published/{view}" for view in self.views}

    def verify_published(self, name: str) -> PublishedCheck:
        missing = ({"a": 1, "b": None},) if name in self.wrong else ()
        return PublishedCheck(name, self.published[name], 7, missing)

    version = 9

    def close(self) -> None:
        self.log.append(("close",))


@pytest.fixture
def warehouse(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    double = Double()

    def open_double(path: str) -> Double:
        double.log.append(("open", path))
        return double

    monkeypatch.setattr(session, "open_warehouse", open_double)
    monkeypatch.setattr(session, "open_log", open_double)
    return double


@pytest.fixture
def run(warehouse: Double, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command line against the double."""
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return invoke
