"""`viewkeeper datalog`: a program becomes materialized views."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, Json, WarehousePath
from viewkeeper.cli.output import console, print_json
from viewkeeper.cli.session import errors_shown, opened

ProgramFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A Datalog program.", exists=True, dir_okay=False)
]
MaxIterations = Annotated[
    int | None, typer.Option("--max-iterations", min=1, help="Rounds that a recursion may take.")
]


def datalog(
    file: ProgramFile,
    max_iterations: MaxIterations = None,
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    json: Json = False,
) -> None:
    """Define one materialized view per derived predicate of a Datalog program."""
    from viewkeeper.datalog.parse import parse_program

    text = file.read_text(encoding="utf-8")
    with errors_shown(json):
        predicates = parse_program(text).predicates
    with opened(warehouse, json) as wh:
        version = wh.datalog(text, max_iterations=max_iterations)
    if json:
        print_json({"views": list(predicates), "version": version})
    else:
        console().print(f"Created {', '.join(predicates)}.", markup=False)
