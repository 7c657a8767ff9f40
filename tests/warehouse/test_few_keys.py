"""Lists of keys: the rows that they name are looked up once, and the driver does the rest."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

import viewkeeper as vk
from tests.sizes import SIZES
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from viewkeeper import errors
from viewkeeper.collected import Transaction

COLUMNS = "shop INT, day DATE, name STRING, at TIMESTAMP, price DECIMAL(10,2)"
"""The first three are the key."""


def sales(number: int) -> dict[str, Any]:
    return {
        "shop": number % 5,
        "day": date(2026, 1, 1 + number % 7),
        "name": f"it's {number}",
        "at": None if number % 3 == 0 else datetime(2026, 3, 29, 1 + number % 3, 30),
        "price": None if number % 4 == 0 else Decimal(number) / 4,
    }


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql(f"CREATE TABLE sales ({COLUMNS}, PRIMARY KEY (shop, day, name))")
    warehouse.sql("CREATE TABLE stores (id BIGINT, city STRING, PRIMARY KEY (id))")
    warehouse.sql(
        "CREATE TABLE staff (name STRING, store BIGINT, PRIMARY KEY (name), "
        "FOREIGN KEY (store) REFERENCES stores (id))"
    )
    with warehouse.transaction() as t:
        t.insert("sales", [sales(number) for number in range(40)])
        t.insert("stores", [(number, f"c{number}") for number in range(30)])
        t.insert("staff", [("a", 1), ("b", 2), ("c", None)])


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def actions(warehouse: vk.Warehouse) -> int:
    return warehouse._work.engine.actions


def test_keys_of_lists_take_one_action(shop: vk.Warehouse) -> None:
    before = actions(shop)
    with shop.transaction() as t:
        t.insert("sales", [sales(number) for number in range(100, 150)])
        t.delete("sales", [{name: sales(n)[name] for name in ("shop", "day", "name")} for n in range(20)])
        t.update("sales", [{**sales(number), "price": Decimal(7)} for number in range(20, 30)])
    assert actions(shop) - before == 1, "the look at the rows that the keys name"
    assert shop.table("sales").count() == 70
    assert shop.table("sales").where("price = 7 AND shop < 5").count() >= 10


def test_references_take_another_action(shop: vk.Warehouse) -> None:
    before = actions(shop)
    with shop.transaction() as t:
        t.update("staff", [{"name": "a", "store": 3}])
        t.delete("staff", [("b",)])
    assert actions(shop) - before == 2, "the rows of the keys, and the stores"
    assert rows(shop.table("staff")) == bag([("a", 3), ("c", None)])
    with pytest.raises(errors.BrokenForeignKey):
        shop_deletes_store(shop, 3)
    shop_deletes_store(shop, 2)
    assert shop.table("stores").count() == 29


def shop_deletes_store(shop: vk.Warehouse, store: int) -> None:
    with shop.transaction() as t:
        t.delete("stores", [(store,)])


def test_a_key_that_comes_goes_and_comes_again(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.delete("stores", [(1,)])
        t.insert("stores", [(1, "new")])
        t.update("stores", [{"id": 1, "city": "newer"}])
        t.insert("stores", [(99, "gone")])
        t.delete("stores", [(99,)])
        t.update("staff", [{"name": "c", "store": 1}])
    assert rows(shop.table("stores").where("id IN (1, 99)")) == bag([(1, "newer")])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t: t.update("stores", [{"id": 77, "city": "x"}]), errors.MissingRows),
        (lambda t: t.update("stores", [{"id": 5, "city": "x"}, {"id": 5, "city": "y"}]), errors.DuplicateKey),
        (lambda t: (t.delete("stores", [(5,)]), t.update("stores", [(5, "x")])), errors.MissingRows),
        (lambda t: (t.update("stores", [(5, "x")]), t.insert("stores", [(6, "y")])), errors.DuplicateKey),
        (lambda t: (t.delete("stores", [(5,)]), t.insert("stores", [(None, "y")])), errors.NullNotAllowed),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_applied(
    shop: vk.Warehouse, change: Any, error: type[errors.ViewkeeperError]
) -> None:
    version = shop.version
    with pytest.raises(error), shop.transaction() as t:
        change(t)
    assert shop.version == version


@pytest.mark.parametrize("seed", range(1 + SIZES.rounds // 4))
def test_lists_do_what_frames_do(shop: vk.Warehouse, seed: int) -> None:
    """The same random changes, once looked up for the driver and once computed by Spark."""
    shop.sql(f"CREATE TABLE twin ({COLUMNS}, PRIMARY KEY (shop, day, name))")
    with shop.transaction() as t:
        t.insert("twin", [sales(number) for number in range(40)])
    chance = random.Random(seed)
    present = set(range(40))
    for _ in range(2):
        gone = chance.sample(sorted(present), 6)
        moved = chance.sample(sorted(present - set(gone)), 6)
        come = [*chance.sample(gone, 2), *chance.sample(range(40, 80), 3)]
        come = [number for number in come if number in gone or number not in present]
        present = (present - set(gone)) | set(come)
        with shop.transaction() as t:
            change(t, "sales", gone, moved, come, lambda given: given)
            change(
                t,
                "twin",
                gone,
                moved,
                come,
                lambda given: shop.spark.createDataFrame(given, schema_of(given)),
            )
        if chance.random() < 0.5:
            shop.compact("sales")
        assert rows(shop.table("sales")) == rows(shop.table("twin"))
        assert shop.table("sales").count() == len(present)


def change(
    t: Transaction, table: str, gone: list[int], moved: list[int], come: list[int], given: Any
) -> None:
    keys = ("shop", "day", "name")
    t.delete(table, given([{name: sales(number)[name] for name in keys} for number in gone]))
    t.update(
        table, given([{**sales(number), "price": None, "at": sales(number + 1)["at"]} for number in moved])
    )
    t.insert(table, given([sales(number) for number in come]))


def schema_of(given: list[dict[str, Any]]) -> str:
    types = dict(column.split(" ") for column in COLUMNS.split(", "))
    return ", ".join(f"{name} {types[name]}" for name in given[0])
