"""MIN and MAX under deletion: quass96 section 5, Figure 4, conditions C_i.

A group's minimum m is held by c rows. A batch inserts a as its least value, in aₙ rows, and deletes b
as its least, in bₙ rows, both net: no value is both inserted and deleted, and b ≥ m, for what is
deleted was there.

    no m before    →  a, aₙ
    a < m          →  a, aₙ                 a smaller value was inserted
    a = m          →  m, c + aₙ             equal values were inserted
    b = m          →  m, c − bₙ             some of several equal minima were deleted
    otherwise      →  m, c

    C:  b = m and c − bₙ = 0 and not a ≤ m and some value remains

Only where C holds must the group be computed from the new state of R. The paper's condition, which
does not know c, recomputes whenever b = m. MAX is the same with > for <.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, conjunction, equal, function, is_null, literal, not_
from viewkeeper.delta.parts import when

Held: TypeAlias = tuple[Scalar, Scalar]
"""An extreme, and the number of rows that hold it."""


@dataclass(frozen=True)
class Extreme:
    """What is known of one MIN or MAX of a group; deleted rows are counted below zero."""

    is_minimum: bool
    old: Held
    inserted: Held
    deleted: Held
    values_after: Scalar

    @property
    def value(self) -> Scalar:
        """The new extreme; NULL where no value is left."""
        moved = exp.or_(is_null(self.old[0]), self._beyond())
        value = exp.Case(ifs=[exp.If(this=moved, true=self.inserted[0].copy())], default=self.old[0].copy())
        return when(self._some_left(), value)

    @property
    def holders(self) -> Scalar:
        """How many rows hold the new extreme."""
        moved = exp.or_(is_null(self.old[0]), self._beyond())
        more = exp.Add(this=self.old[1].copy(), expression=self.inserted[1].copy())
        cases = [
            exp.If(this=not_(self._some_left()), true=literal(0)),
            exp.If(this=moved, true=self.inserted[1].copy()),
            exp.If(this=equal(self.inserted[0], self.old[0]), true=more),
            exp.If(this=self._hit(), true=self._remaining()),
        ]
        return function("coalesce", exp.Case(ifs=cases, default=self.old[1].copy()), literal(0))

    def _beyond(self) -> Scalar:
        """Whether a value beyond the old extreme was inserted."""
        comparison = exp.LT if self.is_minimum else exp.GT
        return comparison(this=self.inserted[0].copy(), expression=self.old[0].copy())

    def _hit(self) -> Scalar:
        """Whether rows that held the old extreme were deleted."""
        return equal(self.deleted[0], self.old[0])

    def _remaining(self) -> Scalar:
        return exp.Add(this=self.old[1].copy(), expression=self.deleted[1].copy())

    def _some_left(self) -> Scalar:
        return exp.GT(this=exp.paren(self.values_after.copy()), expression=literal(0))


def is_lost(extreme: Extreme) -> Scalar:
    """C_i: the old extreme is gone, and what follows it is not known."""
    replaced = function("coalesce", extreme._beyond(), exp.false())
    none_left = exp.LTE(this=exp.paren(extreme._remaining()), expression=literal(0))
    return conjunction((extreme._hit(), none_left, not_(replaced), extreme._some_left()))
