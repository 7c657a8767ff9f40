"""Which joins find both inputs in one place.

A few thousand rows are read by one task. Where both inputs of a join are, Spark would still send one to the
other, by a job of its own that takes longer than the join. Told to sort both where they are and merge them,
it needs none, and the whole plan is one job:

    Δlineitem ⋈ supplier ⋈ nation        in the task that reads Δlineitem

Hash tables would be a little faster, but hold on to their memory; what is sorted can be spilled. Where a few
rows that the driver holds are looked up in many, one or two are worth it: the many are not sorted.

Values may be compared by any condition beside the equalities. Right and full outer joins are left to Spark.
"""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from viewkeeper.algebra.relations import (
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    Values,
)
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.delta.equalities import equalities
from viewkeeper.sql.render import state_name

HASHED = 2
"""So many hash tables at most are in one plan."""

_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def is_in_one_place(plan: Relation, leaves: Container[str]) -> bool:
    """Whether all that a plan reads is in one task; `leaves` are the relations that are, by their names."""
    return plan in _in_one_place(plan, leaves)


def met_in_place(plan: Relation, leaves: Container[str]) -> frozenset[Join]:
    """The joins by equalities whose inputs are in one task."""
    return frozenset(
        node
        for node in _in_one_place(plan, leaves)
        if isinstance(node, Join) and node.kind in _KINDS and _has_keys(node)
    )


def hashed(joins: frozenset[Join], few: Container[str]) -> frozenset[Join]:
    """Of joins that are met in place, those that look up few rows, their right input, in many."""
    lookups = [j for j in joins if _is_made_of(j.right, few) and not _is_made_of(j.left, few)]
    return frozenset(lookups if len(lookups) <= HASHED else ())


def are_looked_up(plan: Relation, leaves: Container[str], few: Container[str], large: Container[str]) -> bool:
    """Whether, were all `leaves` in one task, every `large` one would meet few rows that are hashed, before
    any join would sort it."""
    lookups = hashed(met_in_place(plan, leaves), few)
    if not is_in_one_place(plan, leaves) or not lookups:
        return False

    def is_sorted(node: Relation) -> bool:
        """Whether rows of a large leaf reach the node as they are."""
        if node in lookups:
            return False
        if isinstance(node, Scan | Reference):
            return state_name(node) in large
        return any(is_sorted(child) for child in children(node))

    joins = (node for node in nodes(plan) if isinstance(node, Join) and node not in lookups)
    return not any(is_sorted(child) for join in joins for child in children(join))


def are_asked(plan: Relation, large: Container[str]) -> bool:
    """Whether of every `large` leaf only rows that some keys name are more than chosen from."""

    def is_whole(node: Relation) -> bool:
        """Whether a large leaf reaches the node with rows that nobody asked for."""
        match node:
            case Filter() if node.condition.find(exp.In):
                return False
            case Filter() | Project():
                return is_whole(node.child)
            case Scan() | Reference():
                return state_name(node) in large
            case _:
                return False

    done = (node for node in nodes(plan) if not isinstance(node, Filter | Project))
    return not any(is_whole(child) for node in done for child in children(node))


def _is_made_of(plan: Relation, leaves: Container[str]) -> bool:
    return all(state_name(n) in leaves for n in nodes(plan) if isinstance(n, Scan | Reference))


def _in_one_place(plan: Relation, leaves: Container[str]) -> set[Relation]:
    found: set[Relation] = set()
    for node in nodes(plan):
        match node:
            case Scan() | Reference():
                is_here = state_name(node) in leaves
            case Values():
                is_here = True
            case _:
                is_here = found.issuperset(children(node))
        if is_here:
            found.add(node)
    return found


def _has_keys(join: Join) -> bool:
    return bool(equalities(join.on, join.left.columns, join.right.columns))
