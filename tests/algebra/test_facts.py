"""Facts of plans that come from SQL."""

from __future__ import annotations

import pytest

from tests.algebra.facts import functional_dependencies, keys, nullable
from tests.sql.database import CATALOG
from viewkeeper.algebra.facts import determines, is_linear
from viewkeeper.algebra.nullability import not_null
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.sql.parse import parse_view

SCHEMAS: dict[str, TableSchema] = {schema.name: schema for schema in CATALOG.schemas.values()}


def plan(sql: str) -> Relation:
    relation = parse_view(sql, CATALOG).relation
    assert relation is not None
    return relation


KEYS = [
    ("SELECT k, x FROM t", {frozenset("k")}),
    ("SELECT x FROM t", set()),
    ("SELECT k AS id, k + 1 AS next FROM t", {frozenset({"id"})}),
    ("SELECT x FROM t WHERE k = 3", {frozenset()}),
    ("SELECT k, x FROM t WHERE k = x", {frozenset("k")}),
    ("SELECT a, b FROM r", set()),
    ("SELECT DISTINCT a, b FROM r", {frozenset("ab")}),
    ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", {frozenset("a")}),
    ("SELECT COUNT(*) AS n FROM r", {frozenset()}),
    ("SELECT a FROM r ORDER BY a LIMIT 1", {frozenset()}),
    ("SELECT one.k AS p, two.k AS q FROM t AS one, t AS two", {frozenset("pq")}),
    ("SELECT one.k AS p FROM t AS one LEFT JOIN t AS two ON one.g = two.k", {frozenset("p")}),
    ("SELECT k FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.a = t.g)", {frozenset("k")}),
    (
        "SELECT g, k FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) = 1",
        {frozenset("g"), frozenset("k")},
    ),
    ("SELECT k FROM t UNION ALL SELECT k FROM t", set()),
    ("SELECT k FROM t UNION SELECT a FROM r", {frozenset("k")}),
    ("SELECT k FROM t EXCEPT ALL SELECT a FROM r", {frozenset("k")}),
]


@pytest.mark.parametrize(("sql", "expected"), KEYS)
def test_keys(sql: str, expected: set[frozenset[str]]) -> None:
    assert keys(plan(sql), SCHEMAS) == expected


def test_a_left_join_that_matches_several_rows_keeps_no_key() -> None:
    assert not keys(plan("SELECT k FROM t LEFT JOIN r ON t.g = r.a"), SCHEMAS)


def test_dependencies_follow_keys_constants_and_equalities() -> None:
    found = functional_dependencies(plan("SELECT k, g, x, x + 1 AS y FROM t WHERE g = 1"), SCHEMAS)
    assert {(d.of, d.on) for d in found} >= {
        (frozenset("k"), "x"),
        (frozenset(), "g"),
        (frozenset("x"), "y"),
    }
    assert determines(plan("SELECT k, g FROM t"), ("k",), SCHEMAS)
    assert not determines(plan("SELECT k, g FROM t"), ("g",), SCHEMAS)


NOT_NULL = [
    ("SELECT k, x FROM t", {"k"}),
    ("SELECT k, x FROM t WHERE x > 1", {"k", "x"}),
    ("SELECT a FROM r WHERE a IS NOT NULL", {"a"}),
    ("SELECT r.a, d FROM r JOIN s ON r.a = s.a", {"a"}),
    ("SELECT t.k, u.k AS other FROM t LEFT JOIN t AS u ON t.x = u.k", {"k"}),
    ("SELECT t.k, u.k AS other FROM t FULL JOIN t AS u ON t.x = u.k", set()),
    ("SELECT a, COUNT(*) AS n, SUM(b) AS v FROM r GROUP BY a", {"n"}),
    ("SELECT coalesce(a, 0) AS a, 1 AS one, b + 1 AS c FROM r", {"a", "one"}),
    ("SELECT k FROM t UNION ALL SELECT a FROM r", set()),
    ("SELECT k FROM t UNION SELECT x FROM t WHERE x = 2", {"k"}),
    ("SELECT k, RANK() OVER (ORDER BY x) AS p FROM t", {"k", "p"}),
]


@pytest.mark.parametrize(("sql", "expected"), NOT_NULL)
def test_columns_without_null(sql: str, expected: set[str]) -> None:
    rel = plan(sql)
    assert not_null(rel) == expected
    assert nullable(rel) == set(rel.columns) - expected


LINEAR = [
    ("SELECT r.a + 1 AS p FROM r JOIN s ON r.a = s.a WHERE b > 1", True),
    ("SELECT a FROM r UNION ALL SELECT a FROM s", True),
    ("SELECT DISTINCT a FROM r", False),
    ("SELECT r.a FROM r LEFT JOIN s ON r.a = s.a", False),
    ("SELECT COUNT(*) AS n FROM r", False),
]


@pytest.mark.parametrize(("sql", "expected"), LINEAR)
def test_linearity(sql: str, expected: bool) -> None:
    assert is_linear(plan(sql)) is expected
