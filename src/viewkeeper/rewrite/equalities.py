"""The equalities of a join condition, by which a key of one side is a key of the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, columns_of, conjuncts, replace_columns
from viewkeeper.algebra.facts import column_type, of_other_types
from viewkeeper.algebra.relations import Join, Relation


@dataclass(frozen=True)
class Equality:
    """`left = right` (or `<=>`), each an expression over its side of the join."""

    left: Scalar
    right: Scalar
    null_safe: bool = False

    @property
    def coalesced(self) -> Scalar:
        return exp.Coalesce(this=self.left.copy(), expressions=[self.right.copy()])

    @property
    def coalesced_back(self) -> Scalar:
        return exp.Coalesce(this=self.right.copy(), expressions=[self.left.copy()])


def equalities(on: Scalar, left: Iterable[str], right: Iterable[str]) -> tuple[Equality, ...]:
    """The conjuncts of `on` that equate something of the left side with something of the right."""
    mine, theirs = set(left), set(right)
    found = []
    for part in conjuncts(on):
        if isinstance(part, (exp.EQ, exp.NullSafeEQ)):
            one, other = part.left.unnest(), part.right.unnest()
            null_safe = isinstance(part, exp.NullSafeEQ)
            if _over(one, mine) and _over(other, theirs):
                found.append(Equality(one, other, null_safe))
            elif _over(other, mine) and _over(one, theirs):
                found.append(Equality(other, one, null_safe))
    return tuple(found)


def identities(on: Scalar, left: Relation, right: Relation) -> tuple[Equality, ...]:
    """The equalities by which a value of one side stands for that of the other, as far as types tell: of
    different ones, several values of one type may equal one of the other."""
    found = equalities(on, left.columns, right.columns)
    return tuple(e for e in found if not of_other_types(left, e.left, right, e.right))


def identical_pairs(on: Scalar, left: Relation, right: Relation) -> list[tuple[str, str]]:
    """The columns of both sides that stand for each other, by their names."""
    return [
        (e.left.name, e.right.name)
        for e in identities(on, left, right)
        if isinstance(e.left, exp.Column) and isinstance(e.right, exp.Column)
    ]


def column_pairs(on: Scalar, left: Iterable[str], right: Iterable[str]) -> list[tuple[str, str]]:
    """The equalities between a column of the left side and one of the right, by their names."""
    return [(e.left.name, e.right.name) for e in column_equalities(on, left, right)]


def column_equalities(on: Scalar, left: Iterable[str], right: Iterable[str]) -> tuple[Equality, ...]:
    """The equalities between a column of the left side and one of the right."""
    found = equalities(on, left, right)
    return tuple(e for e in found if isinstance(e.left, exp.Column) and isinstance(e.right, exp.Column))


def equates_one_type(join: Join, part: Scalar) -> bool:
    """Whether a condition says that columns of both sides are equal, which are of one type."""
    pairs = column_pairs(part, join.left.columns, join.right.columns)
    types = [(column_type(join.left, mine), column_type(join.right, theirs)) for mine, theirs in pairs]
    return bool(types) and all(mine is not None and mine == theirs for mine, theirs in types)


def through(
    found: tuple[Equality, ...], pairs: tuple[tuple[Scalar, str], ...], *, to_right: bool
) -> tuple[tuple[Scalar, str], ...]:
    """The pairs of one side that the equalities carry to the other; the rest is left out."""
    carry = {(e.left if to_right else e.right): (e.right if to_right else e.left) for e in found}
    simple = {one.name: other for one, other in carry.items() if isinstance(one, exp.Column)}
    moved = []
    for mine, key in pairs:
        if mine.unnest() in carry:
            moved.append((carry[mine.unnest()], key))
        elif columns_of(mine) <= set(simple):
            moved.append((replace_columns(mine, simple), key))
    return tuple(moved)


def _over(expr: Scalar, columns: set[str]) -> bool:
    used = columns_of(expr)
    return bool(used) and used <= columns
