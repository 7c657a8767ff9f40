"""Counts that do not depend on the machine: Spark actions, rows read, rows written."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows

pytestmark = pytest.mark.usefixtures("maintained")

FACTS = 40


def stock(warehouse: vk.Warehouse) -> None:
    stores = [{"id": number, "city": f"c{number % 2}"} for number in range(4)]
    warehouse.create_table("stores", stores, key=["id"])
    pos = [{"store": number % 4, "item": number % 5, "qty": number} for number in range(FACTS)]
    warehouse.create_table("pos", pos)


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def insert(warehouse: vk.Warehouse, *new: tuple[int, int, int]) -> None:
    with warehouse.transaction() as t:
        t.insert("pos", list(new))


QUERIES = {
    "sum": "SELECT store, COUNT(*) AS n, SUM(qty) AS q FROM pos GROUP BY store",
    "extremes": "SELECT item, MIN(qty) AS a, MAX(qty) AS b FROM pos GROUP BY item",
    "join": "SELECT city, SUM(qty) AS q FROM pos JOIN stores ON store = id GROUP BY city",
    "filter": "SELECT store, qty FROM pos WHERE qty >= 0",
    "distinct": "SELECT DISTINCT store FROM pos",
    "total": "SELECT SUM(qty) AS q FROM pos",
}


@pytest.mark.parametrize("name", QUERIES)
def test_one_row_costs_few_actions(shop: vk.Warehouse, name: str) -> None:
    shop.create_view("v", QUERIES[name])
    insert(shop, (1, 1, 7))
    assert shop.refresh().actions <= 3
    with shop.transaction() as t:
        t.delete("pos", [(1, 1, 7)])
    assert shop.refresh(policy="strict").actions <= 3
    assert shop.verify("v")


def test_one_row_for_many_views(shop: vk.Warehouse) -> None:
    names = [f"{name}_{number}" for name in list(QUERIES)[:5] for number in range(4)]
    for name in names:
        shop.create_view(name, QUERIES[name.rsplit("_", 1)[0]], populate=False)
    shop.refresh()
    insert(shop, (1, 1, 7))
    report = shop.refresh()
    assert len(report) == 20
    assert report.actions <= 25


def test_insertions_are_summed_up_without_the_table(shop: vk.Warehouse) -> None:
    shop.create_view("v", QUERIES["sum"])
    insert(shop, (1, 1, 7), (1, 2, 8), (9, 0, 1))
    entry = shop.refresh().of("v")
    assert (entry.rows_read, entry.rows_written) == (3, 2)
    assert rows(shop.table("v").where("store = 9")) == bag([(9, 1, 1)])


def test_insertions_need_only_the_dimension(shop: vk.Warehouse) -> None:
    shop.create_view("v", QUERIES["join"])
    insert(shop, (1, 1, 7))
    entry = shop.refresh().of("v")
    assert (entry.rows_read, entry.rows_written) == (1 + 4, 1)


def test_a_changed_dimension_reads_the_facts_once(shop: vk.Warehouse) -> None:
    shop.create_view("v", QUERIES["join"])
    with shop.transaction() as t:
        t.update("stores", [{"id": 1, "city": "moved"}])
    entry = shop.refresh().of("v")
    assert entry.rows_read == 2 + FACTS
    assert entry.rows_written == 2
    assert shop.verify("v")


def test_rows_written_are_the_rows_appended(shop: vk.Warehouse) -> None:
    shop.create_view("v", QUERIES["filter"])
    shop.create_view("w", QUERIES["extremes"])
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, 7), (1, 1, 7)])
        t.delete("pos", [(0, 0, 0)])
    report = shop.refresh()
    entry = shop._work.log.latest()
    for name in ("v", "w"):
        assert report.of(name).rows_written == sum(layer.rows for layer in entry.relations[name].overlay)
    rows = report.of("v").rows_written, report.of("w").rows_written
    assert rows == (3, 3), "of w two groups, and that which lost its minimum once more, computed anew"


def test_counts_are_repeatable(shop: vk.Warehouse) -> None:
    shop.create_view("v", QUERIES["join"])
    shop.create_view("w", QUERIES["join"])
    insert(shop, (1, 1, 7), (2, 1, 7))
    [v], [w] = shop.refresh("v"), shop.refresh("w")
    assert (v.rows_read, v.rows_written) == (w.rows_read, w.rows_written)
