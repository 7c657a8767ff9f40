"""Answering queries from views: the derives relation of mumick97 section 5.1, used on a query.

A query that is a cube view is the child, and every stored view that derives it could answer it. The
cheapest is the one whose edge reads the fewest rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_query
from viewkeeper.maintenance.lattice.parents import JOIN_SHARE, Statistics
from viewkeeper.maintenance.summary_delta.state import visible
from viewkeeper.report import Reason


@dataclass(frozen=True)
class Answer:
    """The view that answers a query, the plan over its stored state, and why others did not."""

    view: CubeView
    edge: Edge
    relation: Relation
    cost: float
    rejected: tuple[tuple[str, Reason | float], ...]


def answer(
    query: CubeView,
    views: Iterable[CubeView],
    stored: Callable[[CubeView], Relation],
    known: Statistics | None = None,
    serves: Callable[[Edge], bool] = lambda edge: True,
) -> Answer | Reason:
    """The cheapest plan over one view; equal to the query over the base tables at the view's state.

    `stored` gives a view's merged state (keys and state columns); `serves` may turn an edge down.
    """
    known = known or Statistics()
    found: list[tuple[float, Edge]] = []
    refused: list[tuple[str, Reason | float]] = []
    for view in views:
        edge = derives(query, view)
        if isinstance(edge, Reason):
            refused.append((view.name, edge))
        elif not serves(edge):
            why = Reason("broken-hierarchy", "a declared hierarchy does not hold in the data")
            refused.append((view.name, why))
        else:
            found.append((cost_of(edge, known), edge))
    if not found:
        return _refusal(query, refused)
    found.sort(key=lambda pair: pair[0])
    (cost, best), rest = found[0], found[1:]
    relation = visible(query, edge_query(best, stored(best.parent)))
    others = tuple((edge.parent.name, price) for price, edge in rest)
    return Answer(best.parent, best, relation, cost, (*others, *refused))


def cost_of(edge: Edge, known: Statistics) -> float:
    """What answering along an edge costs, in rows read and looked up."""
    rows = known.size(edge.parent.name)
    return rows + sum(JOIN_SHARE * rows + known.size(table) for table in edge.annotation)


def _refusal(query: CubeView, refused: list[tuple[str, Reason | float]]) -> Reason:
    reasons = [r for _, r in refused if isinstance(r, Reason) and r.code != "other-fact"]
    if not reasons:
        return Reason("no-view", f"no view summarizes {query.fact.name}")
    return Reason("not-derivable", "no view derives the query: " + "; ".join(r.sentence for r in reasons))
