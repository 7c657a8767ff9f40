"""Commands about Delta tables for other readers: `publish`, `unpublish`, and `verify --published`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json, print_records
from viewkeeper.cli.session import opened

if TYPE_CHECKING:
    from viewkeeper.published import PublishedCheck

Name = Annotated[str, typer.Argument(help="A table or view.")]
Place = Annotated[str | None, typer.Option("--to", help="Where: published/NAME in the warehouse by default.")]


class Mode(StrEnum):
    """What becomes of rows that go."""

    merge_on_read = "merge-on-read"
    copy_on_write = "copy-on-write"


ModeOption = Annotated[
    Mode, typer.Option(help="Mark rows that go by deletion vectors, or write their files anew.")
]
Feed = Annotated[bool, typer.Option("--cdf", help="With a change data feed.")]
Partition = Annotated[str | None, typer.Option("--partition-by", help="Columns, separated by commas.")]
Cluster = Annotated[str | None, typer.Option("--cluster-by", help="Columns, separated by commas.")]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def publish(
    name: Name,
    to: Place = None,
    mode: ModeOption = Mode.merge_on_read,
    cdf: Feed = False,
    partition_by: Partition = None,
    cluster_by: Cluster = None,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Keep a plain Delta table equal to a table or view, for readers without Viewkeeper."""
    with opened(warehouse, json) as wh:
        columns = {"partition_by": _names(partition_by), "cluster_by": _names(cluster_by)}
        place = wh.publish(name, to, mode=mode.value, cdf=cdf, **columns)
        if json:
            print_json({"name": name, "place": place, "version": wh.version})
        else:
            console().print(f"{name} is published at {place}.", markup=False, soft_wrap=True)


def unpublish(name: Name, warehouse: WarehousePath = DEFAULT_WAREHOUSE, json: Json = False) -> None:
    """Publish a table or view no longer, and remove its Delta table."""
    with opened(warehouse, json) as wh:
        version = wh.unpublish(name)
        if json:
            print_json({"name": name, "version": version})
        else:
            console().print(f"{name} is published no longer: version {version}.", markup=False)


def print_published(checks: list[PublishedCheck]) -> None:
    """A verdict per published table, and the rows that differ."""
    out = console()
    for check in checks:
        verdict = "[green]equal[/]" if check else "[bold red]different[/]"
        out.print(f"{check.name}: {verdict}, published at version {check.version}")
        if not check:
            print_records(check.missing, "no row is missing", title="missing from the published table")
            print_records(check.extra, "no row is extra", title="only in the published table")
