"""Commands about the store: `verify`, `compact` and `extend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json, print_records
from viewkeeper.cli.publishing import print_published
from viewkeeper.cli.session import DIFFERENT, opened

if TYPE_CHECKING:
    from viewkeeper.inspect.verification import Verification
    from viewkeeper.refresh.measure import Measurement
    from viewkeeper.warehouse import Warehouse

Views = Annotated[list[str] | None, typer.Argument(help="Views; all when none is named.")]
Measure = Annotated[
    bool, typer.Option("--measure", help="Run every strategy that could refresh the view, and time it.")
]
Deep = Annotated[
    bool, typer.Option("--deep", help="Put the texts of views that it reads in the place of their rows.")
]
Published = Annotated[
    bool, typer.Option("--published", help="Compare the published Delta tables with what they show.")
]
Names = Annotated[list[str] | None, typer.Argument(help="Tables and views; all when none is named.")]

VERDICTS = {
    "right": "[green]equal[/]",
    "different": "[bold red]different[/]",
    "undecided": "[yellow]cannot be decided[/]",
}


def verify(
    views: Views = None,
    measure: Measure = False,
    deep: Deep = False,
    published: Published = False,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Compare views with Spark's answers to their texts; exit code 3 when one differs."""
    if published:
        verify_published(views or (), warehouse, json)
        return
    with opened(warehouse, json) as wh:
        results = [wh.verify(view, deep=deep, measure=measure) for view in views or view_names(wh)]
        if json:
            print_json([result.to_dict() for result in results])
        else:
            print_verified(results)
    if any(result.verdict == "different" for result in results):
        raise typer.Exit(DIFFERENT)


def verify_published(names: Sequence[str], warehouse: str, as_json: bool) -> None:
    """Compares the published Delta tables of some tables and views, or of all."""
    with opened(warehouse, as_json) as wh:
        checks = [wh.verify_published(name) for name in names or wh.published]
        if as_json:
            print_json([check.to_dict() for check in checks])
        else:
            print_published(checks)
    if not all(checks):
        raise typer.Exit(DIFFERENT)


def compact(names: Names = None, warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Fold the layers of tables and views into their main files."""
    with opened(warehouse, json) as wh:
        version = wh.compact(*(names or ()))
        if json:
            print_json({"version": version})
        else:
            console().print(f"Compacted {', '.join(names or ['all tables and views'])}: version {version}.")


def extend(warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Give summaries the hidden columns that let more views derive from them; these are filled anew."""
    with opened(warehouse, json) as wh:
        version = wh.extend_views()
        if json:
            print_json({"version": version, "lattice": wh.lattice().to_dict()})
        else:
            console().print(f"Version {version}. The lattice is now:")
            console().print(str(wh.lattice()), markup=False, soft_wrap=True)


def view_names(wh: Warehouse) -> list[str]:
    return [row.name for row in wh.status() if row.kind == "view"]


def print_verified(results: list[Verification]) -> None:
    """A verdict per view, and the differing rows of those that differ."""
    out = console()
    if not results:
        out.print("There are no views to verify.")
    for result in results:
        out.print(f"{result.view}: {VERDICTS[result.verdict]}")
        for line in (*result.columns, *filter(None, [result.undecided])):
            out.print(f"  {line}", markup=False, soft_wrap=True)
        if result.measured is not None:
            print_measured(result.measured)
        if not result:
            print_records(
                result.missing, "no row is missing", title="missing: in the answer, but not in the view"
            )
            print_records(result.extra, "no row is extra", title="extra: in the view, but not in the answer")


def print_measured(found: Measurement) -> None:
    """Every strategy with the time that was expected of it and the time it took."""
    rows = [
        {
            "strategy": one.strategy + (" (chosen)" if one.chosen else ""),
            "expected seconds": round(one.expected.seconds, 2),
            "seconds": round(one.seconds, 2),
        }
        for one in found.results
    ]
    print_records(rows, "", title=f"{found.ratio:.2f} times the fastest, for the last changes")
