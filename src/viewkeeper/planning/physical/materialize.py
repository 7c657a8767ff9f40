"""Chains of unions are cut in pieces that are written out, because Spark would schedule them forever.

To place a task, Spark asks each union of partitions where its inputs are, and asks again below it:

    visits(depth) = 2 · visits(depth − 1)

A change of a self-join of n tables is a chain of n unions. A result in between, written out, ends the chain.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.relations import Relation, UnionAll
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.planning.physical.plan import Facts, Physical


def materialize(physical: Physical, facts: Facts) -> Physical:
    """The plan, in which every `limits.unions`-th union of a chain is written out."""
    return replace(physical, materialize=ends(physical.result.plan, facts.limits.unions))


def ends(plan: Relation, deepest: int) -> frozenset[Relation]:
    """The unions that are written out before what stands above them is planned."""
    found: set[Relation] = set()
    depths: dict[Relation, int] = {}
    for node in nodes(plan):
        depth = max((depths[child] for child in children(node)), default=0) + isinstance(node, UnionAll)
        if depth == deepest and isinstance(node, UnionAll) and node is not plan:
            found.add(node)
            depth = 0
        depths[node] = depth
    return frozenset(found)
