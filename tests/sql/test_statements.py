"""Statements to data."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.errors import InvalidName, InvalidSQL, Unsupported, ViewkeeperError
from viewkeeper.sql.statements import (
    AlterView,
    CreateTable,
    CreateView,
    Delete,
    DropTable,
    DropView,
    ExplainView,
    Insert,
    Merge,
    MergeClause,
    Query,
    RefreshViews,
    Statement,
    Update,
    parse_statement,
    split_statements,
)

POS = TableSchema(
    "pos",
    (
        Column("storeID", "int", nullable=False),
        Column("qty", "int", nullable=False),
        Column("price", "decimal(10,2)"),
    ),
    ("storeID",),
    (ForeignKey(("storeID",), "stores", ("storeID",)),),
    (("viewkeeper.hierarchy", "storeID > city > region"),),
)

STATEMENTS: list[tuple[str, Statement]] = [
    (
        "CREATE TABLE pos (storeID INT, qty INT NOT NULL, price DECIMAL(10, 2), PRIMARY KEY (STOREID),"
        " FOREIGN KEY (storeID) REFERENCES stores (storeID))"
        " TBLPROPERTIES ('viewkeeper.hierarchy' = 'storeID > city > region')",
        CreateTable(POS),
    ),
    (
        "create table if not exists t (a bigint primary key, b string) cluster by (B)",
        CreateTable(
            TableSchema("t", (Column("a", "bigint", False), Column("b", "string")), ("a",)),
            if_not_exists=True,
            cluster_by=("b",),
        ),
    ),
    (
        "CREATE TABLE t AS SELECT a AS b FROM r  -- all of it",
        CreateTable(TableSchema("t", ()), query="SELECT a AS b FROM r"),
    ),
    ("CREATE MATERIALIZED VIEW v AS SELECT 1 AS x", CreateView("v", "SELECT 1 AS x")),
    (
        "create materialized view if not exists v tblproperties ('a' = 'b', 'c' = 'd')\nas"
        " select  x\nfrom t;",
        CreateView("v", "select  x\nfrom t", False, True, (("a", "b"), ("c", "d"))),
    ),
    (
        "CREATE OR REPLACE MATERIALIZED VIEW v AS WITH q AS (SELECT 1 AS x) SELECT * FROM q",
        CreateView("v", "WITH q AS (SELECT 1 AS x) SELECT * FROM q", or_replace=True),
    ),
    ("ALTER MATERIALIZED VIEW v AS SELECT 2 AS x", AlterView("v", "SELECT 2 AS x")),
    ("DROP TABLE IF EXISTS t", DropTable("t", if_exists=True)),
    ("DROP TABLE t", DropTable("t")),
    ("DROP MATERIALIZED VIEW IF EXISTS v CASCADE", DropView("v", if_exists=True, cascade=True)),
    ("DROP VIEW v", DropView("v")),
    ("REFRESH MATERIALIZED VIEW v", RefreshViews(("v",))),
    ("REFRESH MATERIALIZED VIEW v, w FULL", RefreshViews(("v", "w"), full=True)),
    ("REFRESH MATERIALIZED VIEWS", RefreshViews()),
    ("EXPLAIN MATERIALIZED VIEW v", ExplainView("v")),
    ("INSERT INTO t VALUES (1, 'x'), (2, DEFAULT)", Insert("t", (), "VALUES (1, 'x'), (2, NULL)", rows=2)),
    ("INSERT INTO TABLE t (a, b) SELECT  p, q FROM r", Insert("t", ("a", "b"), "SELECT  p, q FROM r")),
    ("INSERT INTO t (SELECT p FROM r)", Insert("t", (), "(SELECT p FROM r)")),
    ("DELETE FROM t", Delete("t")),
    ("DELETE FROM t AS x WHERE x.a > 1", Delete("t", "x.a > 1", "x")),
    ("TRUNCATE TABLE t", Delete("t")),
    ("UPDATE t SET a = a + 1, b = 'z' WHERE c", Update("t", (("a", "a + 1"), ("b", "'z'")), "c")),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.gone THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE",
        Merge(
            "t",
            None,
            "s",
            "s",
            "t.k = s.k",
            (
                MergeClause("matched", "s.gone", "delete"),
                MergeClause("matched", None, "update", (("a", "s.a"),)),
                MergeClause("not matched", None, "insert"),
                MergeClause("not matched by source", None, "delete"),
            ),
        ),
    ),
    ("SELECT 1 AS x", Query("SELECT 1 AS x")),
    ("  with q as (select 1) select * from q ;", Query("with q as (select 1) select * from q")),
    ("VALUES (1)", Query("VALUES (1)")),
]


@pytest.mark.parametrize(("sql", "statement"), STATEMENTS)
def test_statement(sql: str, statement: Statement) -> None:
    assert parse_statement(sql) == statement


TYPES = [
    ("integer", "int"),
    ("long", "bigint"),
    ("decimal", "decimal(10,0)"),
    ("decimal(5)", "decimal(5,0)"),
    ("varchar(10)", "string"),
    ("timestamp", "timestamp"),
    ("timestamp_ntz", "timestamp_ntz"),
    ("array<struct<x:int,Y:string>>", "array<struct<x:int,Y:string>>"),
    ("map<string, array<double>>", "map<string,array<double>>"),
]


@pytest.mark.parametrize(("written", "simple"), TYPES)
def test_types_are_sparks_simple_strings(written: str, simple: str) -> None:
    statement = parse_statement(f"CREATE TABLE t (c {written})")
    assert isinstance(statement, CreateTable)
    assert statement.schema.columns[0].type == simple


REFUSED: list[tuple[str, type[ViewkeeperError], str]] = [
    ("", InvalidSQL, "no statement"),
    ("VACUUM t", Unsupported, "VACUUM"),
    ("GRANT ALL ON t TO x", Unsupported, "GRANT"),
    ("CREATE VIEW v AS SELECT 1 AS x", Unsupported, "CREATE MATERIALIZED VIEW"),
    ("CREATE OR REPLACE TABLE t (a INT)", Unsupported, "OR REPLACE"),
    ("CREATE TABLE t", InvalidSQL, "no columns"),
    ("CREATE TABLE db.t (x INT)", InvalidName, "db.t"),
    ("CREATE TABLE t (x INT, X INT)", InvalidSQL, "two columns"),
    ("CREATE TABLE t (x INT, PRIMARY KEY (y))", InvalidSQL, "names the column y"),
    ("CREATE TABLE t (x INT PRIMARY KEY, PRIMARY KEY (x))", InvalidSQL, "more than one primary key"),
    ("CREATE TABLE t (x INT) CLUSTER BY (y)", InvalidSQL, "CLUSTER BY names"),
    ("CREATE MATERIALIZED VIEW v SELECT 1", InvalidSQL, "AS is expected"),
    ("CREATE MATERIALIZED VIEW v AS", InvalidSQL, "a query is missing"),
    ("CREATE MATERIALIZED VIEW db.v AS SELECT 1 AS x", InvalidName, "qualifier"),
    ("REFRESH TABLE t", InvalidSQL, "MATERIALIZED VIEW is expected"),
    ("DROP MATERIALIZED VIEW v NOW", InvalidSQL, "the end of the statement"),
    ("INSERT OVERWRITE t SELECT 1", Unsupported, "OVERWRITE"),
    ("EXPLAIN SELECT 1", Unsupported, "EXPLAIN MATERIALIZED VIEW v"),
    ("SELECT FROM WHERE", InvalidSQL, "line 1"),
]


@pytest.mark.parametrize(("sql", "error", "part"), REFUSED)
def test_refused(sql: str, error: type[ViewkeeperError], part: str) -> None:
    with pytest.raises(error) as caught:
        parse_statement(sql)
    assert part in str(caught.value)


def test_scripts_are_split_at_semicolons_outside_of_strings() -> None:
    script = "SELECT ';' AS x; -- a comment; with one\nINSERT INTO t VALUES (1);\n;"
    assert split_statements(script) == ["SELECT ';' AS x", "-- a comment; with one\nINSERT INTO t VALUES (1)"]
