"""`viewkeeper demo`: a retail warehouse, a day of changes, a refresh, and the proof that it is right."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.markup import escape

from viewkeeper.cli.options import Json
from viewkeeper.cli.output import console, print_json, print_table
from viewkeeper.cli.session import DIFFERENT, errors_shown, opened
from viewkeeper.cli.upkeep import print_verified
from viewkeeper.cli.views import print_report
from viewkeeper.demo import retail
from viewkeeper.errors import AlreadyExists

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

T = TypeVar("T")

MARK = ".viewkeeper-demo"
"""A file that says that a folder is a demo's, so that the next demo may replace it."""

REGIONS_SHOWN = 10
STEPS = 5 + len(retail.VIEWS)

Rows = Annotated[int, typer.Option(help="Sales in the fact table.", min=1)]
DemoPath = Annotated[Path, typer.Option("--path", help="Where the demo's warehouse is made; it stays there.")]


@dataclass
class Steps:
    """What the demo did and how long each step took."""

    wh: Warehouse
    done: list[dict[str, Any]] = field(default_factory=list)

    def timed(self, step: str, work: Callable[[], T]) -> T:
        self.announce(step)
        started = time.perf_counter()
        result = work()
        self.done.append({"step": step, "seconds": round(time.perf_counter() - started, 2)})
        return result

    def announce(self, step: str) -> None:
        from viewkeeper.workspace import ProgressEvent

        if self.wh.on_progress is not None:
            self.wh.on_progress(ProgressEvent("demo:", step, len(self.done), STEPS))

    def show(self) -> None:
        print_table(["step", "seconds"], [(step["step"], step["seconds"]) for step in self.done])


def demo(rows: Rows = 500_000, path: DemoPath = Path("demo-warehouse"), json: Json = False) -> None:
    """Build the retail warehouse of the summary-delta paper, change it, refresh it, verify it."""
    with errors_shown(json):
        claim(path)
    with opened(str(path), json) as wh:
        outcome = play(wh, rows, json)
    if not outcome:
        raise typer.Exit(DIFFERENT)


def play(wh: Warehouse, rows: int, as_json: bool) -> bool:
    """All steps; whether every view equals its recomputation at the end."""
    steps = Steps(wh)
    steps.timed("create the tables pos, stores, items", lambda: retail.create_tables(wh))
    steps.timed(f"load {rows:,} sales", lambda: retail.load(wh, rows))
    for name in retail.VIEWS:
        steps.timed(f"create the view {name}", lambda name=name: retail.create_view(wh, name))  # type: ignore[misc]
    day = steps.timed("apply a day of changes", lambda: retail.apply_day(wh, rows))
    report = steps.timed("refresh the four views", lambda: wh.refresh(policy="incremental"))
    checks = steps.timed("verify them by recomputation", lambda: [wh.verify(name) for name in retail.VIEWS])
    if as_json:
        print_json(
            {
                "rows": rows,
                "day": asdict(day),
                "steps": steps.done,
                "report": report.to_dict(),
                "lattice": wh.lattice().to_dict(),
                "verified": [check.to_dict() for check in checks],
            }
        )
    else:
        narrate(wh, rows, day, steps, report, checks)
    return all(checks)


def narrate(wh: Warehouse, rows: int, day: retail.Day, steps: Steps, report: Any, checks: list[Any]) -> None:
    out = console()
    inserted = f"{day.inserted:,} sales inserted ({day.sold_earlier:,} of earlier dates)"
    out.print(f"\n[bold]A retail warehouse[/] of {rows:,} sales, four summary tables, one day of changes:")
    out.print(f"{inserted}, {day.taken_back:,} deleted.\n")
    steps.show()
    out.print("[bold]The lattice of the views[/]: ┗━ what each one derives from at the least cost")
    out.print(str(wh.lattice()), markup=False)
    out.print("\n[bold]What the refresh did[/]")
    print_report(report)
    out.print("\n[bold]Compared with recomputation[/]")
    print_verified(checks)
    out.print("\n[bold]Sales by region[/], from the view sR_sales")
    frame = retail.biggest_regions(wh)
    print_table(frame.columns, [tuple(row) for row in frame.limit(REGIONS_SHOWN).collect()])
    out.print(
        f"\n[bold]To look at it[/]: viewkeeper serve -w {escape(wh.path)}, then open http://127.0.0.1:8084"
    )


def claim(path: Path) -> None:
    """Makes the demo's folder; replaces an earlier demo's, and nothing else."""
    if path.is_file():
        raise AlreadyExists(f"{path} is a file.", hint="Give a folder with --path.")
    if path.exists() and any(path.iterdir()):
        if not (path / MARK).exists():
            raise AlreadyExists(
                f"The folder {path} holds something that is not a demo's.",
                hint="Give another folder with --path.",
            )
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / MARK).touch()
