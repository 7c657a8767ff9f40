"""Constructors simplify: what is empty vanishes, and what does nothing is not built."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tests.golden.cases import ITEMS, LINES, ORDERS, sql
from viewkeeper.algebra.build import (
    affected,
    apart,
    empty,
    filtered,
    fresh,
    is_empty,
    joined,
    matching,
    minus,
    negated,
    projected,
    restricted_to,
    union_all,
)
from viewkeeper.algebra.expressions import same
from viewkeeper.algebra.relations import JoinKind, Negate, UnionAll

NOTHING = empty(("x", "y", "z"))
ON = exp.true()
EMPTY_JOINS = {
    (True, JoinKind.INNER), (True, JoinKind.LEFT), (True, JoinKind.SEMI), (True, JoinKind.ANTI),
    (False, JoinKind.INNER), (False, JoinKind.RIGHT), (False, JoinKind.SEMI),
}  # fmt: skip


@pytest.mark.parametrize("kind", JoinKind)
@pytest.mark.parametrize("left_is_empty", [True, False])
def test_a_join_with_nothing_is_nothing_where_sql_says_so(kind: JoinKind, left_is_empty: bool) -> None:
    sides = (NOTHING, LINES) if left_is_empty else (LINES, NOTHING)
    result = joined(*sides, kind, ON)
    assert is_empty(result) is ((left_is_empty, kind) in EMPTY_JOINS)
    semi = kind in (JoinKind.SEMI, JoinKind.ANTI)
    assert result.columns == (sides[0].columns if semi else sides[0].columns + sides[1].columns)


def test_an_anti_join_with_nothing_keeps_everything() -> None:
    assert joined(LINES, NOTHING, JoinKind.ANTI, ON) is LINES


def test_unions_are_flat_and_without_empty_inputs() -> None:
    inner = union_all((LINES, LINES), LINES.columns)
    assert union_all((inner, NOTHING, LINES), LINES.columns) == UnionAll((LINES, LINES, LINES))
    assert union_all((NOTHING, LINES), LINES.columns) is LINES
    assert is_empty(union_all((NOTHING,), LINES.columns))


def test_minus_and_its_sign() -> None:
    assert minus(LINES, NOTHING) is LINES
    assert minus(LINES, LINES) == UnionAll((LINES, Negate(LINES)))
    assert negated(negated(LINES)) is LINES


def test_what_does_nothing_is_not_built() -> None:
    assert projected(LINES, same(LINES.columns)) is LINES
    assert restricted_to(LINES, LINES.columns[:1]) is not LINES
    assert filtered(LINES, exp.true()) is LINES
    assert is_empty(filtered(NOTHING, sql("x > 1")))


def test_keys_of_nothing_are_nothing() -> None:
    assert is_empty(affected(NOTHING, ("x",)))
    assert is_empty(matching(LINES, empty(("l_order",))))
    assert is_empty(matching(empty(LINES.columns), ITEMS, {"l_item": "i_id"}))


def test_fresh_names_are_free_without_regard_to_case() -> None:
    assert fresh("a", ["b"]) == "a"
    assert fresh("a", ["A", "a2"]) == "a3"


def test_apart_renames_only_what_collides() -> None:
    other, names = apart(ORDERS, ORDERS)
    assert not set(other.columns) & set(ORDERS.columns)
    assert apart(ORDERS, LINES) == (LINES, {name: name for name in LINES.columns})
    assert set(names) == set(ORDERS.columns)
