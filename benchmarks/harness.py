"""What workloads share: a Spark session, a clock, and the one table that they print.

Machines differ and are noisy, so a claim is a *ratio* of two measurements of one run, taken in
turn (A, B, A, B, …) so that a slow minute hits both sides; the medians are compared.

    table = Table("store", "plain Spark")
    table.add("bulk load", compare(ours, theirs, repeat=3), limit=1.5)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from rich import box
from rich.table import Table as RichTable

from viewkeeper.cli.output import console
from viewkeeper.spark.start import COMPILED


@dataclass(frozen=True)
class Comparison:
    """Medians in seconds (or any other cost) of the same work done in two ways."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.theirs else float("inf")


@dataclass(frozen=True)
class Line:
    what: str
    cost: Comparison
    limit: float | None = None
    unit: str = "s"
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.limit is None or self.cost.ratio <= self.limit

    def to_dict(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": self.cost.ours,
            "theirs": self.cost.theirs,
            "ratio": self.cost.ratio,
            "limit": self.limit,
            "holds": self.holds,
            **self.detail,
        }


@dataclass
class Table:
    """The result of a workload; `rival` says what it is compared with."""

    name: str
    rival: str
    lines: list[Line] = field(default_factory=list)

    def add(
        self, what: str, cost: Comparison, limit: float | None = None, unit: str = "s", **detail: Any
    ) -> Line:
        """`detail` holds further columns: what the work read and wrote, say. Prints progress."""
        line = Line(what, cost, limit, unit, detail)
        self.lines.append(line)
        print("  ".join(filter(None, _cells(line))), file=sys.stderr, flush=True)
        return line

    @property
    def holds(self) -> bool:
        return all(line.holds for line in self.lines)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "rival": self.rival, "lines": [line.to_dict() for line in self.lines]}

    def show(self) -> None:
        shown = RichTable(title=f"{self.name}: viewkeeper against {self.rival}", box=box.SIMPLE_HEAD)
        shown.add_column("what")
        for heading in ("viewkeeper", self.rival, "ratio", "at most"):
            shown.add_column(heading, justify="right")
        more = list(dict.fromkeys(name for line in self.lines for name in line.detail))
        for name in more:
            shown.add_column(name.replace("_", " "), justify="right")
        for line in self.lines:
            cells = (_text(line.detail.get(name)) for name in more)
            shown.add_row(*_cells(line), *cells, style=None if line.holds else "red")
        console().print(shown)


def _cells(line: Line) -> tuple[str, ...]:
    limit = "" if line.limit is None else f"{line.limit:g}"
    ours, theirs = (f"{value:.4g} {line.unit}" for value in (line.cost.ours, line.cost.theirs))
    return line.what, ours, theirs, f"{line.cost.ratio:.2f}", limit


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 3) -> Comparison:
    """Times both sides in turn; each side sees the same caches and the same noise."""
    times = [(seconds(ours), seconds(theirs)) for _ in range(repeat)]
    return Comparison(median(mine for mine, _ in times), median(other for _, other in times))


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def spark_session(memory: str = "2g", cores: int = 2) -> Iterator[SparkSession]:
    """Local Spark; the rival is measured on it too."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("viewkeeper-bench")
    settings = {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.codegen.cache.maxEntries": COMPILED,
    }
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="viewkeeper-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
