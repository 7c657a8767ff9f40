"""Changes of keyed rows that come in any order: what they make of a table, as algebra.

    latest(C)       per key the change of the greatest order
    newer(C, K)     C ▷ {k ∈ K of the same key: order(k) ≥ order(c)}
    T' = T − (T ⋉ newer) ⊎ {c ∈ newer: c is no deletion}

K is what is known of keys: the order of a row of the table, and of a deletion, which the memory keeps: a
deletion may come before the insertion that it deletes. So T' depends on which changes came, and not on when.

Changes are rows with the columns of the table that they give, `__order_1`, `__order_2` … and `__deleted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import apart, matching, projected, restricted_to, union_all
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    conjunction,
    equal,
    function,
    literal,
    not_,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.merge.net_effect import RowCheck
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Window,
)
from viewkeeper.algebra.schema import COUNT

DELETED, SEEN = "__deleted", "__seen"
"""Whether a change is a deletion; when the memory learned of it, in seconds since 1970."""

_PLACE = "__place"


def order_columns(number: int) -> tuple[str, ...]:
    """What the order columns of a change are called inside, first to last."""
    return tuple(f"__order_{place}" for place in range(1, number + 1))


@dataclass(frozen=True)
class ChangeOrder:
    """By what changes are told apart and ordered; without an order each key may change once."""

    key: tuple[str, ...]
    order: tuple[str, ...]

    def latest(self, changes: Relation) -> Relation:
        """Of each key the change of the greatest order."""
        by = [exp.Ordered(this=column(name), desc=True) for name in self.order or self.key]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(name) for name in self.key],
            order=exp.Order(expressions=by),
        )
        placed = Window(changes, self.key, (Named(_PLACE, place),))
        return restricted_to(Filter(placed, equal(column(_PLACE), literal(1))), changes.columns)

    def newer(self, changes: Relation, known: Sequence[Relation]) -> Relation:
        """The changes that nothing known is as new as."""
        if not self.order or not known:
            return changes
        names = (*self.key, *self.order)
        keys = restricted_to(changes, self.key)
        seen = union_all((plain(matching(restricted_to(rel, names), keys)) for rel in known), names)
        other, theirs = apart(changes, seen)
        same_key = null_safe_match((name, theirs[name]) for name in self.key)
        pairs = [(column(name), column(theirs[name])) for name in self.order]
        return Join(changes, other, JoinKind.ANTI, and_(same_key, not_(_is_after(pairs))))

    def replaced(self, current: Relation, changes: Relation) -> Relation:
        """The rows that changes take away or write anew."""
        return plain(matching(current, restricted_to(changes, self.key)))

    def replacing(self, current: Relation, changes: Relation) -> Relation:
        """The rows that they bring; columns that they do not give stay as they are."""
        written = Filter(changes, not_(column(DELETED)))
        missing = [name for name in current.columns if name not in changes.columns]
        if not missing:
            return restricted_to(written, current.columns)
        keys = restricted_to(changes, self.key)
        old = plain(matching(restricted_to(current, (*self.key, *missing)), keys))
        other, theirs = apart(written, old)
        on = null_safe_match((name, theirs[name]) for name in self.key)
        both = Join(written, other, JoinKind.LEFT, on)
        names = {name: theirs[name] if name in missing else name for name in current.columns}
        return projected(both, (Named(name, column(source)) for name, source in names.items()))

    def remembered(self, changes: Relation, now: int, deletions_only: bool) -> Relation:
        """What the memory learns: deletions, and all changes where the table does not hold the order."""
        learned = Filter(changes, column(DELETED)) if deletions_only else changes
        seen = Named(SEEN, exp.cast(literal(now), "bigint"))
        return Project(learned, (*same((*self.key, *self.order, DELETED)), seen))

    def forgotten(self, memory: Relation, changes: Relation, before: int | None) -> Relation:
        """What the memory loses: what it learns anew, and deletions that it learned before some time."""
        keys = restricted_to(changes, self.key)
        relearned = plain(matching(memory, keys))
        if before is None:
            return relearned
        is_old = exp.LT(this=column(SEEN), expression=literal(before))
        old = Filter(plain(memory), and_(column(DELETED), is_old))
        other, theirs = apart(old, keys)
        on = null_safe_match((name, theirs[name]) for name in self.key)
        return union_all((relearned, Join(old, other, JoinKind.ANTI, on)), memory.columns)

    def checks(self, table: str, changes: Relation) -> list[RowCheck]:
        """Changes that mean nothing: without a key or an order, or two of one key that nothing orders."""
        required = (*self.key, *self.order)
        is_null = or_(*[exp.Is(this=column(name), expression=exp.null()) for name in required])
        lacking = restricted_to(Filter(changes, is_null), required)
        once = Distinct(changes)
        many = Aggregate(once, same(required), (Named(COUNT, function("count", exp.Star())),))
        tied = Filter(many, exp.GT(this=column(COUNT), expression=literal(1)))
        told = "the order" if self.order else "nothing"
        return [
            RowCheck("null", table, lacking, "A change has a key and, where it is ordered, an order."),
            RowCheck(
                "duplicate",
                table,
                restricted_to(tied, required),
                f"They differ, and {told} says which is last.",
            ),
        ]


def _is_after(pairs: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    """Whether the first of each pair, read as one, come after the second; NULL comes before everything."""
    branches: list[Scalar] = []
    for place, (mine, theirs) in enumerate(pairs):
        ties = [equal(one, other) for one, other in pairs[:place]]
        unknown = exp.Is(this=theirs.copy(), expression=exp.null())
        later = or_(unknown, exp.GT(this=mine.copy(), expression=theirs.copy()))
        branches.append(conjunction((*ties, later)))
    return or_(*branches)


__all__ = ["DELETED", "SEEN", "ChangeOrder", "order_columns"]
