"""Changes that cannot matter to a view, through the public surface: dropped, counted, or just left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import viewkeeper as vk
from tests.warehouse.rows import bag, rows

pytestmark = pytest.mark.usefixtures("maintained")

LARGE_SALES = "SELECT item, qty FROM pos WHERE qty > 100"


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE pos (store BIGINT, item STRING, qty BIGINT)")
    insert(warehouse, (1, "x", 5), (2, None, None))
    warehouse.create_view("v", LARGE_SALES)
    return warehouse


def insert(warehouse: vk.Warehouse, *new: tuple[object, ...]) -> None:
    with warehouse.transaction() as t:
        t.insert("pos", list(new))


def test_changes_that_cannot_matter(shop: vk.Warehouse) -> None:
    insert(shop, (1, "x", 99), (1, "y", None))
    report = shop.refresh()
    [entry] = report
    assert (entry.strategy, entry.reason.code) == ("none", "irrelevant")
    assert entry.details["rows_dropped"] == 2
    assert (entry.rows_read, entry.rows_written) == (0, 0)
    assert report.actions == 1
    assert len(shop.refresh()) == 0


def test_only_the_changes_that_matter_are_taken(shop: vk.Warehouse) -> None:
    insert(shop, (1, "x", 99), (1, "y", 101))
    [entry] = shop.refresh()
    assert (entry.strategy, entry.details["rows_dropped"]) == ("counting", 1)
    assert rows(shop.table("v")) == bag([("y", 101)])


def test_many_changes_are_not_counted_where_the_last_ones_mattered(
    shop: vk.Warehouse, limit: Callable[..., None]
) -> None:
    limit(relevance_counted=1, changes_held=0)
    insert(shop, (1, "x", 99), (1, "y", 101))
    assert shop.refresh().actions == 2, "nothing is known yet: they are counted, and then computed with"
    insert(shop, (1, "x", 98), (1, "z", 102))
    report = shop.refresh()
    assert (report.actions, report[0].rows_written) == (1, 1)
    insert(shop, (1, "x", 97), (1, "y", 96))
    assert shop.refresh().actions == 1, "none of them matters, which only shows now"
    assert rows(shop.table("v")) == bag([("y", 101), ("z", 102)])


def test_few_changes_are_always_counted(shop: vk.Warehouse) -> None:
    insert(shop, (1, "y", 101))
    shop.refresh()
    insert(shop, (1, "x", 99))
    [entry] = shop.refresh()
    assert (entry.strategy, entry.details["rows_dropped"]) == ("none", 1)
