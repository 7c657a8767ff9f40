"""WITH clauses are found and taken apart as text, whatever stands in strings, comments and parentheses."""

from __future__ import annotations

import pytest

from viewkeeper.sql.with_text import components, first_with, needed, written

TEXT = """SELECT '(WITH a AS (' AS x FROM (WITH RECURSIVE `r s`(a, b) MAX RECURSION LEVEL 5 AS (
    SELECT a, b FROM e -- )
    UNION SELECT a, 2 FROM `r s`), q AS (SELECT ')' AS c FROM `r s`) SELECT * FROM q) t"""


def test_a_clause_is_found_inside() -> None:
    clause = first_with(TEXT)
    assert clause is not None
    assert [(cte.name, cte.columns) for cte in clause.ctes] == [("r s", ("a", "b")), ("q", ())]
    assert clause.ctes[1].body == "SELECT ')' AS c FROM `r s`"
    assert TEXT[clause.end :] == " SELECT * FROM q) t"
    assert first_with(written(clause.ctes) + " SELECT 1") is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP",
        "SELECT CAST(a AS TIMESTAMP) AS w FROM t",
        "SELECT 'WITH r AS (SELECT 1)' AS a",
        "SELECT a /* WITH r AS (SELECT 1) */ FROM t",
    ],
)
def test_what_is_no_clause(text: str) -> None:
    assert first_with(text) is None


def test_components_come_after_what_they_read() -> None:
    clause = first_with(
        "WITH RECURSIVE s AS (SELECT * FROM Q UNION SELECT * FROM s), q AS (SELECT * FROM p UNION SELECT 1), "
        "p AS (SELECT * FROM q), z AS (SELECT 1) SELECT * FROM s"
    )
    assert clause is not None
    found = [[cte.name for cte in members] for members in components(clause.ctes)]
    assert found == [["z"], ["q", "p"], ["s"]]
    assert [cte.drops_duplicates() for cte in clause.ctes] == [True, True, False, False]


def test_only_what_is_read_is_needed() -> None:
    clause = first_with("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a), c AS (SELECT 2) SELECT x FROM b")
    assert clause is not None
    assert [cte.name for cte in needed("SELECT x FROM B", clause.ctes)] == ["a", "b"]


def test_names_of_columns_are_those_of_the_first_select() -> None:
    clause = first_with("WITH r AS ((SELECT a, b AS c FROM t) UNION SELECT 1, 2) SELECT * FROM r")
    assert clause is not None
    assert clause.ctes[0].shown() == ("a", "c")
