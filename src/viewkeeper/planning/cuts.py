"""Where a plan is cut in pieces, because Spark would schedule it forever.

To place a task, Spark asks each union of partitions where its inputs are, and asks again below it:

    visits(depth) = 2 · visits(depth − 1)

A change of a self-join of n tables is a chain of n unions. A result in between, written out, ends the chain.
"""

from __future__ import annotations

from viewkeeper.algebra.relations import Relation, UnionAll
from viewkeeper.algebra.walk import children, nodes

DEEPEST = 8
"""So many unions stand above each other in a plan that is run at once."""


def cuts(plan: Relation) -> frozenset[Relation]:
    """The unions that are written out before what stands above them is planned."""
    found: set[Relation] = set()
    depths: dict[Relation, int] = {}
    for node in nodes(plan):
        depth = max((depths[child] for child in children(node)), default=0) + isinstance(node, UnionAll)
        if depth == DEEPEST and isinstance(node, UnionAll) and node is not plan:
            found.add(node)
            depth = 0
        depths[node] = depth
    return frozenset(found)
