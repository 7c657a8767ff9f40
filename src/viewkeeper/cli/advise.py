"""`viewkeeper advise`: which summaries a workload is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json, print_records
from viewkeeper.cli.session import errors_shown, opened
from viewkeeper.sql.header import split_statements

File = Annotated[
    Path | None,
    typer.Option("--workload", exists=True, dir_okay=False, help="Queries, separated by semicolons."),
]
Budget = Annotated[int | None, typer.Option(min=0, help="Rows that all summaries together may store.")]
Most = Annotated[int | None, typer.Option(min=0, help="Summaries to choose at most.")]
Refreshes = Annotated[float, typer.Option(min=0.0, help="Refreshes while the workload is asked once.")]
OnlySql = Annotated[bool, typer.Option("--sql", help="Print only the statements, to be run.")]


def advise(
    workload: File = None,
    budget: Budget = None,
    most: Most = None,
    refreshes: Refreshes = 1.0,
    sql: OnlySql = False,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Say which summaries to add, extend, keep and drop, for given queries or those that were logged."""
    with errors_shown(json):
        queries = None if workload is None else split_statements(workload.read_text(encoding="utf-8"))
    with opened(warehouse, json) as wh:
        found = wh.advise(queries, budget, most=most, refreshes=refreshes)
    if json:
        print_json(found.to_dict())
    elif sql:
        print(found.to_sql())
    else:
        print_records(found.summary_rows(), "No summary is worth its space.")
        console().print("\n".join(found.totals()), markup=False)
        print_records(found.query_rows(), "")
        console().print(found.to_sql(), markup=False, soft_wrap=True)
