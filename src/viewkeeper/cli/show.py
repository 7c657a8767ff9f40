"""`viewkeeper show NAME`: the rows of a table or view, read without Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json, print_table
from viewkeeper.cli.session import errors_shown

Name = Annotated[str, typer.Argument(help="A table or view.")]
Columns = Annotated[str | None, typer.Option("--columns", "-c", help="Columns, separated by commas.")]
Where = Annotated[str | None, typer.Option(help="A condition over its columns: region = 'EU' AND q > 3.")]
Version = Annotated[int | None, typer.Option(help="An earlier version of the warehouse.")]
Since = Annotated[int | None, typer.Option(help="Show what changed since this version.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows to show.")]


def show(
    name: Name,
    columns: Columns = None,
    where: Where = None,
    version: Version = None,
    since: Since = None,
    limit: Limit = 100,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Show the rows of a table or view, or what changed in it. Starts no Spark."""
    from viewkeeper.reading import changes, read

    if since is not None and (columns or where):
        raise typer.BadParameter("--since shows whole rows: it takes neither --columns nor --where")
    chosen = [one.strip() for one in columns.split(",")] if columns else None
    with errors_shown(json):
        if since is None:
            found = read(warehouse, name, version, chosen, where)
        else:
            found = changes(warehouse, name, since, version)
    names, table = found.table.column_names, found.table.slice(0, limit)
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    if json:
        records = [dict(zip(names, row, strict=True)) for row in rows]
        print_json({"columns": names, "rows": records, "version": found.version, "total": len(found)})
        return
    print_table(names, rows)
    more = f" of {len(found):,} (--limit shows more)" if len(found) > limit else ""
    console().print(f"[dim]{len(rows):,}{more} rows, version {found.version}[/]")
