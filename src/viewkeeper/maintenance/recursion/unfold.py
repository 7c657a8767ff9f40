"""From the body of a definition to its rules (`maintenance.recursion.rules`).

Each branch of the outermost union is unfolded by itself, so that the rules of a branch are the
same whatever stands beside it: a changed definition is compared branch by branch.

Rules have set semantics. Recursion may pass through selection, projection, inner joins, unions,
DISTINCT, INTERSECT, EXISTS, the outer side of an outer join, and the left side of NOT EXISTS and
EXCEPT. Anything else is not monotone and has no least fixpoint to maintain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from viewkeeper.algebra.build import fresh, named_like, projected, renamed
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    conjuncts,
    map_named,
    replace_columns,
    same,
    same_or_both_null,
)
from viewkeeper.algebra.relations import (
    Bound,
    Definition,
    Difference,
    Distinct,
    Filter,
    Intersection,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.errors import Unsupported
from viewkeeper.maintenance.recursion.rules import Rule, Test
from viewkeeper.maintenance.recursion.strata import references


@lru_cache(maxsize=1024)
def rules_of(definition: Definition, recursive: frozenset[str]) -> tuple[Rule, ...]:
    """The rules of a definition, whose recursive inputs are the references named in `recursive`."""
    found: list[Rule] = []
    for branch in branches(definition.body):
        unfolding = _Unfolding(definition.name, recursive)
        found.extend(rule.called(definition.columns) for rule in unfolding.rules(branch))
    return tuple(dict.fromkeys(found))


def branches(body: Relation) -> Iterator[Relation]:
    """The inputs of the outermost unions, which are the rules as the user wrote them."""
    if isinstance(body, UnionAll):
        for rel in body.inputs:
            yield from branches(rel)
    elif isinstance(body, Distinct):
        yield from branches(body.child)
    else:
        yield body


def union_branches(rel: Relation) -> Iterator[Relation]:
    """The inputs of the outermost UNION ALLs; unlike `branches`, duplicates stay as they are.

    A projection of a union is the union of projections.
    """
    if isinstance(rel, UnionAll):
        for branch in rel.inputs:
            yield from union_branches(named_like(branch, rel.columns))
    elif isinstance(rel, Project) and isinstance(rel.child, UnionAll):
        for branch in union_branches(rel.child):
            yield _projected_through(branch, rel.outputs)
    else:
        yield rel


def _projected_through(rel: Relation, outputs: tuple[Named, ...]) -> Relation:
    """A projection; one over another is one."""
    if not isinstance(rel, Project):
        return projected(rel, outputs)
    inner = {output.name: output.expr for output in rel.outputs}
    return projected(rel.child, map_named(outputs, lambda expr: replace_columns(expr, inner)))


@dataclass
class _Unfolding:
    name: str
    recursive: frozenset[str]
    taken: list[str] = field(default_factory=list)

    def rules(self, rel: Relation) -> list[Rule]:
        match rel:
            case Filter():
                return [_where(rule, rel.condition) for rule in self.rules(rel.child)]
            case Project():
                return [_put_out(rule, rel.outputs) for rule in self.rules(rel.child)]
            case UnionAll():
                return [rule.called(rel.columns) for child in rel.inputs for rule in self.rules(child)]
            case Join(kind=JoinKind.INNER):
                return self._inner(rel)
            case Join(kind=JoinKind.LEFT):
                return self._outer(rel, rel.left, rel.right)
            case Join(kind=JoinKind.RIGHT):
                return self._outer(rel, rel.right, rel.left)
            case Join(kind=JoinKind.SEMI) if self._recurs(rel.right):
                return [_put_out(rule, same(rel.columns)) for rule in self._inner(rel)]
            case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
                return self._tested(rel.left, rel.right, rel.kind, rel.on)
            case Distinct():
                return self.rules(rel.child)
            case Intersection() | Difference() if not rel.all:
                return self._set_operation(rel)
            case _:
                return [self._leaf(rel)]

    def _recurs(self, rel: Relation) -> bool:
        return not self.recursive.isdisjoint(references(rel))

    def _inner(self, join: Join) -> list[Rule]:
        lefts, rights = self.rules(join.left), self.rules(join.right)
        return [_where(_beside(left, right), join.on) for left in lefts for right in rights]

    def _outer(self, join: Join, kept: Relation, other: Relation) -> list[Rule]:
        if self._recurs(other):
            raise self._not_monotone("the inner side of an outer join", other)
        matched = self._inner(replace(join, kind=JoinKind.INNER))
        unmatched = self._tested(kept, other, JoinKind.ANTI, join.on)
        nulls = [Named(name, exp.null()) for name in other.columns]
        padded = [_put_out(rule, (*same(kept.columns), *nulls)) for rule in unmatched]
        order = same(join.columns)
        return [_put_out(rule, order) for rule in (*matched, *padded)]

    def _tested(self, left: Relation, right: Relation, kind: JoinKind, on: Scalar) -> list[Rule]:
        if self._recurs(right):
            raise self._not_monotone("negation", right)
        tested = []
        for rule in self.rules(left):
            apart, names = self._apart(right)
            known = {output.name: output.expr for output in rule.outputs}
            test = Test(kind, apart, replace_columns(on, {**known, **names}))
            tested.append(replace(rule, tests=(*rule.tests, test)))
        return tested

    def _set_operation(self, rel: Intersection | Difference) -> list[Rule]:
        other = {name: f"__right{number}" for number, name in enumerate(rel.right.columns)}
        right = renamed(rel.right, other)
        pairs = zip(rel.left.columns, right.columns, strict=True)
        on = conjunction(same_or_both_null(column(mine), column(theirs)) for mine, theirs in pairs)
        if isinstance(rel, Difference):
            return self._tested(rel.left, right, JoinKind.ANTI, on)
        return self.rules(Join(rel.left, right, JoinKind.SEMI, on))

    def _leaf(self, rel: Relation) -> Rule:
        if self._recurs(rel) and not isinstance(rel, Reference):
            raise self._not_monotone(_WORDS.get(type(rel).__name__, type(rel).__name__), rel)
        apart, names = self._apart(rel)
        outputs = tuple(Named(name, names[name]) for name in rel.columns)
        return Rule((apart,), (), (), outputs)

    def _apart(self, rel: Relation) -> tuple[Relation, dict[str, Scalar]]:
        """`rel` under column names that nothing else in this branch has."""
        names: dict[str, str] = {}
        for name in rel.columns:
            names[name] = fresh(name, self.taken)
            self.taken.append(names[name])
        return _renamed(rel, names), {old: column(new) for old, new in names.items()}

    def _not_monotone(self, what: str, rel: Relation) -> Unsupported:
        used = ", ".join(name for name in references(rel) if name in self.recursive)
        return Unsupported(
            f"The recursive definition of {self.name} is not monotone.",
            f"It uses {used} inside {what}, so that more rows there could mean fewer rows here.",
            "Define the recursive part without it, and apply it in a view over that definition.",
            view=self.name,
            code="not-stratified",
        )


_WORDS = {"Aggregate": "an aggregate", "TopK": "ORDER BY … LIMIT", "Window": "a window function"}


def _renamed(rel: Relation, names: dict[str, str]) -> Relation:
    if isinstance(rel, Scan):
        return replace(rel, bound=tuple(Bound(names[b.name], b.source) for b in rel.bound))
    return renamed(rel, names)


def _where(rule: Rule, condition: Scalar) -> Rule:
    known = {output.name: output.expr for output in rule.outputs}
    parts = tuple(replace_columns(part, known) for part in conjuncts(condition))
    return replace(rule, conditions=(*rule.conditions, *parts))


def _put_out(rule: Rule, outputs: tuple[Named, ...]) -> Rule:
    known = {output.name: output.expr for output in rule.outputs}
    return replace(rule, outputs=map_named(outputs, lambda expr: replace_columns(expr, known)))


def _beside(left: Rule, right: Rule) -> Rule:
    return Rule(
        (*left.inputs, *right.inputs),
        (*left.tests, *right.tests),
        (*left.conditions, *right.conditions),
        (*left.outputs, *right.outputs),
    )
