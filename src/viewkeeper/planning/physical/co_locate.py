"""Joins whose two sides are in one task are made there.

A few thousand rows are read by one task. Where both inputs of a join are, Spark would still send one to the
other, by a job of its own that takes longer than the join. Told to sort both where they are and merge them,
it needs none, and the whole plan is one job:

    Δlineitem ⋈ supplier ⋈ nation        in the task that reads Δlineitem

Hash tables would be a little faster, but hold on to their memory; what is sorted can be spilled. Where a few
rows that the driver holds are looked up in many, one or two are worth it: the many are not sorted.

Values may be compared by any condition beside the equalities. Right and full outer joins are left to Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import replace

from viewkeeper.algebra.relations import (
    Join,
    JoinKind,
    Reference,
    Relation,
    Scan,
    Values,
)
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.limits import Limits
from viewkeeper.planning.physical.plan import Facts, Fragment, Physical
from viewkeeper.rewrite.equalities import equalities
from viewkeeper.sql.render import state_name

_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def co_locate(physical: Physical, facts: Facts) -> Physical:
    """The plan, its fragments told which joins are made where both sides are."""
    here = {name: one.joins for name, one in facts.inputs.items() if one.joins is not None}
    here |= {name: here.get(name, 0) for name in physical.one_task}
    few = {name for name, one in facts.inputs.items() if one.is_few}
    done = []
    for fragment in physical.fragments:
        done.append(_co_located(fragment, here, few, facts.limits))
        if done[-1].joins is not None and not (fragment.broadcast or fragment.materialize):
            here[fragment.name] = done[-1].joins
    return replace(physical, fragments=tuple(done))


def _co_located(fragment: Fragment, here: Mapping[str, int], few: Container[str], limits: Limits) -> Fragment:
    """What is part of other plans may be in them many times, and is sorted, not hashed."""
    plan = fragment.plan
    behind = sum(times * here[name] for name, times in occurrences(plan).items() if name in here)
    met = met_in_place(plan, here)
    if len(met) + behind > limits.joins_in_task:
        met = frozenset()
    by_hash = frozenset() if fragment.is_part else hashed(met, few, limits.hash_tables)
    joins = len(met) + behind if is_in_one_place(plan, here) else None
    return replace(fragment, merged=met - by_hash, hashed=by_hash, joins=joins)


def occurrences(plan: Relation) -> Counter[str]:
    """How often each input stands in the query of a plan: a node with two parents is written twice."""
    found: dict[Relation, Counter[str]] = {}
    for node in nodes(plan):
        below = sum((found[child] for child in children(node)), Counter())
        found[node] = Counter({state_name(node): 1}) if isinstance(node, Scan | Reference) else below
    return found[plan]


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


def hashed(joins: frozenset[Join], few: Container[str], most: int) -> frozenset[Join]:
    """Of joins that are met in place, those that look up few rows, their right input, in many; none where
    these would be more than `most` hash tables."""
    lookups = [j for j in joins if _is_made_of(j.right, few) and not _is_made_of(j.left, few)]
    return frozenset(lookups if len(lookups) <= most else ())


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
