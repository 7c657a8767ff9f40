"""Views of sums that are kept by ID-based diffs: updates add to them, and never look at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

import viewkeeper as vk
from tests.sizes import spread
from tests.templates import Filled
from viewkeeper import errors

pytestmark = pytest.mark.usefixtures("maintained")

COSTS = (
    "SELECT did, SUM(price) AS cost, COUNT(price) AS priced FROM parts JOIN pairs USING (pid) GROUP BY did"
)
GREATEST = 2**63 - 1


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE parts (pid INT, price BIGINT, PRIMARY KEY (pid))")
    warehouse.sql("CREATE TABLE pairs (did INT, pid INT, PRIMARY KEY (did, pid))")
    with warehouse.transaction() as t:
        t.insert("parts", [(1, 10), (2, 20), (3, None)])
        t.insert("pairs", [(1, 1), (1, 2), (2, 2), (3, 3)])


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def kept_by_ids(shop: vk.Warehouse, query: str = COSTS) -> None:
    properties = "'viewkeeper.strategy' = 'id-diffs', 'viewkeeper.caches' = 'always'"
    shop.sql(f"CREATE MATERIALIZED VIEW costs TBLPROPERTIES ({properties}) AS {query}")


def rows(shop: vk.Warehouse) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in shop.table("costs").collect())


def refreshed(shop: vk.Warehouse, sql: str) -> vk.Report:
    shop.sql(sql)
    report = shop.refresh(policy="strict")
    assert [entry.strategy for entry in report] == ["id-diffs"]
    return report


def test_an_update_reads_the_cache_and_not_the_view(shop: vk.Warehouse) -> None:
    kept_by_ids(shop)
    before = shop.version
    report = refreshed(shop, "UPDATE parts SET price = 25 WHERE pid = 2")
    assert report.actions == 1
    assert sorted(report[0].details["reads"]) == ["__costs_n4__old", "parts__delta"]
    assert report[0].rows_written == 3, "one row for the cache, one for each device"
    assert rows(shop) == [(1, 35, 2), (2, 25, 1), (3, None, 0)]
    changes = shop.changes("costs", before)
    assert {row["change"] for row in changes.collect()} == {"update"}
    assert changes.count() == 2
    assert [tuple(row) for row in shop.table("costs", before).where("did = 1").collect()] == [(1, 30, 2)]


def test_values_that_go_and_come_back(shop: vk.Warehouse) -> None:
    kept_by_ids(shop)
    refreshed(shop, "UPDATE parts SET price = NULL")
    assert rows(shop) == [(1, None, 0), (2, None, 0), (3, None, 0)]
    refreshed(shop, "UPDATE parts SET price = pid")
    assert rows(shop) == [(1, 3, 2), (2, 2, 1), (3, 3, 1)]
    refreshed(shop, "UPDATE parts SET price = 0 WHERE pid = 2")
    assert rows(shop) == [(1, 1, 2), (2, 0, 1), (3, 3, 1)], "a sum of 0 is not NULL"


@pytest.mark.parametrize("most", [2, 100])
def test_moves_between_other_changes(shop: vk.Warehouse, limit: Callable[..., None], most: int) -> None:
    """Rows that were set, made or deleted on the way begin anew; with few layers they are folded often."""
    limit(layers=most, main_written=0, layers_share=100)
    kept_by_ids(shop)
    statements = (
        "UPDATE parts SET price = price + 1",
        "INSERT INTO pairs VALUES (2, 1), (4, 1)",
        "UPDATE parts SET price = price * 2",
        "UPDATE parts SET price = 7 WHERE pid = 3",
        "DELETE FROM pairs WHERE did = 1",
        "UPDATE parts SET price = price - 3 WHERE pid < 3",
        "INSERT INTO pairs VALUES (1, 3)",
        "UPDATE parts SET price = 5",
    )
    beside = duckdb.connect()
    beside.execute("CREATE TABLE parts AS SELECT * FROM (VALUES (1, 10), (2, 20), (3, NULL)) t(pid, price)")
    beside.execute("CREATE TABLE pairs AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 2), (3, 3)) t(did, pid)")
    for sql in statements:
        refreshed(shop, sql)
        beside.execute(sql)
        assert rows(shop) == sorted(beside.execute(COSTS).fetchall()), sql
    assert shop.verify("costs")
    assert rows(shop) == [(1, 5, 1), (2, 10, 2), (3, 5, 1), (4, 5, 1)]
    shop.compact("costs")
    assert rows(shop) == [(1, 5, 1), (2, 10, 2), (3, 5, 1), (4, 5, 1)]


def test_types_stay_as_they_are(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE parts (pid INT, price DECIMAL(10,2), PRIMARY KEY (pid))")
    warehouse.sql("CREATE TABLE pairs (did INT, pid INT, PRIMARY KEY (did, pid))")
    warehouse.sql("INSERT INTO parts VALUES (1, 1.25), (2, 2.50)")
    warehouse.sql("INSERT INTO pairs VALUES (1, 1), (1, 2)")
    kept_by_ids(warehouse)
    before = warehouse.table("costs").dtypes
    refreshed(warehouse, "UPDATE parts SET price = 99999999.99 WHERE pid = 1")
    assert warehouse.table("costs").dtypes == before
    assert warehouse.verify("costs")
    assert [str(row["cost"]) for row in warehouse.table("costs").collect()] == ["100000002.49"]


def test_a_sum_that_no_longer_fits_leaves_everything_as_it_was(shop: vk.Warehouse) -> None:
    kept_by_ids(shop)
    shop.sql(f"UPDATE parts SET price = {GREATEST} WHERE pid = 1")
    before = rows(shop)
    with pytest.raises(errors.ViewkeeperError, match=r"(?i)overflow"):
        shop.refresh(policy="strict")
    assert rows(shop) == before
    shop.sql("UPDATE parts SET price = 1 WHERE pid = 1")
    shop.refresh(policy="strict")
    assert shop.verify("costs")


def test_functions_of_sums_are_set(shop: vk.Warehouse) -> None:
    kept_by_ids(shop, "SELECT did, AVG(price) AS mean FROM parts JOIN pairs USING (pid) GROUP BY did")
    refreshed(shop, "UPDATE parts SET price = 40 WHERE pid = 2")
    assert rows(shop) == [(1, 25.0), (2, 40.0), (3, None)]
    assert shop.verify("costs")


def test_a_change_that_nothing_is_near_moves_nothing(shop: vk.Warehouse) -> None:
    kept_by_ids(shop)
    shop.sql("INSERT INTO parts VALUES (4, 40)")
    shop.refresh()
    report = refreshed(shop, "UPDATE parts SET price = 44 WHERE pid = 4")
    assert (report.actions, report[0].rows_written) == (1, 1), "only the cache is told"
    assert shop.verify("costs")


def test_more_rows_than_expected_are_left_to_spark(shop: vk.Warehouse, limit: Callable[..., None]) -> None:
    """One of a hundred parts changes, and is in nearly all pairs."""
    shop.sql("INSERT INTO parts SELECT id, id FROM range(4, 101)")
    shop.sql("INSERT INTO pairs SELECT id, 1 FROM range(10, 40)")
    kept_by_ids(shop)
    limit(driver_join=20)
    report = refreshed(shop, "UPDATE parts SET price = 11 WHERE pid = 1")
    assert report.actions == 2
    assert shop.verify("costs")
    report = refreshed(shop, "UPDATE parts SET price = 22 WHERE pid = 2")
    assert report.actions == 1
    assert shop.verify("costs")


@pytest.mark.parametrize(
    ("kind", "values"),
    spread(
        [
            ("STRING", "'a', 'A', NULL, ''"),
            ("DATE", "DATE'1500-01-01', DATE'2024-02-29', NULL, DATE'9999-12-31'"),
            (
                "TIMESTAMP",
                "TIMESTAMP'2024-03-31 02:30:00', TIMESTAMP'1970-01-01', NULL, TIMESTAMP'2024-01-01'",
            ),
            ("DOUBLE", "0.0D, -0.0D, NULL, DOUBLE('NaN')"),
            ("DECIMAL(20,3)", "1.500, 1.5, NULL, -1.5"),
            ("BOOLEAN", "true, false, NULL, false"),
        ]
    ),
)
def test_sums_by_values_of_any_type(warehouse: vk.Warehouse, kind: str, values: str) -> None:
    warehouse.sql("CREATE TABLE parts (pid INT, price INT, PRIMARY KEY (pid))")
    warehouse.sql(f"CREATE TABLE pairs (did INT, pid INT, label {kind}, PRIMARY KEY (did, pid))")
    warehouse.sql("INSERT INTO parts VALUES (1, 1), (2, 2)")
    for place, value in enumerate(values.split(", ")):
        warehouse.sql(f"INSERT INTO pairs VALUES ({place}, 1, {value}), ({place}, 2, {value})")
    kept_by_ids(
        warehouse, "SELECT label, SUM(price) AS cost FROM parts JOIN pairs USING (pid) GROUP BY label"
    )
    for price in (10, 20):
        refreshed(warehouse, f"UPDATE parts SET price = {price} WHERE pid = 1")
        assert warehouse.verify("costs")
