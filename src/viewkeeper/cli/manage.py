"""Commands about what there is: `create`, `drop`, `changes` and `vacuum`."""

from __future__ import annotations

from typing import Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json
from viewkeeper.cli.session import opened
from viewkeeper.cli.show import show

NewName = Annotated[str, typer.Argument(help="The name of the new table or view.")]
Name = Annotated[str, typer.Argument(help="A table or view.")]
From = Annotated[str | None, typer.Option("--from", metavar="FILE", help="A CSV or Parquet file: its rows.")]
Key = Annotated[str | None, typer.Option(help="The columns of the primary key, separated by commas.")]
As = Annotated[str | None, typer.Option("--as", metavar="SQL", help="The query of a materialized view.")]
Lag = Annotated[str | None, typer.Option(help="How far the view may be behind: '1 minute', downstream.")]
When = Annotated[str | None, typer.Option(help="When the view is refreshed: '0 6 * * *', 'every 2 hours'.")]
Policy = Annotated[str, typer.Option(help="How the view is refreshed: auto, incremental, strict, full.")]
Empty = Annotated[bool, typer.Option("--empty", help="Do not fill the view yet.")]
Cascade = Annotated[bool, typer.Option("--cascade", help="Drop the views that read it too.")]
Since = Annotated[int, typer.Option(help="The version after which the changes are.")]
Until = Annotated[int | None, typer.Option(help="The version up to which; the newest by default.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows to show.")]
Keep = Annotated[int, typer.Option(min=1, help="So many of the newest versions stay.")]


def create(
    name: NewName,
    file: From = None,
    key: Key = None,
    query: As = None,
    target_lag: Lag = None,
    schedule: When = None,
    policy: Policy = "auto",
    empty: Empty = False,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Create a table from a file, or a materialized view from a query."""
    if (file is None) == (query is None):
        raise typer.BadParameter("give --from FILE for a table, or --as SQL for a view")
    if file is not None and (target_lag or schedule or empty):
        raise typer.BadParameter("--target-lag, --schedule and --empty are for views")
    if query is not None and key:
        raise typer.BadParameter("--key is for tables")
    with opened(warehouse, json) as wh:
        if query is not None:
            asked = {"policy": policy, "target_lag": target_lag, "schedule": schedule}
            version = wh.create_view(name, query, populate=not empty, **asked)  # type: ignore[arg-type]
        else:
            version = wh.create_table(name, file, [one.strip() for one in key.split(",")] if key else ())
        told(f"Created {'view' if query is not None else 'table'} {name}", version, json)


def drop(
    name: Name,
    cascade: Cascade = False,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Drop a table or view."""
    with opened(warehouse, json) as wh:
        told(f"Dropped {name}", wh.drop(name, cascade=cascade), json)


def changes(
    name: Name,
    since: Since,
    until: Until = None,
    limit: Limit = 100,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Show what was inserted, deleted and updated since a version. Starts no Spark."""
    show(name, version=until, since=since, limit=limit, warehouse=warehouse, json=json)


def vacuum(keep: Keep = 20, warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Remove old versions, and the files that no kept version needs."""
    with opened(warehouse, json) as wh:
        removed = wh.vacuum(keep)
        if json:
            print_json({"removed": removed})
        else:
            console().print(f"Removed {removed} files; the newest {keep} versions stay.")


def told(what: str, version: int, as_json: bool) -> None:
    if as_json:
        print_json({"message": f"{what}.", "version": version})
    else:
        console().print(f"{what}: version {version}.", markup=False)
