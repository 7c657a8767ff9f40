"""Outer joins are inner joins and padded anti joins, and so are their deltas.

L ⟕ R = (L ⋈ R) ⊎ pad(L ▷ R)          L ⟗ R = (L ⋈ R) ⊎ pad(L ▷ R) ⊎ pad(R ▷ L)
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.build import projected, union_all
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import Join, JoinKind, Relation


def as_inner_and_anti(join: Join) -> Relation:
    """A left, right or full outer join by its definition."""
    parts: list[Relation] = [Join(join.left, join.right, JoinKind.INNER, join.on)]
    if join.kind in (JoinKind.LEFT, JoinKind.FULL):
        parts.append(padded(Join(join.left, join.right, JoinKind.ANTI, join.on), join.columns))
    if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
        parts.append(padded(Join(join.right, join.left, JoinKind.ANTI, join.on), join.columns))
    return union_all(parts, join.columns)


def padded(rel: Relation, columns: tuple[str, ...]) -> Relation:
    """`rel` with NULL in the columns that it lacks."""
    have = set(rel.columns)
    return projected(rel, (Named(name, column(name) if name in have else exp.null()) for name in columns))
