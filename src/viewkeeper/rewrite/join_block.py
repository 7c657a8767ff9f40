"""Nested inner joins as one join of any number of inputs, with the conditions between them.

    (A × B) ⋈_{a=c ∧ b=d} C   =   inputs A, B, C;  conditions a = c, b = d

The inputs may be joined in any order. A delta comes first, then what is connected with it: few rows are
looked up at a time, and no product is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewkeeper.algebra.build import filtered, joined
from viewkeeper.algebra.expressions import Scalar, columns_of, conjunction, conjuncts
from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.algebra.walk import base_tables
from viewkeeper.rewrite.equalities import equalities
from viewkeeper.rewrite.restrict import partners_of_left


@dataclass(frozen=True)
class JoinBlock:
    """The inputs of nested inner joins, and their conditions."""

    inputs: tuple[Relation, ...]
    conditions: tuple[Scalar, ...]
    columns: tuple[str, ...]

    def order(self, changed: Sequence[int]) -> list[int]:
        """All inputs: a changed one first, then what is connected with those before, changed ones early."""
        found, rest = [changed[0]], [n for n in range(len(self.inputs)) if n != changed[0]]
        while rest:
            columns = tuple(name for number in found for name in self.inputs[number].columns)
            rest.remove(number := self.next_to(columns, rest, changed))
            found.append(number)
        return found

    def next_to(self, columns: Sequence[str], others: Sequence[int], preferred: Sequence[int] = ()) -> int:
        """Which input to join next: one that an equality connects, rather a preferred one."""
        near = [number for number in others if self._is_connected(columns, self.inputs[number])]
        return next((number for number in near if number in preferred), (near or others)[0])

    def _is_connected(self, columns: Sequence[str], other: Relation) -> bool:
        return bool(equalities(self.between(columns, other.columns), columns, other.columns))

    def join(self, few: Relation, other: Relation) -> Relation:
        """The few rows joined with an input, on every condition that becomes decidable."""
        on = self.between(few.columns, other.columns)
        return joined(few, partners_of_left(other, few, on), JoinKind.INNER, on)

    def between(self, some: Sequence[str], others: Sequence[str]) -> Scalar:
        """The conditions that become decidable when the others come to the columns that are there."""
        before, more = set(some), set(others)
        used = ((part, columns_of(part)) for part in self.conditions)
        return conjunction(part for part, names in used if names & more and names <= before | more)


def join_block(join: Join) -> JoinBlock:
    """The block of nested inner joins, each with the conditions between its sides.

    However the tables are ordered in the text, their deltas come in one order, for views to share them.
    """
    inputs, conditions = _flattened(join)
    inputs.sort(key=base_tables)
    constant = conjunction(part for part in conditions if not columns_of(part))
    return JoinBlock((filtered(inputs[0], constant), *inputs[1:]), tuple(conditions), join.columns)


def _flattened(rel: Relation) -> tuple[list[Relation], list[Scalar]]:
    if not isinstance(rel, Join) or rel.kind is not JoinKind.INNER:
        return [rel], []
    left, right = _flattened(rel.left), _flattened(rel.right)
    return [*left[0], *right[0]], [*left[1], *right[1], *conjuncts(rel.on)]
