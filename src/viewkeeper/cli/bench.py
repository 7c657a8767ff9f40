"""`viewkeeper bench NAME`: a workload of the folder `benchmarks/`, against recomputation."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from viewkeeper.cli.options import Json
from viewkeeper.cli.output import print_json
from viewkeeper.cli.session import errors_shown
from viewkeeper.errors import NotFound

BENCHMARKS = "benchmarks"
NOT_WORKLOADS = ("harness", "retail_plots", "__init__")

Name = Annotated[str, typer.Argument(help="A workload: the name of a file in benchmarks/.")]
Scale = Annotated[float, typer.Option(help="Size of the data, relative to the workload's own.", min=0.0001)]
Quick = Annotated[bool, typer.Option("--quick", help="A hundredth of the size.")]

QUICK = 0.01


def bench(name: Name, scale: Scale = 1.0, quick: Quick = False, json: Json = False) -> None:
    """Run a benchmark and print one table of ratios against recomputation."""
    with errors_shown(json):
        table = run_workload(find_workload(name), QUICK if quick else scale)
        if json:
            print_json(table.to_dict())
        else:
            table.show()


def find_workload(name: str) -> Path:
    """The workload's file: benchmarks live beside the package in a clone, not inside it."""
    folder = benchmarks_folder()
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in NOT_WORKLOADS)
    if name not in names:
        known = ", ".join(names) or "none here: benchmarks/ comes with a clone of the repository"
        raise NotFound(f"There is no benchmark {name!r}.", hint=f"Benchmarks: {known}.")
    return folder / f"{name}.py"


def benchmarks_folder() -> Path:
    """In the working directory, or at the root of the clone that this package was installed from."""
    here = Path.cwd() / BENCHMARKS
    return here if here.is_dir() else Path(__file__).parents[3] / BENCHMARKS


def run_workload(path: Path, scale: float) -> Any:
    """Calls the workload's `run(scale)`, which returns a `harness.Table`."""
    sys.path.insert(0, str(path.parent.parent))
    workload = importlib.import_module(f"{BENCHMARKS}.{path.stem}")
    return workload.run(scale)
