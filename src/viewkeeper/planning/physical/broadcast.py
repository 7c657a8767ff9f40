"""Small results are broadcast to the large inputs that they are joined with.

Spark takes a join to be as large as the product of its inputs. So a change that has met one table seems large
to it, and the next table, which is large, is shuffled to meet it. Here the change is known to be small:

    (Δ ⋈ part) ⋈ lineitem        Δ ⋈ part is broadcast; lineitem stays where it is

Nothing is guessed: a join by a key of one side has at most the rows of the other, and any other join may
have all pairs. Where an input is just read, Spark knows its size itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from viewkeeper.algebra.common_subplans import is_cheap
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.walk import nodes
from viewkeeper.planning.physical.plan import Facts, Physical, leaves
from viewkeeper.rewrite.equalities import column_pairs
from viewkeeper.rewrite.keys import sources


def broadcast(physical: Physical, facts: Facts) -> Physical:
    """The plan, in which inputs of inner joins that are few, and meet many, are broadcast."""
    return replace(physical, broadcast=small_sides(physical.result.plan, facts))


def small_sides(plan: Relation, facts: Facts) -> frozenset[Relation]:
    """The inputs of inner joins that are few, and meet many."""
    joins = [node for node in nodes(plan) if isinstance(node, Join) and node.kind is JoinKind.INNER]
    pairs = [pair for join in joins for pair in ((join.left, join.right), (join.right, join.left))]
    limits, bound = facts.limits, _Bound(facts)
    return frozenset(
        few
        for few, other in pairs
        if not is_cheap(few)
        and bound.most(few) <= limits.broadcast
        and _largest(other, facts) >= limits.broadcast_to
    )


def _largest(rel: Relation, facts: Facts) -> float:
    """The rows of the largest relation that is read."""
    return max((facts.rows(leaf) for leaf in leaves(rel)), default=0)


@dataclass(frozen=True)
class _Bound:
    """How many rows a plan has at most."""

    facts: Facts

    def most(self, rel: Relation) -> float:
        """At most how many rows a relation has."""
        match rel:
            case Scan() | Reference():
                return self.facts.rows(rel)
            case Values():
                return len(rel.rows)
            case Filter() | Project() | Aggregate() | Distinct() | Consolidate():
                return self.most(rel.child)
            case Affected() | Window() | Negate():
                return self.most(rel.child)
            case TopK():
                return min(rel.limit, self.most(rel.child))
            case UnionAll():
                return sum(self.most(one) for one in rel.inputs)
            case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
                return self.most(rel.left)
            case Join(kind=JoinKind.INNER):
                return self._joined(rel)
            case _:
                return inf

    def _joined(self, join: Join) -> float:
        pairs = column_pairs(join.on, join.left.columns, join.right.columns)
        left, right = self.most(join.left), self.most(join.right)
        if self._is_unique(join.right, {theirs for _, theirs in pairs}):
            return left
        return right if self._is_unique(join.left, {mine for mine, _ in pairs}) else left * right

    def _is_unique(self, rel: Relation, names: Iterable[str]) -> bool:
        """Whether no two rows agree in these columns."""
        known = set(names)
        match rel:
            case Scan() if rel.at is not State.DELTA:
                stored = {item.source.name for item in rel.bound if item.name in known}
                key = self.facts.input(rel).key
                return bool(key) and stored.issuperset(key)
            case Filter():
                return self._is_unique(rel.child, known)
            case Project():
                copied = sources(rel.outputs)
                return self._is_unique(rel.child, {copied[name] for name in known if name in copied})
            case Aggregate():
                return known.issuperset(rel.key_names)
            case Distinct():
                return known.issuperset(rel.columns)
            case _:
                return False
