"""Commands about views: `refresh`, `status`, `history`, `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.syntax import Syntax

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, Policy, WarehousePath
from viewkeeper.cli.output import console, print_json, print_records
from viewkeeper.cli.progress import bars
from viewkeeper.cli.session import errors_shown, inspected, opened
from viewkeeper.cli.via import refreshed_via

if TYPE_CHECKING:
    from viewkeeper.inspect.status import HistoryEntry
    from viewkeeper.planning.explanation import Explanation
    from viewkeeper.report import Report

View = Annotated[str, typer.Argument(help="The view's name.")]
OneView = Annotated[str | None, typer.Argument(help="The view's name, or the SQL of a view to be.")]
Lattice = Annotated[bool, typer.Option("--lattice", help="Show which views derive which.")]
Svg = Annotated[Path | None, typer.Option(help="Draw the lattice into this file.")]
Mermaid = Annotated[Path | None, typer.Option(help="Write the lattice for Mermaid into this file.")]
Views = Annotated[list[str] | None, typer.Argument(help="Views; all that are stale when none is named.")]
PolicyOption = Annotated[
    Policy | None,
    typer.Option(
        help="auto: the cheapest way; incremental: recompute only where it must; strict: never; full: all."
    ),
]
Check = Annotated[
    float | None,
    typer.Option(help="Compare this share of each changed view with its text before the commit: 0.01, 1."),
]
AsOf = Annotated[
    str | None,
    typer.Option(help="What time it is for views that read the clock: 2026-03-01, 2026-03-01T12:00+01:00."),
]
Via = Annotated[
    str | None, typer.Option(metavar="URL", help="Have a running service do it: http://127.0.0.1:8084.")
]
Full = Annotated[bool, typer.Option("--full", help="Recompute: the same as --policy full.")]


def refresh(
    views: Views = None,
    policy: PolicyOption = None,
    full: Full = False,
    check: Check = None,
    as_of: AsOf = None,
    via: Via = None,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Bring views up to date, all in one commit."""
    if full and policy not in (None, Policy.full):
        raise typer.BadParameter(
            f"--full and --policy {policy.value if policy else ''} contradict each other"
        )
    chosen = Policy.full if full else policy
    if via is not None:
        if check is not None or as_of is not None:
            raise typer.BadParameter("--check and --as-of are not for --via")
        with errors_shown(json), bars(visible=not json) as listener:
            told = refreshed_via(via, views or [], chosen.value if chosen else None, listener)
        if json:
            print_json(told)
        else:
            print_told(told)
        return
    with opened(warehouse, json) as wh:
        asked = chosen.value if chosen else None
        report = wh.refresh(*(views or ()), policy=asked, check=check, as_of=as_of)
        if json:
            print_json(report.to_dict())
        else:
            print_report(report)


