"""Recomputation and first materialization through the lattice: mumick97 theorem 5.1, the V-lattice.

A view that is written anew is computed from the smallest view that derives it, where that one shows, or will
show by then, the state of the base tables that is asked for; else from the base tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from viewkeeper.algebra.build import bound_columns
from viewkeeper.algebra.relations import Relation, Scan
from viewkeeper.draft import Draft
from viewkeeper.lattices import keeps_promises, sizes, summaries
from viewkeeper.maintenance.lattice.build import Lattice, lattice
from viewkeeper.maintenance.lattice.choose import Statistics, choose_for_views
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.summary import Summary, edge_state, stored_edge
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class Anew:
    """The views that are written anew from another view, each with the edge."""

    edges: Mapping[str, Edge] = field(default_factory=dict)
    known: Mapping[str, Summary] = field(default_factory=dict)

    def parent(self, name: str) -> str | None:
        return self.edges[name].parent.name if name in self.edges else None

    def state(self, name: str, counted: frozenset[str]) -> Relation | None:
        """The view's state from that of its parent; none where it has no parent."""
        if name not in self.edges:
            return None
        edge = stored_edge(self.edges[name], counted)
        parent, child = self.known[edge.parent.name], self.known[name]
        return edge_state(edge, parent, child, Scan(edge.parent.name, bound_columns(parent.state.columns)))


def planned_anew(work: Workspace, draft: Draft, anew: Collection[str], fresh: Collection[str]) -> Anew:
    """The cheapest parent of each view in `anew`, among these and the `fresh` ones."""
    if not anew:
        return Anew()
    known = {n: s for n, s in summaries(draft.catalog).items() if n in anew or n in fresh}
    nodes = lattice(summary.cube for summary in known.values())
    usable = [e for e in nodes.edges if e.child.name in anew and keeps_promises(work, draft, e)]
    choices = choose_for_views(Lattice(nodes.views, tuple(usable)), _statistics(draft, known))
    chosen = {c.view.name: c.edge for c in choices if c.edge is not None and c.view.name in anew}
    return Anew(chosen, known)


def _statistics(draft: Draft, known: Mapping[str, Summary]) -> Statistics:
    """Sizes; a view that was never filled is as large as its fact table, for all that is known."""
    rows = sizes(draft.relations)
    unfilled = [name for name in known if draft.catalog.views[name].position is None]
    return Statistics({**rows, **{name: rows[known[name].cube.fact.name] for name in unfilled}})
