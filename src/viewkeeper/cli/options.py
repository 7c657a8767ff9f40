"""Options that commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

WarehousePath = Annotated[
    str,
    typer.Option(
        "--warehouse",
        "-w",
        metavar="PATH",
        envvar="VIEWKEEPER_WAREHOUSE",
        help="The warehouse: a directory or an object store's address.",
    ),
]
DEFAULT_WAREHOUSE = "warehouse"

Json = Annotated[bool, typer.Option("--json", help="Print JSON, without progress bars.")]

SqlFile = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", metavar="FILE", help="Run the statements of a file.", exists=True, dir_okay=False
    ),
]


class Policy(StrEnum):
    """How a refresh may work."""

    auto = "auto"
    incremental = "incremental"
    strict = "strict"
    full = "full"
