"""`viewkeeper sql`: a statement, a file, piped text, or an interactive prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, SqlFile, WarehousePath
from viewkeeper.cli.output import console, print_json, print_table
from viewkeeper.cli.session import errors_shown, opened
from viewkeeper.sql.header import split_statements

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows of a query to show.")]
Statement = Annotated[str | None, typer.Argument(help="SQL; several statements are separated by semicolons.")]


def sql(
    statement: Statement = None,
    file: SqlFile = None,
    limit: Limit = 100,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Run SQL: a statement, a file, piped text, or a prompt when none is given."""
    if statement is not None and file is not None:
        raise typer.BadParameter("give a statement or --file, not both")
    text = _given_text(statement, file)
    if text is None and json:
        raise typer.BadParameter("--json needs a statement, --file or piped text")
    with errors_shown(json):
        statements = split_statements(text) if text is not None else []
    with opened(warehouse, json) as wh:
        if text is None:
            from viewkeeper.cli.prompt import interact

            interact(wh, limit)
        for one in statements:
            run(wh, one, limit, json)


def run(wh: Warehouse, statement: str, limit: int, as_json: bool) -> None:
    """Executes one statement and prints its rows or its message."""
    result = wh.sql(statement)
    if hasattr(result, "message"):
        _print_message(result, as_json)
    else:
        _print_rows(result, limit, as_json)


def _given_text(statement: str | None, file: Path | None) -> str | None:
    if statement is not None:
        return statement
    if file is not None:
        return file.read_text(encoding="utf-8")
    return None if sys.stdin.isatty() else sys.stdin.read()


def _print_message(result: Any, as_json: bool) -> None:
    if as_json:
        print_json({"message": result.message, "version": result.version})
    else:
        console().print(result.message, markup=False)


def _print_rows(frame: Any, limit: int, as_json: bool) -> None:
    from viewkeeper.spark.preview import first_rows

    columns, rows, more = first_rows(frame, limit)
    if as_json:
        records = [dict(zip(columns, row)) for row in rows]
        print_json({"columns": columns, "rows": records, "truncated": more})
        return
    print_table(columns, rows)
    counted = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    console().print(f"[dim]{'first ' if more else ''}{counted}{' (--limit shows more)' if more else ''}[/]")
