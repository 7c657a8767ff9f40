"""The layers of a bag laid over each other: one layer that means the same.

    (main ▷ D₁ ∪ … ∪ Dₙ)  ∪  (I₁ ▷ D₂ ∪ … ∪ Dₙ)  ∪  …  ∪  Iₙ    =    (main ▷ D)  ∪  I

    D = γ_row, max(i) as last (D₁ ∪ … ∪ Dₙ)        I = rows of Iᵢ that no D has, or none later than i

Only layers that leave no copy of what they delete can be laid over each other so (`layers.bag_in_turn`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.algebra.build import apart, restricted_to
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    function,
    literal,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.relations import Aggregate, Filter, Join, JoinKind, Project, Reference, UnionAll
from viewkeeper.algebra.schema import COUNT

_NUMBER, _LAST = "__number", "__last"


def laid_over(layers: Sequence[Reference], names: Sequence[str]) -> UnionAll:
    """All deletions of some layers, oldest first, and the insertions that no later layer deletes."""
    rows = UnionAll(tuple(_numbered(layer, number, names) for number, layer in enumerate(layers)))
    none = literal(0)
    deleted = Filter(rows, exp.LT(this=column(COUNT), expression=none))
    last = Named(_LAST, function("max", column(_NUMBER)))
    gone = Aggregate(deleted, same(names), (last,))
    inserted = Filter(rows, exp.GT(this=column(COUNT), expression=none))
    other, known = apart(inserted, gone)
    both = Join(inserted, other, JoinKind.LEFT, null_safe_match((name, known[name]) for name in names))
    after = exp.LTE(this=column(_LAST), expression=column(_NUMBER))
    kept = Filter(both, or_(exp.Is(this=column(_LAST), expression=exp.null()), after))
    minus = Named(COUNT, _bigint(-1))
    return UnionAll((Project(gone, (*same(names), minus)), restricted_to(kept, (*names, COUNT))))


def _numbered(layer: Reference, number: int, names: Sequence[str]) -> Project:
    return Project(layer, (*same((*names, COUNT)), Named(_NUMBER, _bigint(number))))


def _bigint(number: int) -> Scalar:
    return exp.cast(literal(number), "bigint")
