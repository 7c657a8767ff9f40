"""ID-based diffs on Spark: what a refresh reads and writes, and what its layers mean to every reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")

FAN_OUT = 10_000
PARTS = "SELECT did, pid, price FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)"
COSTS = """SELECT did, SUM(price) AS cost FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)
           WHERE category = 'phone' GROUP BY did"""


def rows(warehouse: vk.Warehouse, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in warehouse.table(name).collect())


def devices(warehouse: vk.Warehouse) -> None:
    """The tables of katsis15, Figure 1."""
    tables = {
        "devices": ([("D1", "phone"), ("D2", "phone"), ("D3", "tablet")], ["did", "category"], ["did"]),
        "parts": ([("P1", 10), ("P2", 20)], ["pid", "price"], ["pid"]),
        "devices_parts": ([("D1", "P1"), ("D2", "P1"), ("D1", "P2")], ["did", "pid"], ["did", "pid"]),
    }
    for name, (found, columns, key) in tables.items():
        warehouse.create_table(name, [dict(zip(columns, row)) for row in found], key=key, check=False)


def test_a_price_change_is_one_row(warehouse: vk.Warehouse) -> None:
    ids = warehouse.spark.range(FAN_OUT).selectExpr("CAST(id AS INT) AS did")
    warehouse.create_table("devices", ids.selectExpr("did", "'phone' AS category"), key=["did"])
    warehouse.create_table("devices_parts", ids.selectExpr("did", "'P1' AS pid"), key=["did", "pid"])
    warehouse.create_table("parts", [{"pid": "P1", "price": 10}, {"pid": "P2", "price": 20}], key=["pid"])
    warehouse.create_view("v", PARTS, strategy="id-diffs")
    before = warehouse.version
    warehouse.sql("UPDATE parts SET price = 11 WHERE pid = 'P1'")
    report = warehouse.refresh(policy="strict")
    assert report[0].strategy == "id-diffs"
    assert report[0].rows_written == 1
    assert report[0].details["reads"] == {"parts__delta": 2}, "the change itself, and no table"
    assert report.actions == 0, "the driver passes the row on"
    prices = warehouse.table("v").selectExpr("count(*)", "min(price)", "max(price)").first()
    assert prices == (FAN_OUT, 11, 11)
    feed = warehouse.changes("v", before)
    assert feed.groupBy("change").count().collect() == [("update", FAN_OUT)]
    assert warehouse.table("v", before).selectExpr("max(price)").first() == (10,)


def test_the_running_example_through_every_kind_of_change(
    warehouse: vk.Warehouse, limit: Callable[..., None]
) -> None:
    """An aggregate over a cache; a view above that reads its changes; layers folded on the way."""
    limit(layers=3, main_written=0, layers_share=100)
    devices(warehouse)
    warehouse.sql(
        f"""CREATE MATERIALIZED VIEW costs
            TBLPROPERTIES ('viewkeeper.strategy' = 'id-diffs', 'viewkeeper.refresh' = 'on_commit')
            AS {COSTS}"""
    )
    warehouse.create_view("dear", "SELECT COUNT(*) AS n, SUM(cost) AS total FROM costs")
    changes = {
        "UPDATE parts SET price = 11 WHERE pid = 'P1'": [("D1", 31), ("D2", 11)],
        "UPDATE devices SET category = 'phone' WHERE did = 'D3'": [("D1", 31), ("D2", 11)],
        "INSERT INTO devices_parts VALUES ('D3', 'P2')": [("D1", 31), ("D2", 11), ("D3", 20)],
        "DELETE FROM parts WHERE pid = 'P1'": [("D1", 20), ("D3", 20)],
        "UPDATE parts SET price = NULL": [("D1", None), ("D3", None)],
    }
    for sql, expected in changes.items():
        warehouse.sql(sql)
        assert rows(warehouse, "costs") == expected, sql
        report = warehouse.refresh(policy="strict")
        assert {entry.strategy for entry in report} <= {"summary-delta", "none"}
        total = [cost for _, cost in expected if cost is not None]
        assert rows(warehouse, "dear") == [(len(expected), sum(total) if total else None)]
    used = [commit.report["strategy"] for commit in warehouse.history("costs") if commit.report]
    assert used.count("id-diffs") == len(changes)
    warehouse.compact()
    assert rows(warehouse, "costs") == [("D1", None), ("D3", None)]


def test_a_view_that_changes_its_query_is_filled_anew(warehouse: vk.Warehouse) -> None:
    devices(warehouse)
    warehouse.create_view("v", PARTS, strategy="tuple-diffs")
    warehouse.alter_view("v", "SELECT did, price FROM parts JOIN devices_parts USING (pid)")
    with warehouse.transaction() as t:
        t.update("parts", [{"pid": "P2", "price": 5}])
        t.delete("devices_parts", [("D2", "P1")])
    [report] = warehouse.refresh()
    assert report.strategy == "tuple-diffs"
    assert rows(warehouse, "v") == [("D1", 5), ("D1", 10)]
