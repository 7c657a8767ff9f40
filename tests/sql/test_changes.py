"""DML as queries: what is deleted and inserted, compared with what DuckDB's own DML does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest
import sqlglot

from tests.sql.database import CATALOG, database
from viewkeeper.errors import InvalidSQL, NotDeterministic, UnknownColumn, UnknownTable, ViewkeeperError
from viewkeeper.sql.dml_queries import ChangeQueries, change_queries
from viewkeeper.sql.statements import Delete, Insert, Merge, Update, parse_statement

STATEMENTS = [
    "INSERT INTO s VALUES (1, 2), (NULL, 3)",
    "INSERT INTO s (d) VALUES (7)",
    "INSERT INTO s (d, a) SELECT a, b FROM r",
    "INSERT INTO s SELECT a, COUNT(*) FROM r GROUP BY a",
    "DELETE FROM r",
    "DELETE FROM r WHERE a > 1",
    "DELETE FROM r AS q WHERE q.a IN (SELECT a FROM s)",
    "DELETE FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "UPDATE r SET a = b, b = a",
    "UPDATE r SET b = b + 1 WHERE a IS NULL",
    "UPDATE t SET x = (SELECT MAX(d) FROM s WHERE s.a = t.g) WHERE k > 1",
    "UPDATE t AS q SET x = NULL, name = upper(q.name) WHERE q.g IN (SELECT a FROM s)",
]


def _apply(connection: duckdb.DuckDBPyConnection, changes: ChangeQueries) -> Counter[Any]:
    """The table's rows after the deletions and insertions."""
    rows = _rows(connection, f"SELECT * FROM {changes.table}")
    gone = _rows(connection, changes.deletes) if changes.deletes else Counter()
    assert not gone - rows
    come = _rows(connection, changes.inserts) if changes.inserts else Counter()
    return rows - gone + come


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[Any]:
    return Counter(connection.execute(sqlglot.transpile(sql, read="spark", write="duckdb")[0]).fetchall())


def _changes(sql: str) -> ChangeQueries:
    statement = parse_statement(sql)
    assert isinstance(statement, (Insert, Delete, Update, Merge))
    return change_queries(statement, CATALOG)


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_changes_are_what_the_statement_does(sql: str, seed: int) -> None:
    connection = database(seed)
    changes = _changes(sql)
    after = _apply(connection, changes)
    connection.execute(sqlglot.transpile(sql, read="spark", write="duckdb")[0])
    assert after == _rows(connection, f"SELECT * FROM {changes.table}")


SOURCE = "(SELECT DISTINCT a AS k, 9 AS g, a AS x, 'new' AS name FROM r WHERE a > 0) AS q"
MERGES = [
    (
        f"MERGE INTO t USING {SOURCE} ON t.k = q.k WHEN MATCHED THEN UPDATE SET * WHEN NOT"
        " MATCHED THEN INSERT *",
        "SELECT q.k, q.g, q.x, q.name FROM {s} UNION ALL SELECT t.* FROM t WHERE k NOT IN"
        " (SELECT k FROM {s})",
    ),
    (
        f"MERGE INTO t USING {SOURCE} ON t.k = q.k WHEN MATCHED AND t.k > 1 THEN DELETE"
        " WHEN MATCHED AND t.k > 0 THEN UPDATE SET x = t.x + q.x",
        "SELECT k, g, x, name FROM t WHERE k NOT IN (SELECT k FROM {s})"
        " UNION ALL SELECT t.k, t.g, t.x + q.x, t.name FROM t JOIN {s} ON t.k = q.k WHERE t.k = 1",
    ),
    (
        f"MERGE INTO t USING {SOURCE} ON t.k = q.k WHEN NOT MATCHED BY SOURCE AND t.x > 1 THEN"
        " UPDATE SET g = 0"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "SELECT k, CASE WHEN k IN (SELECT k FROM {s}) THEN g ELSE 0 END, x, name FROM t"
        " WHERE k IN (SELECT k FROM {s}) OR x > 1",
    ),
    (
        f"MERGE INTO t USING {SOURCE} ON t.k = q.k + 100 WHEN NOT MATCHED AND q.k > 1"
        " THEN INSERT (k, x) VALUES (q.k + 100, 5)",
        "SELECT * FROM t UNION ALL SELECT k + 100, NULL, 5, NULL FROM {s} WHERE k > 1",
    ),
]


@pytest.mark.parametrize(("sql", "result"), MERGES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_merge(sql: str, result: str, seed: int) -> None:
    connection = database(seed)
    assert _apply(connection, _changes(sql)) == _rows(connection, result.format(s=SOURCE))


REFUSED: list[tuple[str, type[ViewkeeperError], str]] = [
    ("INSERT INTO nowhere VALUES (1)", UnknownTable, "nowhere"),
    ("INSERT INTO s VALUES (1)", InvalidSQL, "1 values for 2 columns"),
    ("INSERT INTO s VALUES (1, 2), (1)", InvalidSQL, "for 2 columns"),
    ("INSERT INTO s (a, z) VALUES (1, 2)", UnknownColumn, "z"),
    ("INSERT INTO s (a, a) VALUES (1, 2)", InvalidSQL, "twice"),
    ("UPDATE s SET z = 1", UnknownColumn, "z"),
    ("UPDATE s SET a = 1, A = 2", InvalidSQL, "twice"),
    ("UPDATE s SET a = 1 WHERE rand() < 0.5", NotDeterministic, "chance"),
    ("DELETE FROM nowhere", UnknownTable, "nowhere"),
]


@pytest.mark.parametrize(("sql", "error", "part"), REFUSED)
def test_refused(sql: str, error: type[ViewkeeperError], part: str) -> None:
    with pytest.raises(error) as caught:
        _changes(sql)
    assert part in str(caught.value)
