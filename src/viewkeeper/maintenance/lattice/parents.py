"""Choosing each node's parent by cost: mumick97 section 5.5.

    cost(v1 → v2)  =  rows read of v1, and for every join annotation as many probes and the dimension itself
                      + where that dimension changed, the stored v1, which stands in for the fact table
    cost(base → v) =  changed rows, joins likewise; + the fact table where a dimension changed

A child waits for its parent's summary-delta, while the changes themselves are there from the start: `waiting`
says how many rows it must save for that. Rows of summary-deltas are those measured before, or estimated:
never more than the changes, the stored view, or the product of the distinct values of the group-by columns.
The choice for one node does not change the cost of another, so that the cheapest edge into each node gives
the cheapest plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from viewkeeper.maintenance.lattice.build import Lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts

UNKNOWN_ROWS = 1_000_000
JOIN_SHARE = 0.5
"""What a probe into a dimension costs, in rows read."""


@dataclass(frozen=True)
class Statistics:
    """Sizes: of tables and stored views, of changes and summary-deltas, distinct values of attributes."""

    rows: Mapping[str, int] = field(default_factory=dict)
    delta_rows: Mapping[str, int] = field(default_factory=dict)
    distinct: Mapping[str, int] = field(default_factory=dict)

    def size(self, name: str) -> int:
        return self.rows.get(name, UNKNOWN_ROWS)

    def changes(self, view: CubeView) -> int:
        return self.delta_rows.get(view.fact.name, 0)

    def summary_delta(self, view: CubeView) -> int:
        """Rows of the view's summary-delta."""
        if view.name in self.delta_rows:
            return self.delta_rows[view.name]
        groups = 1
        for key in view.all_keys:
            groups *= self.distinct.get(key.expr.name if key.is_column else key.name, UNKNOWN_ROWS)
        return min(groups, self.changes(view) or UNKNOWN_ROWS, self.size(view.name))


@dataclass(frozen=True)
class ParentChoice:
    """How a node is computed: by an edge, or from the base (none); with what was rejected and its cost."""

    view: CubeView
    edge: Edge | None
    cost: float
    rejected: tuple[tuple[str, float], ...] = ()

    @property
    def parent(self) -> str | None:
        return self.edge.parent.name if self.edge else None


def choose_for_deltas(
    nodes: Lattice, known: Statistics, changes: BatchFacts, waiting: int = 0
) -> tuple[ParentChoice, ...]:
    """The D-lattice: for every node, parents first, the cheapest way to its summary-delta."""

    def by_edge(edge: Edge) -> float:
        dimensions = [join.dimension for join in edge.joins]
        cost = _cost(known.summary_delta(edge.parent), dimensions, known)
        touched = sum(d.table in changes.changed for d in dimensions)
        return cost + waiting + touched * known.size(edge.parent.name)

    def from_base(view: CubeView) -> float:
        cost = _cost(known.changes(view), view.dimensions, known)
        touched = sum(d.table in changes.changed for d in view.dimensions)
        return cost + touched * known.size(view.fact.name)

    return _choose(nodes, known, by_edge, from_base)


def choose_for_views(nodes: Lattice, known: Statistics) -> tuple[ParentChoice, ...]:
    """The V-lattice: the cheapest way to recompute every node, parents first."""

    def by_edge(edge: Edge) -> float:
        return _cost(known.size(edge.parent.name), [join.dimension for join in edge.joins], known)

    def from_base(view: CubeView) -> float:
        return _cost(known.size(view.fact.name), view.dimensions, known)

    return _choose(nodes, known, by_edge, from_base)


def _choose(
    nodes: Lattice,
    known: Statistics,
    by_edge: Callable[[Edge], float],
    from_base: Callable[[CubeView], float],
) -> tuple[ParentChoice, ...]:
    def order(way: tuple[float, Edge | None]) -> tuple[float, bool, int]:
        """At equal cost an edge is taken, from the smallest parent: estimates are upper bounds."""
        cost, edge = way
        return cost, edge is None, 0 if edge is None else known.size(edge.parent.name)

    choices = []
    for view in nodes.views:
        costs: list[tuple[float, Edge | None]] = [(by_edge(edge), edge) for edge in nodes.into(view)]
        costs.append((from_base(view), None))
        costs.sort(key=order)
        (cost, best), rest = costs[0], costs[1:]
        rejected = tuple((e.parent.name if e else view.fact.name, c) for c, e in rest)
        choices.append(ParentChoice(view, best, cost, rejected))
    return tuple(choices)


def _cost(rows: float, dimensions: Iterable[Dimension], known: Statistics) -> float:
    return rows + sum(JOIN_SHARE * rows + known.size(dimension.table) for dimension in dimensions)
