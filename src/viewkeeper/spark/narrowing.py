"""What a plan needs of the files behind its leaves, for readers that Spark cannot ask for less.

π_a σ_{b > 3} (main)     needs the columns a and b of main, and of its files those that may hold b > 3
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewkeeper.algebra.prune import needed_columns
from viewkeeper.algebra.relations import Filter, Reference, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.arrow.ranges import ranges_of
from viewkeeper.sql.render import state_name
from viewkeeper.storage.footers import overlaps
from viewkeeper.storage.relation import DataFile

_LOW = re.compile(r"(\d{4}-\d\d-\d\d)?", re.ASCII)
_HIGH = re.compile(r"\d{4}-\d\d-\d\d|\U0010ffff+", re.ASCII)
"""A date, or no end."""

Ranges = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Needed:
    """The columns of a leaf that a plan uses, and ranges of which every row that it uses is in one."""

    columns: frozenset[str]
    within: Sequence[Ranges]

    def may_be_in(self, file: DataFile, columns: Sequence[Column]) -> bool:
        """Whether a file may hold rows that the plan uses. Spark reads many texts as dates ('2024' is one):
        only those that are written as ranges are can be compared with them."""
        dates = {column.name for column in columns if column.type == "date"}
        return any(
            overlaps(file, {n: ends for n, ends in ranges.items() if n not in dates or _are_dates(ends)})
            for ranges in self.within
        )


def _are_dates(ends: tuple[Any, Any]) -> bool:
    low, high = ends
    return isinstance(low, str) and bool(_LOW.fullmatch(low)) and bool(_HIGH.fullmatch(high))


def needed_of_leaves(plan: Relation) -> dict[str, Needed]:
    """What a plan needs of its leaves, by the names that SQL gives them."""
    columns: dict[str, frozenset[str]] = {}
    within: dict[str, list[Ranges]] = {}
    for node, names in needed_columns(plan).items():
        if isinstance(node, Scan | Reference):
            known = columns.get(state_name(node), frozenset())
            columns[state_name(node)] = known | frozenset(_stored(node).get(name, name) for name in names)
    for leaf, ranges in _uses(plan):
        within.setdefault(state_name(leaf), []).append(ranges)
    return {name: Needed(used, within[name]) for name, used in columns.items()}


def _uses(plan: Relation) -> list[tuple[Scan | Reference, Ranges]]:
    """Every leaf, once for each node above it, with the ranges that this one leaves it in."""
    found: list[tuple[Scan | Reference, Ranges]] = []
    if isinstance(plan, Scan | Reference):
        found.append((plan, {}))
    for node in nodes(plan):
        for child in children(node):
            if isinstance(child, Scan | Reference):
                known = ranges_of(node.condition) if isinstance(node, Filter) else {}
                stored = _stored(child)
                found.append((child, {stored.get(name, name): ends for name, ends in known.items()}))
    return found


def _stored(leaf: Scan | Reference) -> dict[str, str]:
    """How the columns of a scan are called where they are stored."""
    return {one.name: one.source.name for one in leaf.bound} if isinstance(leaf, Scan) else {}


__all__ = ["Needed", "needed_of_leaves"]
