"""Canonical plans: equal where only names and order differ, and plans all the same."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.build import renamed
from viewkeeper.algebra.canonical import canonical
from viewkeeper.algebra.expressions import column, equal
from viewkeeper.algebra.relations import Bound, Join, JoinKind, Relation, Scan
from viewkeeper.algebra.schema import Column

EDGES = Scan("edge", (Bound("s", Column("s", "int")), Bound("t", Column("t", "int"))))


def chain(kind: JoinKind, first: str, second: str, on: tuple[str, str]) -> Relation:
    """One and the same relation on both sides, under other names."""
    left, right = (renamed(EDGES, {n: f"{side}_{n}" for n in EDGES.columns}) for side in (first, second))
    return Join(left, right, kind, equal(column(on[0]), column(on[1])))


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
def test_a_relation_joined_with_itself(kind: JoinKind) -> None:
    one, other = chain(kind, "a", "b", ("a_t", "b_s")), chain(kind, "x", "y", ("x_t", "y_s"))
    assert canonical(one) == canonical(other)
    assert len(set(canonical(one).columns)) == len(one.columns)


def test_which_columns_meet_is_told_apart() -> None:
    forth, back = (chain(JoinKind.INNER, "a", "b", on) for on in (("a_t", "b_s"), ("a_t", "b_t")))
    assert canonical(forth).plan != canonical(back).plan
