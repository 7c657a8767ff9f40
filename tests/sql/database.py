"""A small database full of NULLs and duplicates, on which texts and their translations are compared."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import sqlglot

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import DUCKDB, render

R = TableSchema("r", (Column("a", "int"), Column("b", "int"), Column("c", "string")))
S = TableSchema("s", (Column("a", "int"), Column("d", "int")))
T = TableSchema(
    "t",
    (Column("k", "int", nullable=False), Column("g", "int"), Column("x", "int"), Column("Name", "string")),
    key=("k",),
)
EDGE = TableSchema("edge", (Column("src", "int"), Column("dst", "int")))
XS = TableSchema("xs", (Column("id", "int"), Column("list", "array<int>")))
CATALOG = StaticCatalog([R, S, T, EDGE, XS])


def database(seed: int) -> duckdb.DuckDBPyConnection:
    chance = random.Random(seed)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE r (a INT, b INT, c TEXT)")
    connection.execute("CREATE TABLE s (a INT, d INT)")
    connection.execute('CREATE TABLE t (k INT, g INT, x INT, "Name" TEXT)')
    connection.execute("CREATE TABLE edge (src INT, dst INT)")
    connection.execute("CREATE TABLE xs (id INT, list INT[])")
    rows = chance.randint(4, 9)
    _fill(connection, "r", [(_int(chance), _int(chance), _text(chance)) for _ in range(rows)])
    _fill(connection, "s", [(_int(chance), _int(chance)) for _ in range(rows)])
    _fill(connection, "t", [(k, _int(chance), _int(chance), _text(chance)) for k in range(rows)])
    _fill(connection, "edge", [(chance.randint(0, 3), chance.randint(2, 6)) for _ in range(rows - 2)])
    lists = [[1, 2, 2], [], None, [3, None]]
    _fill(connection, "xs", [(_int(chance), chance.choice(lists)) for _ in range(rows)])
    return connection


def _fill(connection: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" for _ in rows[0])
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _int(chance: random.Random) -> int | None:
    return chance.choice([None, 0, 1, 1, 2, 2, 3])


def _text(chance: random.Random) -> str | None:
    return chance.choice([None, "u", "v", "v", "w"])


def of_text(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[Any]:
    """The answer of the text itself."""
    return _bag(connection, sqlglot.transpile(sql, read="spark", write="duckdb")[0])


def of_translation(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[Any]:
    """The answer of the plan that the text was translated to."""
    view = parse_view(sql, CATALOG)
    assert view.relation is not None, view.untranslatable
    assert view.relation.columns == view.columns
    return _bag(connection, render(plain(view.relation), DUCKDB))


def _bag(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[Any]:
    rows = connection.execute(sql).fetchall()
    return Counter(tuple(_value(value) for value in row) for row in rows)


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    return tuple(value) if isinstance(value, list) else value
