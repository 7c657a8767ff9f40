"""Operators that are linear in the counts: their delta is the operator over the delta.

    Δσ(R) = σ(ΔR)     Δπ(R) = π(ΔR)     Δ(R ⊎ S) = ΔR ⊎ ΔS     Δ(−R) = −ΔR

blakeley86 5.1 and 5.2: the projection keeps multiplicities, so that it distributes over difference.
A generator (`explode`) makes rows of one row at a time and is linear as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from viewkeeper.algebra.build import empty, filtered, is_empty, negated, projected, union_all
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import (
    Consolidate,
    Filter,
    Lateral,
    Negate,
    Project,
    Relation,
    Scan,
    State,
    UnionAll,
)
from viewkeeper.delta.minimal import minimal


def delta_scan(scan: Scan) -> Relation:
    """The changes of a stored relation, as its modification log gives them."""
    if scan.at is not State.NEW:
        raise MalformedPlan(f"scan of {scan.table}: a delta is taken of plans at NEW, not {scan.at.name}")
    return replace(scan, at=State.DELTA, counted=False)


def delta_linear(
    rel: Filter | Project | Lateral | UnionAll | Negate | Consolidate, deltas: tuple[Relation, ...]
) -> Relation:
    """The operator itself, over the deltas of its inputs."""
    match rel:
        case Filter():
            return filtered(deltas[0], rel.condition)
        case Project():
            return projected(deltas[0], rel.outputs)
        case Lateral():
            return empty(rel.columns) if is_empty(deltas[0]) else replace(rel, child=deltas[0])
        case UnionAll():
            return union_all(deltas, rel.columns)
        case Negate():
            return negated(deltas[0])
        case Consolidate():
            return minimal(deltas[0])
        case _:
            assert_never(rel)