def status(warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Show each table and view: its version, how stale it is, how large it is."""
    with inspected(warehouse, json) as wh:
        rows = [row.to_dict() for row in wh.status()]
        if json:
            print_json(rows)
        else:
            print_records(rows, f"The warehouse {warehouse} is empty.")


def history(view: View, warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Show what each refresh of a view did."""
    with inspected(warehouse, json) as wh:
        entries = wh.history(view)
        if json:
            print_json([entry.to_dict() for entry in entries])
        else:
            print_records([_line(entry) for entry in entries], f"{view} has no history.")


def _line(entry: HistoryEntry) -> dict[str, Any]:
    """What was chosen and why, what it was expected to cost and did, and the runner-up."""
    report = entry.report
    details = report.get("details", {})
    others = {n: e["seconds"] for n, e in details.get("alternatives", {}).items() if n != report["strategy"]}
    best = min(others, key=others.__getitem__, default=None)
    return {
        "version": entry.version,
        "written": entry.written[:19],
        "operation": entry.operation,
        "strategy": report.get("strategy"),
        "rows_read": report.get("rows_read"),
        "rows_written": report.get("rows_written"),
        "seconds": round(report["seconds"], 3) if report else None,
        "expected": round(details["estimate"]["seconds"], 3) if "estimate" in details else None,
        "instead_of": f"{best} ({others[best]:.2g} s)" if best else None,
        "reason": report.get("reason") or entry.failure or None,
    }


def explain(
    view: OneView = None,
    lattice: Lattice = False,
    svg: Svg = None,
    mermaid: Mermaid = None,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Show how a view would be maintained: strategy, reasons, rejected alternatives, SQL; or the lattice."""
    drawing = lattice or svg is not None or mermaid is not None
    if drawing == (view is not None):
        raise typer.BadParameter("name a view, or ask for --lattice")
    if view is None:
        draw(svg, mermaid, warehouse, json)
        return
    shown = _explained(view, warehouse, json)
    if json:
        print_json(shown.to_dict())
    else:
        print_explanation(shown)


def _explained(view: str, warehouse: str, as_json: bool) -> Explanation:
    """Without Spark where it need not be asked."""
    with inspected(warehouse, as_json) as wh:
        settled = wh.explain(view)
    if settled is not None:
        return settled
    with opened(warehouse, as_json) as whole:
        return whole.explain(view)


def draw(svg: Path | None, mermaid: Path | None, warehouse: str, as_json: bool) -> None:
    """Prints the lattice, and writes it where that is asked for."""
    with inspected(warehouse, as_json) as wh:
        drawing = wh.lattice()
        if svg is not None:
            svg.write_text(drawing.to_svg(), encoding="utf-8")
        if mermaid is not None:
            mermaid.write_text(drawing.to_mermaid(), encoding="utf-8")
        if as_json:
            print_json(drawing.to_dict())
        else:
            console().print(str(drawing), markup=False, soft_wrap=True)


def print_explanation(shown: Explanation) -> None:
    """The choice and its alternatives as a table, then the plan and the script, with SQL coloured."""
    from viewkeeper.planning.explanation import FIGURES

    out = console()
    out.print(f"[bold]{escape(shown.view)}[/]: [bold green]{escape(shown.strategy)}[/]")
    out.print(f"{escape(str(shown.reason))}, for changes of {escape(', '.join(shown.changed) or 'nothing')}")
    costs = [{"strategy": name, "seconds": cost.seconds, "why": str(cost)} for name, cost in shown.expected]
    refused = [{"strategy": name, "seconds": None, "why": str(why)} for name, why in shown.rejected]
    print_records([*costs, *refused], "No strategy was asked.")
    for line in (*(f"keeps {kept}" for kept in shown.kept()), *_last(shown)):
        out.print(escape(line))
    out.print(f"\n[bold]The view[/]\n{escape(shown.plan)}", soft_wrap=True)
    for number, step in enumerate(shown.steps, start=1):
        out.print(f"\n[bold]Step {number}.[/] {escape(step.title)}", soft_wrap=True)
        if step.sql:
            out.print(Syntax(step.sql, "sql", background_color="default", word_wrap=True))
    if shown.figures:
        out.print(f"\n[bold]{FIGURES}[/]")
        out.print(Syntax(shown.figures, "sql", background_color="default", word_wrap=True))


def _last(shown: Explanation) -> list[str]:
    from viewkeeper.planning.explanation import shared_with

    parent = [f"by way of {shown.parent}"] if shown.parent else []
    note = [shown.note] if shown.note else []
    last = [f"last: {shown.last_refresh()}"] if shown.last else []
    return [*note, *shown.why_alone(), *parent, *shared_with(shown.shares), *last]


def print_report(report: Report) -> None:
    """One line per view, then what the refresh cost as a whole."""
    print_told(report.to_dict())


def print_told(report: Mapping[str, Any]) -> None:
    """The same of a report as plain data."""
    entries = [
        {
            "view": entry["view"],
            "strategy": entry["strategy"],
            "rows_read": entry["rows_read"],
            "rows_written": entry["rows_written"],
            "seconds": round(entry["seconds"], 3),
            "expected": _expected_seconds(entry),
            "reason": entry["reason"]["sentence"],
        }
        for entry in report["views"]
    ]
    print_records(entries, "Every view is up to date.")
    if entries:
        console().print(
            f"[dim]version {report['version']}, {report['actions']} Spark actions, "
            f"propagate {report['propagate_seconds']:.2f} s, refresh {report['refresh_seconds']:.2f} s[/]"
        )


def _expected_seconds(entry: Mapping[str, Any]) -> float | None:
    estimate = entry["details"].get("estimate")
    return round(estimate["seconds"], 3) if estimate else None
