"""Aggregates without the groups that nobody asks for: a selection reaches them through the join above.

    A ⋈_{x=k} γ_k(S)   →   A ⋈_{x=k} γ_k(S ⋉_{k=p} P)        where every x of A is a p of P, and P is selected

A subquery that is compared for the parts of one brand is an aggregate by part, joined with those parts. It is
stored, so that changes can be merged into it; its groups of other brands would be stored, and their changes
followed, for nothing. The same holds below a left join. Equality of columns of one type is transitive, that
of others need not be: `'01' = 1 = '1'`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.build import apart, restricted_to
from viewkeeper.algebra.expressions import Scalar, column, conjunction, conjuncts, equal
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.relations import Aggregate, Filter, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.walk import rewrite
from viewkeeper.rewrite.equalities import identical_pairs
from viewkeeper.rewrite.pushdown import pushed_down


def with_needed_groups(rel: Relation) -> Relation:
    """The plan with its aggregates restricted; as it is where there is nothing to restrict."""
    ordered = rewrite(rel, _pushed_down)
    found = rewrite(ordered, _narrowed)
    return rel if found == ordered else found


def _pushed_down(node: Relation) -> Relation:
    return pushed_down(node) if isinstance(node, (Filter, Join)) else node


def _narrowed(node: Relation) -> Relation:
    if not isinstance(node, Join) or node.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return node
    for mine, key in _equated(node):
        selected = _selection(node.left, mine)
        if selected is not None:
            narrower = _restricted(node.right, key, *selected, column_type(node.left, mine))
            if narrower is not None:
                return replace(node, right=narrower)
    return node


def _equated(join: Join) -> list[tuple[str, str]]:
    """Columns of both sides that are equal, and so not NULL, in the rows of a join."""
    plain = conjunction(part for part in conjuncts(join.on) if isinstance(part, exp.EQ))
    return identical_pairs(plain, join.left, join.right)


def _selection(rel: Relation, name: str) -> tuple[Relation, str] | None:
    """A table with a condition, and its column which holds every value of a column of `rel`."""
    match rel:
        case Filter(Scan()):
            return rel, name
        case Filter():
            return _selection(rel.child, name)
        case Project():
            output = next(one for one in rel.outputs if one.name == name)
            return _selection(rel.child, output.expr.name) if output.is_column else None
        case Join(kind=JoinKind.INNER | JoinKind.SEMI):
            pairs = _equated(rel)
            if name in rel.right.columns and rel.kind is JoinKind.INNER:
                others = [(rel.left, mine) for mine, theirs in pairs if theirs == name]
                return _first_selection([(rel.right, name), *others])
            others = [(rel.right, theirs) for mine, theirs in pairs if mine == name]
            return _first_selection([(rel.left, name), *others])
        case Join(kind=JoinKind.LEFT | JoinKind.ANTI) if name in rel.left.columns:
            return _selection(rel.left, name)
        case _:
            return None


def _first_selection(places: list[tuple[Relation, str]]) -> tuple[Relation, str] | None:
    return next((found for rel, name in places if (found := _selection(rel, name)) is not None), None)


def _restricted(rel: Relation, key: str, selected: Relation, name: str, kind: str | None) -> Relation | None:
    """An aggregate, or what is made of its rows one by one, without groups that are not selected."""
    match rel:
        case Filter():
            child = _restricted(rel.child, key, selected, name, kind)
            return None if child is None else replace(rel, child=child)
        case Project():
            output = next(one for one in rel.outputs if one.name == key)
            child = (
                _restricted(rel.child, output.expr.name, selected, name, kind) if output.is_column else None
            )
            return None if child is None else replace(rel, child=child)
        case Aggregate():
            group = next((one.expr for one in rel.keys if one.name == key and one.is_column), None)
            if group is None or _kinds(rel.child, group, selected, name) != {kind} or kind is None:
                return None
            other, names = apart(rel.child, restricted_to(selected, (name,)))
            on = equal(column(group.name), column(names[name]))
            return replace(rel, child=Join(rel.child, other, JoinKind.SEMI, on))
        case _:
            return None


def _kinds(child: Relation, group: Scalar, selected: Relation, name: str) -> set[str | None]:
    return {column_type(child, group.name), column_type(selected, name)}
