"""Inner joins as SQL means them: any number of inputs, and conditions that hold between them.

    σ_{a=c ∧ b>0}((A × B) ⋈_{b=d} C)   =   inputs A, σ_{b>0}(B), C;  conditions a = c, b = d

Nested joins and the filters above them are one block, whose inputs may be joined in any order. A delta
is joined first, then what is connected with it: so few rows are looked up and never a product is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewkeeper.algebra.build import filtered, joined
from viewkeeper.algebra.expressions import Scalar, columns_of, conjunction, conjuncts
from viewkeeper.algebra.relations import Filter, Join, JoinKind, Relation
from viewkeeper.delta.equalities import equalities
from viewkeeper.delta.restrict import partners_of_left


@dataclass(frozen=True)
class JoinBlock:
    """The inputs of nested inner joins, and the conditions between several of them."""

    inputs: tuple[Relation, ...]
    conditions: tuple[Scalar, ...]
    columns: tuple[str, ...]

    def next_to(self, start: Relation, others: Iterable[int], preferred: Iterable[int] = ()) -> int:
        """Which input to join next: one that an equality connects, rather a preferred one."""
        others, wished = tuple(others), set(preferred)
        near = [number for number in others if self._is_connected(start, self.inputs[number])]
        return next((number for number in near if number in wished), (near or others)[0])

    def _is_connected(self, start: Relation, other: Relation) -> bool:
        both = {*start.columns, *other.columns}
        usable = conjunction(part for part in self.conditions if columns_of(part) <= both)
        return bool(equalities(usable, start.columns, other.columns))

    def join(self, few: Relation, other: Relation) -> Relation:
        """The few rows joined with an input, on every condition that becomes decidable."""
        both = {*few.columns, *other.columns}
        on = conjunction(
            part
            for part in self.conditions
            if columns_of(part) <= both
            and not columns_of(part) <= set(few.columns)
            and not columns_of(part) <= set(other.columns)
        )
        return joined(few, partners_of_left(other, few, on), JoinKind.INNER, on)


def is_block(rel: Relation) -> bool:
    """Whether nested inner joins begin here, filtered or not."""
    while isinstance(rel, Filter):
        rel = rel.child
    return isinstance(rel, Join) and rel.kind is JoinKind.INNER


def join_block(rel: Relation) -> JoinBlock:
    """The block of an inner join; conditions on one input become filters of it."""
    inputs, conditions = _flattened(rel)
    between, own = [], [list[Scalar]() for _ in inputs]
    for part in conditions:
        place = _owner(part, inputs)
        if place is None:
            between.append(part)
        else:
            own[place].append(part)
    placed = (filtered(each, conjunction(parts)) for each, parts in zip(inputs, own, strict=True))
    return JoinBlock(tuple(placed), tuple(between), rel.columns)


def _flattened(rel: Relation) -> tuple[list[Relation], list[Scalar]]:
    if isinstance(rel, Filter) and is_block(rel):
        inputs, conditions = _flattened(rel.child)
        return inputs, [*conditions, *conjuncts(rel.condition)]
    if isinstance(rel, Join) and rel.kind is JoinKind.INNER:
        left, right = _flattened(rel.left), _flattened(rel.right)
        return [*left[0], *right[0]], [*left[1], *right[1], *conjuncts(rel.on)]
    return [rel], []


def _owner(part: Scalar, inputs: Sequence[Relation]) -> int | None:
    """The only input that a condition is about; a condition about none may stand anywhere."""
    used = columns_of(part)
    return next((n for n, rel in enumerate(inputs) if used <= set(rel.columns)), None)
