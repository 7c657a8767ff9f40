"""Conditions sink to the join or the input that they are about, and no further than they mean the same."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.relations import Bound, Filter, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.rewrite.pushdown import pushed_down
from viewkeeper.sql.show import show


def scan(table: str, *names: str) -> Scan:
    return Scan(table, tuple(Bound(name, Column(name, "int")) for name in names))


def condition(text: str) -> Scalar:
    return parse_one(text).transform(lambda node: column(node.name) if node.key == "column" else node)


A, B, C = scan("a", "x", "y"), scan("b", "z"), scan("c", "w")
PRODUCT = Join(A, B, JoinKind.INNER, condition("TRUE"))

CASES: dict[str, tuple[Relation, list[str]]] = {
    "to a join and to an input": (
        Filter(PRODUCT, condition("x = z AND y > 0")),
        ["inner join on x = z", "  filter y > 0", "    scan a [new] (x, y)", "  scan b [new] (z)"],
    ),
    "through a semi-join": (
        Filter(Join(PRODUCT, C, JoinKind.SEMI, condition("x = w")), condition("x = z")),
        [
            "semi join on x = w",
            "  inner join on x = z",
            "    scan a [new] (x, y)",
            "    scan b [new] (z)",
            "  scan c [new] (w)",
        ],
    ),
    "not to the padded side of an outer join": (
        Filter(Join(A, B, JoinKind.LEFT, condition("x = z")), condition("y = 1 AND z IS NULL")),
        [
            "filter z IS NULL",
            "  left join on x = z",
            "    filter y = 1",
            "      scan a [new] (x, y)",
            "    scan b [new] (z)",
        ],
    ),
    "an outer join whose padded rows are rejected is an inner one": (
        Filter(Join(A, B, JoinKind.LEFT, condition("x = z")), condition("y > 2 * z")),
        ["inner join on x = z AND y > 2 * z", "  scan a [new] (x, y)", "  scan b [new] (z)"],
    ),
    "a full join may lose one side of its padding": (
        Filter(Join(A, B, JoinKind.FULL, condition("x = z")), condition("NOT y IS NULL")),
        [
            "left join on x = z",
            "  filter NOT y IS NULL",
            "    scan a [new] (x, y)",
            "  scan b [new] (z)",
        ],
    ),
    "a right join whose padded rows are rejected": (
        Filter(Join(A, B, JoinKind.RIGHT, condition("x = z")), condition("y = 1")),
        ["inner join on x = z", "  filter y = 1", "    scan a [new] (x, y)", "  scan b [new] (z)"],
    ),
    "what NULL may pass keeps the padding": (
        Filter(Join(A, B, JoinKind.LEFT, condition("x = z")), condition("COALESCE(z, 0) = 0")),
        [
            "filter COALESCE(z, 0) = 0",
            "  left join on x = z",
            "    scan a [new] (x, y)",
            "    scan b [new] (z)",
        ],
    ),
    "through columns under other names, not through expressions": (
        Filter(
            Project(A, (Named("p", column("x")), Named("q", condition("x + y")))),
            condition("p = 1 AND q = 2"),
        ),
        ["filter q = 2", "  project x as p, x + y as q", "    filter x = 1", "      scan a [new] (x, y)"],
    ),
    "a condition about nothing stays at its join": (
        Filter(PRODUCT, condition("1 = 0")),
        ["inner join on 1 = 0", "  scan a [new] (x, y)", "  scan b [new] (z)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conditions_sink(name: str) -> None:
    plan, expected = CASES[name]
    assert show(pushed_down(plan)).splitlines() == expected


@pytest.mark.parametrize("name", CASES)
def test_what_is_placed_stays_where_it_is(name: str) -> None:
    once = pushed_down(CASES[name][0])
    again = pushed_down(once) if isinstance(once, (Filter, Join)) else once
    assert again == once
