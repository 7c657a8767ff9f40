"""Pushdown of conditions: each stands at the join or the input that it is about.

    σ_{a=b ∧ c>0}((A × B) ⋉ C)   →   (A ⋈_{a=b} σ_{c>0}(B)) ⋉ C
    σ_{b>0}(A ⟕ B)               →   A ⋈ σ_{b>0}(B)

FROM a, b WHERE … puts every condition above a product. Spark sinks them by itself, but the rules of `delta/`
look at joins: a join must know what its inputs have in common, or it shares products of whole tables. An
outer join whose padded rows a condition rejects is none: subqueries compared in WHERE make such joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from viewkeeper.algebra.build import filtered
from viewkeeper.algebra.expressions import Scalar, column, columns_of, conjunction, conjuncts, replace_columns
from viewkeeper.algebra.nullability import rejected_nulls
from viewkeeper.algebra.relations import Filter, Join, JoinKind, Project, Relation

_KEEPS_LEFT = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)


def pushed_down(rel: Filter | Join) -> Relation:
    """A filter, or an inner join, with its conditions as deep as they mean the same."""
    return _pushed(rel, ())


def _pushed(rel: Relation, parts: Sequence[Scalar]) -> Relation:
    match rel:
        case Filter():
            return _pushed(rel.child, (*conjuncts(rel.condition), *parts))
        case Join(kind=JoinKind.INNER):
            everything = (*conjuncts(rel.on), *parts)
            left, others = _about(everything, rel.left.columns)
            right, between = _about(others, rel.right.columns)
            return Join(_pushed(rel.left, left), _pushed(rel.right, right), rel.kind, conjunction(between))
        case Join() if (kind := _unpadded(rel, parts)) is not rel.kind:
            return _pushed(replace(rel, kind=kind), parts)
        case Join() if rel.kind in _KEEPS_LEFT:
            left, above = _about(parts, rel.left.columns)
            return filtered(replace(rel, left=_pushed(rel.left, left)), conjunction(above))
        case Project():
            copies = {output.name: column(output.expr.name) for output in rel.outputs if output.is_column}
            below, above = _about(parts, copies)
            moved = tuple(replace_columns(part, copies) for part in below)
            return filtered(replace(rel, child=_pushed(rel.child, moved)), conjunction(above))
        case _:
            return filtered(rel, conjunction(parts))


def _unpadded(join: Join, parts: Sequence[Scalar]) -> JoinKind:
    """The kind of a join where rows that it pads with NULLs do not pass the conditions above it."""
    if join.kind not in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
        return join.kind
    rejected = rejected_nulls(conjunction(parts))
    keeps_left = join.kind is not JoinKind.RIGHT and not rejected & frozenset(join.right.columns)
    keeps_right = join.kind is not JoinKind.LEFT and not rejected & frozenset(join.left.columns)
    match keeps_left, keeps_right:
        case True, True:
            return JoinKind.FULL
        case True, False:
            return JoinKind.LEFT
        case False, True:
            return JoinKind.RIGHT
        case _:
            return JoinKind.INNER


def _about(parts: Iterable[Scalar], names: Iterable[str]) -> tuple[list[Scalar], list[Scalar]]:
    """The conditions that are about these columns only, and the others."""
    known = set(names)
    mine: list[Scalar] = []
    others: list[Scalar] = []
    for part in parts:
        used = columns_of(part)
        (mine if used and used <= known else others).append(part)
    return mine, others
