"""Types that Delta tables cannot hold are refused, and nothing is left behind."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside
from viewkeeper.errors import Unsupported

TYPES = [
    "INTERVAL DAY TO SECOND",
    "INTERVAL YEAR TO MONTH",
    "VARIANT",
    "STRUCT<a: VARIANT>",
    "STRING COLLATE UTF8_LCASE",
    "ARRAY<STRING COLLATE UTF8_LCASE>",
]


@pytest.mark.parametrize("kind", [*TYPES, "TIME(6)"])
def test_a_table_by_sql_is_refused(warehouse: vk.Warehouse, kind: str) -> None:
    with pytest.raises(Unsupported, match="Delta tables cannot hold"):
        warehouse.sql(f"CREATE TABLE t (k INT, v {kind})")
    assert not warehouse.status()


@pytest.mark.parametrize("kind", TYPES)
def test_a_table_from_rows_is_refused(warehouse: vk.Warehouse, kind: str) -> None:
    rows = warehouse.spark.sql(f"SELECT 1 AS k, CAST(NULL AS {kind}) AS v")
    with pytest.raises(Unsupported, match="Delta tables cannot hold"):
        warehouse.create_table("t", rows)
    assert not warehouse.status()


@pytest.mark.parametrize(
    "value", ["INTERVAL '1' DAY", "parse_json('1')", "s COLLATE UTF8_LCASE", "array(s COLLATE UTF8_LCASE)"]
)
def test_a_view_with_such_a_column_is_refused(warehouse: vk.Warehouse, value: str) -> None:
    warehouse.sql("CREATE TABLE t (k INT, s STRING)")
    with pytest.raises(Unsupported, match=r"(?s)The column x of v is of type .*Delta tables cannot hold"):
        warehouse.create_view("v", f"SELECT k, {value} AS x FROM t")
    assert [status.name for status in warehouse.status()] == ["t"]


def test_a_view_may_compare_by_a_collation(warehouse: vk.Warehouse) -> None:
    beside = Beside(warehouse, "CREATE TABLE t (k INT, s STRING)", "INSERT INTO t VALUES (1, 'a'), (2, 'A')")
    beside.define({"v": "SELECT a.k, b.k AS other FROM t a JOIN t b ON a.s COLLATE UTF8_LCASE = b.s"})
    beside.after("INSERT INTO t VALUES (3, 'A'), (4, 'b')", "DELETE FROM t WHERE k = 1")
    assert warehouse.verify("v")


def test_fields_may_be_called_like_types(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("t", warehouse.spark.sql("SELECT named_struct('interval', 1, 'variant', 2) AS s"))
    assert [tuple(row.s) for row in warehouse.table("t").collect()] == [(1, 2)]


def test_literals_are_read_under_the_settings_of_the_definition(warehouse: vk.Warehouse) -> None:
    spark, text = warehouse.spark, r"SELECT k, '\n' AS x FROM t"
    warehouse.sql("CREATE TABLE t (k INT)")
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        warehouse.create_view("v", text)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    warehouse.sql("INSERT INTO t VALUES (1)")
    warehouse.refresh()
    assert [tuple(row) for row in warehouse.table("v").collect()] == [(1, r"\n")]
    assert warehouse.verify("v")
