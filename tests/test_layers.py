"""Packages import only from those below them, as ARCHITECTURE.md draws it."""

from __future__ import annotations

import re

from tests.test_reachable import SOURCE, imported, modules

LAYERS = (
    ("errors", "htmltable", "limits", "side_by_side", "tracing"),
    ("algebra",),
    ("rewrite",),
    ("catalog", "plain", "report", "delta"),
    ("storage",),
    ("arrow", "collected", "sql"),
    ("maintenance", "publishing", "reading"),
    ("datalog", "planning"),
    ("engine",),
    ("views",),
    ("spark",),
    ("workspace",),
    ("refresh", "ddl", "inspect"),
    ("serve",),
    ("cli", "demo", "__main__"),
)
"""From below; those of one layer do not import each other, but for what the warehouse is made of. Modules
that are not named are of the layer of `refresh`."""

TOP = next(place for place, layer in enumerate(LAYERS) if "refresh" in layer)
MIXED = {"errors": {"algebra"}}
"""An error shows names as users wrote them."""


def layer(package: str) -> int:
    return next((place for place, names in enumerate(LAYERS) if package in names), TOP)


def edges() -> set[tuple[str, str]]:
    """Pairs of different packages, the first of which imports from the second."""
    known = modules()
    found = set()
    for name, path in known.items():
        for other in imported(path) & known.keys():
            pair = name.partition(".")[2].split(".")[0], other.partition(".")[2].split(".")[0]
            if pair[0] != pair[1] and all(pair):
                found.add(pair)
    return found


def test_no_package_imports_from_one_above_it() -> None:
    upwards = {
        (mine, other)
        for mine, other in edges()
        if layer(mine) <= layer(other) < TOP or layer(mine) < layer(other)
    }
    assert {pair for pair in upwards if pair[1] not in MIXED.get(pair[0], ())} == set()


def test_the_architecture_draws_these_layers() -> None:
    drawn = re.search(r"```layers\n(.*?)```", (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(), re.S)
    assert drawn is not None
    lines = [tuple(line.split("#")[0].split()) for line in drawn.group(1).strip().splitlines()]
    assert tuple(lines) == LAYERS
