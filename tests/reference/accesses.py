"""Tuple reads and writes of four ways to maintain summary tables: mumick97 Table 1, Appendix A.

recomputation    rows of what a view is computed from (its cheapest parent) + rows of the view
summary-delta    rows of the changes, or of the parent's summary-delta + rows of the summary-delta
counting         changes + groups deleted + rows of those groups in the fact table + groups inserted
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.reference.summary_refresh import batch
from viewkeeper.maintenance.lattice.build import Lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.parents import (
    ParentChoice,
    Statistics,
    choose_for_deltas,
    choose_for_views,
)


@dataclass(frozen=True)
class Accesses:
    """Rows read and written for one view by each method."""

    recomputation: int
    individual: int
    reuse: int
    counting: int

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(
            self.recomputation + other.recomputation,
            self.individual + other.individual,
            self.reuse + other.reuse,
            self.counting + other.counting,
        )


def accesses(nodes: Lattice, known: Statistics) -> dict[str, Accesses]:
    """A row of Table 1 for every view; the changes are to the fact table."""
    fact = {view.fact.name for view in nodes.views}
    by_view = _parents(choose_for_views(nodes, known))
    by_delta = _parents(choose_for_deltas(nodes, known, batch(*fact)))
    return {
        view.name: Accesses(
            recomputation=_read(by_view[view.name], view, known.rows) + known.size(view.name),
            individual=known.changes(view) + known.summary_delta(view),
            reuse=_read(by_delta[view.name], view, known.delta_rows) + known.summary_delta(view),
            counting=_counting(view, known),
        )
        for view in nodes.views
    }


def total(rows: Iterable[Accesses]) -> Accesses:
    return sum(rows, Accesses(0, 0, 0, 0))


def _parents(choices: Iterable[ParentChoice]) -> dict[str, str | None]:
    return {choice.view.name: choice.parent for choice in choices}


def _read(parent: str | None, view: CubeView, rows: Mapping[str, int]) -> int:
    return rows[parent or view.fact.name]


def _counting(view: CubeView, known: Statistics) -> int:
    """Every affected group is deleted, recomputed from its rows of the fact table, and inserted."""
    groups = known.summary_delta(view)
    group_size = known.size(view.fact.name) // known.size(view.name)
    return known.changes(view) + groups + groups * group_size + groups
