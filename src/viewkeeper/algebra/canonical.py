"""Plans that differ only in names and in order.

    SELECT o.odate FROM lineitem l JOIN orders o ON l.okey = o.okey
    SELECT odate   FROM orders     JOIN lineitem ON orders.okey = lineitem.okey

name their columns after the order of their tables, and write the equality the other way round. A canonical
plan names columns by where they first occur and sorts what has no order: conjuncts, the sides of an
equality, outputs, group keys. Projections that only rename or reorder vanish. Plans with the same canonical
plan have the same rows, up to the order of their columns. It is to be compared, not to be run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, conjunction, conjuncts, rename_columns, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT

Names = dict[str, str]
"""The columns of a plan, and what they are called in its canonical one."""


@dataclass(frozen=True)
class Canonical:
    """A canonical plan, and its columns in the order of those of the plan that it was made of."""

    plan: Relation
    columns: tuple[str, ...]


def canonical(rel: Relation) -> Canonical:
    """Of an operator that is not known here the names stay as they are."""
    maker = _Maker()
    plan, names = maker.made(rel)
    return Canonical(plan, tuple(names[name] for name in rel.columns))


class _Maker:
    """One plan being made canonical: names are given out in the order in which columns are met."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.done: dict[Relation, tuple[Relation, Names]] = {}

    def made(self, rel: Relation) -> tuple[Relation, Names]:
        if rel not in self.done:
            self.done[rel] = self._make(rel)
        return self.done[rel]

    def _make(self, rel: Relation) -> tuple[Relation, Names]:
        match rel:
            case Scan():
                names = self._new(rel.columns)
                bound = tuple(Bound(names[item.name], item.source) for item in rel.bound)
                return replace(rel, bound=bound), names
            case Filter():
                child, names = self.made(rel.child)
                return Filter(child, _condition(rel.condition, names)), names
            case Project():
                child, below = self.made(rel.child)
                if (order := _permutation(rel)) is not None:
                    return child, {new: below[old] for new, old in order.items()}
                outputs, names = self._named(rel.outputs, below)
                return Project(child, outputs), names
            case Join():
                return self._join(rel)
            case Aggregate():
                child, below = self.made(rel.child)
                keys, key_names = self._named(rel.keys, below)
                aggregates, names = self._named(rel.aggregates, below)
                return Aggregate(child, keys, aggregates, rel.exact), {**key_names, **names}
            case Distinct() | Expand():
                child, names = self.made(rel.child)
                return replace(rel, child=child), names
            case UnionAll():
                return self._union(rel)
            case _:
                return rel, {name: name for name in rel.columns}

    def _join(self, rel: Join) -> tuple[Relation, Names]:
        (left, left_names), (right, right_names) = self.made(rel.left), self.made(rel.right)
        if not set(left.columns).isdisjoint(right.columns):
            right, right_names = self._made_anew(rel.right)
        both = {**left_names, **right_names}
        names = left_names if rel.kind in (JoinKind.SEMI, JoinKind.ANTI) else both
        return Join(left, right, rel.kind, _condition(rel.on, both)), names

    def _made_anew(self, rel: Relation) -> tuple[Relation, Names]:
        """Under names of its own: what both sides of a join read is not one occurrence but two."""
        self.done, done = {}, self.done
        made = self.made(rel)
        self.done = done
        return made

    def _union(self, rel: UnionAll) -> tuple[Relation, Names]:
        """Columns correspond by position: the other inputs follow the first one's order."""
        first, names = self.made(rel.inputs[0])
        given = {names[name]: place for place, name in enumerate(rel.columns)}
        others = []
        for other in rel.inputs[1:]:
            made, own = self.made(other)
            order = [own[other.columns[given[name]]] for name in first.columns]
            others.append(Project(made, same(order)))
        return UnionAll((first, *others)), names

    def _new(self, names: Iterable[str]) -> Names:
        """New names; counts keep theirs, which means something to the operators above."""
        return {name: COUNT if name == COUNT else f"#{next(self.numbers)}" for name in names}

    def _named(self, items: Iterable[Named], below: Names) -> tuple[tuple[Named, ...], Names]:
        """The items over renamed columns, in the order of their texts."""
        renamed = [Named(item.name, rename_columns(item.expr, below)) for item in items]
        ordered = sorted(renamed, key=lambda item: (item.name == COUNT, item.expr.sql()))
        names = self._new(item.name for item in ordered)
        return tuple(Named(names[item.name], item.expr) for item in ordered), names


def _permutation(rel: Project) -> Names | None:
    """The child's columns by what they are called, where a projection only renames and reorders them all.

    To make counts a column like others, or a column the counts, is more than renaming.
    """
    order = {output.name: output.expr.name for output in rel.outputs if output.is_column}
    is_whole = len(order) == len(rel.outputs) and sorted(order.values()) == sorted(rel.child.columns)
    keeps_counts = all((new == COUNT) == (old == COUNT) for new, old in order.items())
    return order if is_whole and keeps_counts else None


def _condition(condition: Scalar, names: Names) -> Scalar:
    parts = [_sides(rename_columns(part, names)) for part in conjuncts(condition)]
    return conjunction(sorted(parts, key=lambda part: part.sql()))


def _sides(part: Scalar) -> Scalar:
    if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
        return part
    left, right = sorted((part.this, part.expression), key=lambda side: side.sql())
    return type(part)(this=left.copy(), expression=right.copy())
