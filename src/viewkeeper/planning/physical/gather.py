"""Inputs that are read by one task, though they are large: few rows of them matter.

    σ_k∈{1,2,3}(lineitem) ⋈ Δ       an IN-list leaves few rows of lineitem
    lineitem ⋉ Δ                    lineitem is looked through, row by row, for few keys that are hashed

To send few rows to several tasks, and to gather what they find, takes longer than to read a million rows.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from viewkeeper.algebra.relations import Filter, Join, Project, Reference, Relation, Scan
from viewkeeper.algebra.walk import children, nodes, scans
from viewkeeper.planning.physical.co_locate import hashed, is_in_one_place, met_in_place
from viewkeeper.planning.physical.plan import Facts, Physical
from viewkeeper.sql.render import state_name


def gather(physical: Physical, facts: Facts) -> Physical:
    """The plan, whose stored inputs are each read by one task where that pays."""
    plan, limits = physical.result.plan, facts.limits
    stored = {state_name(scan): facts.input(scan).read for scan in scans(plan)}
    large = {name: read for name, read in stored.items() if read > limits.one_task}
    few = {name for name, one in facts.inputs.items() if one.is_few}
    rows = sum(large.values())
    if not rows:
        return physical
    is_looked_up = rows <= limits.looked_up and are_looked_up(
        plan, {*stored, *few}, few, large, limits.hash_tables
    )
    if is_looked_up or (rows <= limits.in_listed and are_in_listed(plan, large, physical.in_lists)):
        return replace(physical, one_task=frozenset(stored))
    return physical


def are_looked_up(
    plan: Relation, here: Container[str], few: Container[str], large: Container[str], tables: int
) -> bool:
    """Whether, were all of `here` in one task, every `large` one would meet few rows that are hashed, before
    any join would sort it."""
    lookups = hashed(met_in_place(plan, here), few, tables)
    if not is_in_one_place(plan, here) or not lookups:
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


def are_in_listed(plan: Relation, large: Container[str], in_lists: Container[Relation]) -> bool:
    """Whether an IN-list of known keys stands between every `large` input and whatever joins or groups it."""

    def is_whole(node: Relation) -> bool:
        """Whether all rows of a large input reach the node."""
        match node:
            case Filter() if node in in_lists:
                return False
            case Filter() | Project():
                return is_whole(node.child)
            case Scan() | Reference():
                return state_name(node) in large
            case _:
                return False

    done = (node for node in nodes(plan) if not isinstance(node, Filter | Project))
    return not any(is_whole(child) for node in done for child in children(node))
