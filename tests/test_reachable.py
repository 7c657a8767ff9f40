"""Every module and function of the package is reached from its public names or from the command line."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.reach import unreached

SOURCE = Path(__file__).parents[1] / "src" / "viewkeeper"
ASKED_FOR_BY_TESTS = {
    "viewkeeper.inspect.repro.changes",  # files that repeat a wrong refresh call it
    "viewkeeper.maintenance.id_diffs.IdView.base_steps",
    "viewkeeper.maintenance.lattice.build.Lattice.bottoms",
    "viewkeeper.maintenance.lattice.build.Lattice.out_of",
    "viewkeeper.maintenance.lattice.build.Lattice.restricted_to",
    "viewkeeper.maintenance.lattice.build.Lattice.tops",
}
ASKED_FOR_BY_SPARK = {
    f"viewkeeper.spark.source.{name}"
    for name in (
        *("FeedStream.initialOffset", "FeedStream.latestOffset", "FeedStream.partitions"),
        *("PushingReader.pushFilters", "TableReader.partitions", "condition_of", "_constant"),
    )
}
"""Methods of the data source, and what these call."""

ENTRIES = ("viewkeeper", "viewkeeper.__main__", "viewkeeper.cli")


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("viewkeeper", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(path: Path) -> set[str]:
    """The modules that a file imports, and what it takes from them: either may be a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def reached(entries: tuple[str, ...]) -> set[str]:
    known, seen = modules(), set()
    waiting = [name for name in entries if name in known]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            packages = {name.rpartition(".")[0]}
            waiting += [other for other in imported(known[name]) | packages if other in known]
    return seen


def test_no_module_is_there_for_tests_alone() -> None:
    assert modules().keys() - reached(ENTRIES) == set()


def test_what_only_the_command_line_uses_is_reached_from_there() -> None:
    unreached = modules().keys() - reached(("viewkeeper",))
    assert "viewkeeper.cli.upkeep" in unreached
    assert "viewkeeper.warehouse" not in unreached


def test_no_function_is_there_for_tests_alone() -> None:
    assert unreached(modules()) == ASKED_FOR_BY_TESTS | ASKED_FOR_BY_SPARK
