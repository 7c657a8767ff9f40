"""Which inputs of joins are sent to the other side.

Spark takes a join to be as large as the product of its inputs. So a change that has met one table seems large
to it, and the next table, which is large, is shuffled to meet it. Here the change is known to be small:

    (Δ ⋈ part) ⋈ lineitem        Δ ⋈ part is sent to every part of lineitem, which stays where it is

Where an input is just read, Spark knows its size itself.
"""

from __future__ import annotations

from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.algebra.walk import nodes
from viewkeeper.delta.share import is_cheap
from viewkeeper.planning.cardinality import Sizes, sizes_of

FEW = 50_000
"""An input thought to have at most this many rows is sent; it may well have twenty times as many."""

MANY = 200_000
"""To an input thought to have at least this many; fewer Spark may shuffle as it likes."""


def sent(plan: Relation, sizes: Sizes) -> frozenset[Relation]:
    """The inputs of inner joins that are few, and meet many."""
    rows = {node: size.rows for node, size in sizes_of(plan, sizes).items()}
    joins = [node for node in nodes(plan) if isinstance(node, Join) and node.kind is JoinKind.INNER]
    pairs = [pair for join in joins for pair in ((join.left, join.right), (join.right, join.left))]
    return frozenset(
        few for few, many in pairs if rows[few] <= FEW and rows[many] >= MANY and not is_cheap(few)
    )
