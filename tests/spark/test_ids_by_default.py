"""Views that are stored with their IDs where these may pay: updates as i-diffs, all else as signed rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import viewkeeper as vk
from viewkeeper.errors import InvalidOption

PARTS, DEVICES, FAN_OUT = 20, 50, 10
PRICES = """SELECT did, price, name FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)
            WHERE category = 'phone'"""
COLUMNS = ("did", "price", "name")
STREAM = (
    "UPDATE parts SET price = price + 1 WHERE pid < 5",
    "DELETE FROM devices_parts WHERE did = 10",
    "UPDATE parts SET price = price * 2 WHERE pid < 12",
    "INSERT INTO devices_parts VALUES (10, 1), (10, 2), (11, 3)",
    "UPDATE parts SET price = NULL WHERE pid = 1",
    "UPDATE devices SET category = 'phone' WHERE did IN (1, 2)",
    "UPDATE devices SET name = 'new' WHERE did IN (2, 5, 10)",
    "DELETE FROM parts WHERE pid = 1",
    "UPDATE parts SET price = 7 WHERE pid IN (2, 3)",
)


@pytest.fixture
def products(warehouse: vk.Warehouse) -> vk.Warehouse:
    """Parts of devices, of which every fifth is a phone."""
    spark = warehouse.spark
    parts = spark.range(PARTS).selectExpr("CAST(id AS INT) AS pid", "CAST(id AS INT) AS price")
    kind = "IF(id % 5 = 0, 'phone', 'other') AS category"
    devices = spark.range(DEVICES).selectExpr("CAST(id AS INT) AS did", kind, "CONCAT('d', id) AS name")
    pairs = spark.range(DEVICES * FAN_OUT).selectExpr(
        f"CAST(id % {DEVICES} AS INT) AS did", f"CAST((id DIV {DEVICES} + id) % {PARTS} AS INT) AS pid"
    )
    warehouse.create_table("parts", parts, key=["pid"], check=False)
    warehouse.create_table("devices", devices, key=["did"], check=False)
    warehouse.create_table("devices_parts", pairs, key=["did", "pid"], check=False)
    return warehouse


def rows(warehouse: vk.Warehouse, source: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in warehouse.sql(source).collect())


def create(warehouse: vk.Warehouse, query: str) -> None:
    warehouse.sql(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('viewkeeper.ids' = 'auto') AS {query}")


def refreshed(warehouse: vk.Warehouse, changes: Iterable[str]) -> list[str]:
    """What maintains `v` through the changes, one after the other; each answer is compared with Spark's."""
    used = []
    for sql in changes:
        warehouse.sql(sql)
        report = warehouse.refresh(policy="incremental")
        assert rows(warehouse, "SELECT * FROM v") == rows(warehouse, PRICES), sql
        used += [entry.strategy for entry in report if entry.view == "v"]
    return used


@pytest.mark.usefixtures("maintained")
def test_the_papers_update_reads_the_change_and_writes_one_row_for_each_part(products: vk.Warehouse) -> None:
    """katsis15, section 1, chosen by the planner: the proportions of a join of 200,000 pairs."""
    create(products, PRICES)
    products.sql("UPDATE parts SET price = price + 1 WHERE pid < 2")
    [report] = products.refresh()
    assert (report.strategy, report.rows_written) == ("id-diffs", 2)
    assert report.details["reads"] == {"parts__delta": 4}, "the log, and no table"
    assert rows(products, "SELECT * FROM v") == rows(products, PRICES)
    assert {"price", "did", "name"} == set(products.table("v").columns), "IDs are hidden"


def test_updates_and_signed_rows_are_laid_over_each_other(
    products: vk.Warehouse, limit: Callable[..., None]
) -> None:
    """Folded on the way and at the end; what a view above and the feed are told is the change of the rows."""
    limit(layers=4, main_written=0, layers_share=100)
    create(products, PRICES)
    products.create_view("total", "SELECT did, COUNT(*) AS n, SUM(price) AS s FROM v GROUP BY did")
    start = products.version
    before = rows(products, "SELECT * FROM v")
    used = refreshed(products, STREAM)
    assert set(used) == {"id-diffs", "counting"}
    summed = "SELECT did, COUNT(*) AS n, SUM(price) AS s FROM v GROUP BY did"
    assert rows(products, "SELECT * FROM total") == rows(products, summed)
    after = rows(products, "SELECT * FROM v")
    feed = products.changes("v", start)
    for side, none, wanted in (("new", "delete", after - before), ("old", "insert", before - after)):
        shown = feed.where(f"change <> '{none}'").select(*(f"{side}_{name}" for name in COLUMNS))
        assert Counter(tuple(row) for row in shown.collect()) == wanted
    assert before == Counter(tuple(row) for row in products.table("v", start).collect())
    assert after == Counter(tuple(row.values()) for row in vk.read(products.path, "v").to_arrow().to_pylist())
    products.compact()
    assert rows(products, "SELECT * FROM v") == after
    assert products.verify("v")
    assert products.verify("total")


@pytest.mark.usefixtures("maintained")
def test_views_that_do_not_ask_are_stored_without_ids(products: vk.Warehouse) -> None:
    with pytest.raises(InvalidOption, match=r"viewkeeper\.ids"):
        products.sql(f"CREATE MATERIALIZED VIEW w TBLPROPERTIES ('viewkeeper.ids' = 'always') AS {PRICES}")
    products.create_view("v", PRICES)
    assert refreshed(products, STREAM[:1]) == ["counting"]
    told = products.explain("v")
    assert (told.rejected, told.no_ids) == ((), None)


@pytest.mark.usefixtures("maintained")
def test_another_definition_over_the_same_ids_is_maintained(products: vk.Warehouse) -> None:
    create(products, PRICES)
    products.sql("UPDATE parts SET price = 3 WHERE pid = 5")
    products.refresh()
    products.alter_view("v", PRICES.replace("'phone'", "'other'"))
    wanted = rows(products, PRICES.replace("'phone'", "'other'"))
    assert rows(products, "SELECT * FROM v") == wanted
