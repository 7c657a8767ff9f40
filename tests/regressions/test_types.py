"""Types that Delta tables cannot hold are refused, and nothing is left behind; views may have them inside."""

from __future__ import annotations

import re

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside
from viewkeeper.errors import Unsupported

pytestmark = pytest.mark.usefixtures("maintained")

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


@pytest.mark.parametrize("kind", ["TIME", "TIME(3)", "ARRAY<TIME(6)>"])
def test_a_type_is_named_as_it_was_written(warehouse: vk.Warehouse, kind: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(f"The column v is of type {kind}.")):
        warehouse.sql(f"CREATE TABLE t (k INT, v {kind})")


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


INTERVALS = {
    "largest": "SELECT MAX(n) AS x FROM (SELECT e - d AS i, COUNT(*) AS n FROM t GROUP BY e - d)",
    "longest": "SELECT k, CAST(MAX(e - d) AS STRING) AS x FROM t GROUP BY k",
    "each": "SELECT CAST(i AS STRING) AS j, n FROM (SELECT e - d AS i, COUNT(*) AS n FROM t GROUP BY e - d)",
    "whole": "SELECT CAST(SUM(e - d) AS STRING) AS x FROM t",
    "once": "SELECT k, CAST(i AS STRING) AS j FROM (SELECT DISTINCT k, e - d AS i FROM t)",
    "collated": "SELECT MAX(n) AS n FROM (SELECT COUNT(*) AS n FROM t GROUP BY s COLLATE UTF8_LCASE)",
}
MAPS = {
    "least": "SELECT m, MIN(k) AS a, MAX(k) AS b FROM t GROUP BY m",
    "counted": "SELECT m, COUNT(*) AS n, SUM(k) AS s FROM t GROUP BY m",
    "middle": "SELECT m, MEDIAN(k) AS a FROM t GROUP BY m",
    "above": "SELECT MAX(n) AS x FROM (SELECT m, COUNT(*) AS n FROM t GROUP BY m)",
    "entry": "SELECT m['a'] AS a, MAX(k) AS b FROM t GROUP BY m",
    "numbered": "SELECT k, ROW_NUMBER() OVER (PARTITION BY s ORDER BY k) AS r FROM t",
}


def _beside(warehouse: vk.Warehouse) -> Beside:
    return Beside(
        warehouse,
        "CREATE TABLE t (k INT, s STRING, d DATE, e DATE, m MAP<STRING, INT>)",
        """INSERT INTO t VALUES (1, 'a', DATE'2024-01-01', DATE'2024-01-05', map('a', 1, 'b', 2)),
           (2, 'A', DATE'2024-01-02', DATE'2024-01-06', map('b', 2, 'a', 1)), (3, 'b', NULL, NULL, NULL)""",
    )


MORE = (
    "INSERT INTO t VALUES (4, 'B', DATE'2024-01-03', DATE'2024-01-07', map('c', 3))",
    "INSERT INTO t VALUES (5, 'c', NULL, NULL, NULL)",
    "DELETE FROM t WHERE k = 1",
)


def test_types_that_only_a_view_has_inside_are_no_reason_to_refuse_it(warehouse: vk.Warehouse) -> None:
    beside = _beside(warehouse)
    beside.define(INTERVALS)
    assert "interval" in str(warehouse.explain("largest")), "the reason why it is recomputed"
    beside.after(*MORE)
    assert all(warehouse.verify(view) for view in INTERVALS)


def test_groups_may_be_maps(warehouse: vk.Warehouse) -> None:
    beside = _beside(warehouse)
    beside.define(MAPS)
    report = beside.after(*MORE)
    assert report.of("counted").strategy == "summary-delta"
    assert report.of("least").strategy == "recompute"
    assert "maps" in str(warehouse.explain("least"))
    assert all(warehouse.verify(view) for view in MAPS)
    with pytest.raises(vk.ViewkeeperError, match="MAP type columns in a set operation"):
        warehouse.create_view("refused", "SELECT DISTINCT m FROM t")


def test_maps_are_no_hindrance_to_id_based_diffs(warehouse: vk.Warehouse) -> None:
    """Where a view reads them it is kept in another way; where it does not they are not looked at."""
    beside = Beside(
        warehouse,
        "CREATE TABLE t (k INT, n INT, m MAP<STRING, INT>, PRIMARY KEY (k))",
        "INSERT INTO t VALUES (1, 1, map('a', 1)), (2, 1, map('a', 1, 'b', 2)), (3, 2, NULL)",
    )
    texts = {
        "without": "SELECT a.k, b.n FROM t a JOIN t b ON a.n = b.n",
        "shown": "SELECT k, m FROM t WHERE n > 0",
        "looked_into": "SELECT k, m['a'] AS a FROM t WHERE cardinality(m) > 0",
        "made": "SELECT k, map(k, n) AS made FROM t",
    }
    for strategy in ("id-diffs", "tuple-diffs"):
        for name, text in texts.items():
            named = f"{name}_{strategy[:2]}"
            warehouse.create_view(named, text, policy="incremental", strategy=strategy)
            beside.views[named] = text
    report = beside.after(
        "UPDATE t SET n = 2, m = map('b', 2, 'a', 7) WHERE k = 2",
        "DELETE FROM t WHERE k = 3",
        "INSERT INTO t VALUES (4, 2, map())",
    )
    kept = {entry.view: entry.strategy for entry in report}
    assert (kept["without_id"], kept["without_tu"]) == ("id-diffs", "tuple-diffs")
    assert "recompute" not in kept.values()
