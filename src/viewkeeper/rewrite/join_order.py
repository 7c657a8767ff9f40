"""A change meets small tables first.

    Δlineitem ⋈ customer ⋈ nation        becomes        Δlineitem ⋈ nation ⋈ customer

where equalities connect them in either order. Small tables are read where the change is (`in_place`): they
cost no job of their own, and leave fewer rows for the large ones, to which the result is sent once. Only the
order of inner joins changes, after their first input, which the delta rules made the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from viewkeeper.algebra.build import filtered, joined, restricted_to
from viewkeeper.algebra.expressions import Scalar, columns_of, conjunction, conjuncts
from viewkeeper.algebra.relations import Join, JoinKind, Relation, Scan, State
from viewkeeper.algebra.walk import children, nodes, with_children
from viewkeeper.rewrite.join_block import JoinBlock


def small_first(rel: Relation, sizes: Mapping[str, int]) -> Relation:
    """The plan with the inputs of its inner joins by the size of the stored relations that they read."""
    uses = Counter(child for node in nodes(rel) for child in children(node))
    rows = _stored_rows(rel, sizes)
    done: dict[Relation, Relation] = {}

    def visit(node: Relation) -> Relation:
        if node not in done:
            better = _reordered(node, uses, rows) if isinstance(node, Join) and node in rows else node
            done[node] = with_children(better, tuple(visit(child) for child in children(better)))
        return done[node]

    return visit(rel)


def _reordered(join: Join, uses: Mapping[Relation, int], rows: Mapping[Relation, int]) -> Relation:
    """A chain of inner joins in its better order; the same node where it has it already."""
    block = _chain(join, uses)
    found, rest = [0], sorted(range(1, len(block.inputs)), key=lambda place: rows[block.inputs[place]])
    if rest == sorted(rest):
        return join
    while rest:
        columns = [name for place in found for name in block.inputs[place].columns]
        rest.remove(place := block.next_to(columns, rest))
        found.append(place)
    if found == sorted(found):
        return join
    first, *others = (block.inputs[place] for place in found)
    result = filtered(first, conjunction(part for part in block.conditions if not columns_of(part)))
    for other in others:
        result = joined(result, other, JoinKind.INNER, block.between(result.columns, other.columns))
    return restricted_to(result, join.columns)


def _chain(rel: Relation, uses: Mapping[Relation, int]) -> JoinBlock:
    """Inner joins down the left side; one whose result is used elsewhere too is an input as it is."""
    columns = rel.columns
    inputs: list[Relation] = []
    conditions: list[Scalar] = []
    while isinstance(rel, Join) and rel.kind is JoinKind.INNER and (not inputs or uses[rel] < 2):
        inputs.append(rel.right)
        conditions += conjuncts(rel.on)
        rel = rel.left
    return JoinBlock((rel, *reversed(inputs)), tuple(conditions), columns)


def _stored_rows(rel: Relation, sizes: Mapping[str, int]) -> dict[Relation, int]:
    """Of every part of a plan, the rows of the largest stored relation that it reads; changes are few."""
    found: dict[Relation, int] = {}
    for node in nodes(rel):
        if isinstance(node, Scan):
            found[node] = 0 if node.at is State.DELTA else sizes.get(node.table, 0)
        else:
            found[node] = max((found[child] for child in children(node)), default=0)
    return found
