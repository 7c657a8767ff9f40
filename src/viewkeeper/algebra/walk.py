"""Going over plans: children, rebuilding, searching. Every other module walks through these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)


def children(rel: Relation) -> tuple[Relation, ...]:
    match rel:
        case Scan() | Reference() | Values():
            return ()
        case Join() | Difference() | Intersection():
            return (rel.left, rel.right)
        case UnionAll():
            return rel.inputs
        case Fixpoint():
            return tuple(definition.body for definition in rel.definitions)
        case (
            Filter()
            | Project()
            | Lateral()
            | Aggregate()
            | Distinct()
            | Window()
            | TopK()
            | Negate()
            | Consolidate()
            | Affected()
            | Expand()
        ):
            return (rel.child,)
        case _:
            assert_never(rel)


def with_children(rel: Relation, new: tuple[Relation, ...]) -> Relation:
    """`rel` over other inputs; `rel` itself when nothing changed, so that sharing survives."""
    if all(a is b for a, b in zip(children(rel), new, strict=True)):
        return rel
    match rel:
        case Scan() | Reference() | Values():
            return rel
        case Join() | Difference() | Intersection():
            return replace(rel, left=new[0], right=new[1])
        case UnionAll():
            return replace(rel, inputs=new)
        case Fixpoint():
            bodies = zip(rel.definitions, new, strict=True)
            return replace(rel, definitions=tuple(replace(d, body=body) for d, body in bodies))
        case (
            Filter()
            | Project()
            | Lateral()
            | Aggregate()
            | Distinct()
            | Window()
            | TopK()
            | Negate()
            | Consolidate()
            | Affected()
            | Expand()
        ):
            return replace(rel, child=new[0])
        case _:
            assert_never(rel)


def rewrite(rel: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """Applies `change` to every node, inputs first; a shared subtree is visited once."""
    done: dict[Relation, Relation] = {}

    def visit(node: Relation) -> Relation:
        if node not in done:
            done[node] = change(with_children(node, tuple(visit(child) for child in children(node))))
        return done[node]

    return visit(rel)


def nodes(rel: Relation) -> Iterator[Relation]:
    """Every distinct node, inputs first."""
    seen: set[Relation] = set()

    def visit(node: Relation) -> Iterator[Relation]:
        if node in seen:
            return
        seen.add(node)
        for child in children(node):
            yield from visit(child)
        yield node

    return visit(rel)


def scans(rel: Relation) -> Iterator[Scan]:
    return (node for node in nodes(rel) if isinstance(node, Scan))


def base_tables(rel: Relation) -> tuple[str, ...]:
    """The stored relations that the plan reads, each once, in the order of their names."""
    return tuple(sorted({scan.table for scan in scans(rel)}))
