"""Views that are defined and filled together, in one commit."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.warehouse.rows import bag, rows
from viewkeeper import errors

QUERIES = {
    "big": "SELECT shop, q FROM By_Shop WHERE q > 2",
    "by_shop": "SELECT shop, SUM(qty) AS q FROM sales GROUP BY shop",
    "shops": "SELECT COUNT(*) AS n FROM by_shop",
}
"""Views over a table and over each other, those that are read not first."""


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.create_table("sales", [{"shop": number % 3, "qty": number} for number in range(6)])
    return warehouse


def test_views_that_read_each_other_are_one_commit(shop: vk.Warehouse) -> None:
    before = shop.version
    assert shop.create_views(QUERIES) == before + 1
    assert rows(shop.table("by_shop")) == bag([(0, 3), (1, 5), (2, 7)])
    assert rows(shop.table("big")) == rows(shop.table("by_shop"))
    assert rows(shop.table("shops")) == bag([(3,)])
    with shop.transaction() as t:
        t.insert("sales", [(3, 1)])
    shop.refresh()
    assert all(shop.verify(name) for name in QUERIES)


def test_they_are_filled_later_if_asked(shop: vk.Warehouse) -> None:
    shop.create_views(QUERIES, populate=False)
    assert shop.table("shops").count() == 0
    shop.refresh()
    assert rows(shop.table("shops")) == bag([(3,)])


def test_no_views_are_no_commit(shop: vk.Warehouse) -> None:
    before = shop.version
    assert shop.create_views({}) == before


@pytest.mark.parametrize(
    ("queries", "error", "message"),
    [
        ({"a": "SELECT * FROM b", "b": "SELECT * FROM a"}, errors.DependencyError, "depend on each other"),
        ({"a": "SELECT * FROM a", "b": "SELECT 1 AS x"}, errors.DependencyError, "depend on each other: a"),
        ({"a": "SELECT 1 AS x", "A": "SELECT 2 AS x"}, errors.AlreadyExists, "named a exists"),
        ({"a": "SELECT 1 AS x", "sales": "SELECT 2 AS x"}, errors.AlreadyExists, "named sales exists"),
        ({"a": "SELECT 1 AS x", "b": "SELECT none FROM sales"}, errors.ViewkeeperError, "none"),
    ],
)
def test_where_one_cannot_be_none_is(
    shop: vk.Warehouse, queries: dict[str, str], error: type[errors.ViewkeeperError], message: str
) -> None:
    before = shop.version
    with pytest.raises(error, match=message):
        shop.create_views(queries)
    assert shop.version == before
    assert not shop._work.log.latest().catalog.views
