"""Orders that come or go with their items: what views read, and what is said of it."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.templates import Filled

pytestmark = pytest.mark.usefixtures("maintained")

VIEWS = {
    "sold": "SELECT c, SUM(p) AS total FROM orders JOIN items ON orders.o = items.o GROUP BY c",
    "pairs": "SELECT orders.o, c, n, p FROM orders JOIN items ON orders.o = items.o",
    "dear": "SELECT o FROM orders WHERE EXISTS (SELECT 1 FROM items WHERE items.o = orders.o AND p > 4)",
    "bare": "SELECT orders.o, n FROM orders LEFT JOIN items ON orders.o = items.o AND p > 4",
    "large": """SELECT c, COUNT(*) AS n FROM orders WHERE o IN
                (SELECT o FROM items GROUP BY o HAVING SUM(p) > 9) GROUP BY c""",
}
CHANGES = {"orders__delta", "items__delta"}


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (o INT NOT NULL PRIMARY KEY, c STRING)")
    warehouse.sql(
        "CREATE TABLE items (o INT NOT NULL REFERENCES orders (o), n INT NOT NULL, p INT, PRIMARY KEY (o, n))"
    )
    with warehouse.transaction() as t:
        t.insert("orders", [(o, "abc"[o % 3]) for o in range(12)])
        t.insert("items", [(o, n, o - n) for o in range(12) for n in range(o % 4)])
    for name, text in VIEWS.items():
        warehouse.create_view(name, text)


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def refreshed(shop: vk.Warehouse) -> dict[str, tuple[list[str], set[str]]]:
    """Of each view, what it was told of fresh keys and which tables it read; all are compared."""
    report = shop.refresh(policy="incremental")
    assert all(shop.verify(name) for name in VIEWS)
    stored = {name for view in VIEWS for name in (view, f"{view}__old")}
    return {view.view: (view.details["fresh"], set(view.details["reads"]) - stored) for view in report}


def test_groups_of_orders_that_come_or_go_are_not_looked_up(shop: vk.Warehouse) -> None:
    """`large` keeps the sums by order: new groups, and those that are gone, are known from the changes."""
    with shop.transaction() as t:
        t.insert("orders", [(20, "a"), (21, "d")])
        t.insert("items", [(20, 0, 9), (20, 1, 1)])
        t.delete("items", [(7, n, 7 - n) for n in range(3)])
        t.delete("orders", [(7, "b")])
    _, read = refreshed(shop)["large"]
    assert not any(name.startswith("__large") for name in read)
    assert sorted(map(tuple, shop.table("large").collect())) == [("a", 2), ("b", 1), ("c", 1)]


def test_no_table_is_read_for_orders_that_come_or_go(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("orders", [(20, "a"), (21, "d")])
        t.insert("items", [(20, 0, 9), (20, 1, 1)])
        t.delete("items", [(7, n, 7 - n) for n in range(3)])
        t.delete("orders", [(7, "b")])
    assert "orders.o, items.o only came or went" in str(shop.explain("pairs"))
    assert refreshed(shop) == {name: (["orders.o, items.o"], CHANGES) for name in VIEWS}


def test_orders_of_other_items_are_read(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("orders", [(20, "a")])
        t.insert("items", [(20, 0, 9), (3, 7, 9)])
    assert refreshed(shop)["pairs"] == (["orders.o"], CHANGES | {"orders__old"})


def test_an_order_that_changed_is_not_new(shop: vk.Warehouse) -> None:
    shop.sql("INSERT INTO items VALUES (3, 7, 9)")
    shop.sql("UPDATE orders SET c = 'z' WHERE o = 3")
    told, read = refreshed(shop)["pairs"]
    assert told == []
    assert read > CHANGES


def test_an_order_goes_and_comes_again(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.delete("items", [(5, 0, 5)])
        t.delete("orders", [(5, "c")])
    with shop.transaction() as t:
        t.insert("orders", [(5, "a")])
        t.insert("items", [(5, 0, 1), (5, 3, 8)])
    assert refreshed(shop)["pairs"][0] == []


def test_an_order_that_comes_and_goes_before_the_refresh(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("orders", [(30, "a"), (31, "b")])
        t.insert("items", [(30, 0, 9), (31, 0, 9)])
    with shop.transaction() as t:
        t.delete("items", [(30, 0, 9)])
        t.delete("orders", [(30, "a")])
    assert refreshed(shop)["pairs"][0] == [], (
        "its key is told apart from one that stayed by nothing but its rows"
    )


def test_keys_that_are_floats_are_left_to_spark(warehouse: vk.Warehouse) -> None:
    """0.0 goes and -0.0 comes: one key, to Spark, whose item stays."""
    warehouse.sql("CREATE TABLE o (k DOUBLE NOT NULL PRIMARY KEY, c STRING)")
    warehouse.sql("CREATE TABLE i (k DOUBLE NOT NULL REFERENCES o (k), n INT NOT NULL, PRIMARY KEY (k, n))")
    with warehouse.transaction() as t:
        t.insert("o", [(0.0, "a"), (1.0, "b")])
        t.insert("i", [(0.0, 1), (1.0, 2)])
    warehouse.create_view("v", "SELECT c, n FROM o JOIN i ON o.k = i.k")
    with warehouse.transaction() as t:
        t.delete("o", [(0.0, "a")])
        t.insert("o", [(-0.0, "z")])
        t.insert("i", [(1.0, 3)])
    report = warehouse.refresh(policy="incremental")
    assert report[0].details["fresh"] == []
    assert sorted(map(tuple, warehouse.table("v").collect())) == [("b", 2), ("b", 3), ("z", 1)]
