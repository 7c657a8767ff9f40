"""How far back the logs of relations go: as far as views need them, and some commits more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.warehouse.rows import bag, rows

pytestmark = pytest.mark.usefixtures("maintained")


@pytest.fixture
def shop(warehouse: vk.Warehouse, limit: Callable[..., None]) -> vk.Warehouse:
    """Logs hold the changes of three commits."""
    limit(commits_logged=3)
    warehouse.sql("CREATE TABLE pos (store INT, qty INT)")
    warehouse.sql("CREATE TABLE stores (id INT, city STRING)")
    return warehouse


def sell(shop: vk.Warehouse, *sales: tuple[int, int]) -> None:
    for sale in sales:
        with shop.transaction() as t:
            t.insert("pos", [sale])


def logged(shop: vk.Warehouse, relation: str) -> list[int]:
    return [layer.commit for layer in shop._work.log.latest().relations[relation].log]


def test_a_log_holds_the_last_commits(shop: vk.Warehouse) -> None:
    sell(shop, *((1, qty) for qty in range(8)))
    assert logged(shop, "pos") == [shop.version - 2, shop.version - 1, shop.version]
    shop.create_view("v", "SELECT store, SUM(qty) AS q FROM pos GROUP BY store")
    sell(shop, (1, 100))
    assert shop.refresh(policy="strict")[0].strategy == "summary-delta"
    assert rows(shop.table("v")) == bag([(1, 128)])


def test_it_goes_back_to_what_a_view_has_not_seen(shop: vk.Warehouse) -> None:
    shop.create_view("late", "SELECT store, SUM(qty) AS q FROM pos GROUP BY store")
    shop.create_view("later", "SELECT q FROM late WHERE q > 3")
    created = shop.version
    sell(shop, *((1, qty) for qty in range(8)))
    assert logged(shop, "pos") == list(range(created + 1, shop.version + 1))
    assert [entry.strategy for entry in shop.refresh(policy="strict")] == ["summary-delta", "counting"]
    assert rows(shop.table("later")) == bag([(28,)])
    sell(shop, (2, 2), (2, 5))
    assert len(logged(shop, "pos")) == 2, "those that were refreshed with are forgotten"
    shop.refresh(policy="strict")
    assert all(shop.verify(view) for view in ("late", "later"))


def test_a_view_of_another_table_needs_nothing_of_it(shop: vk.Warehouse) -> None:
    """Its tables never change, so that it stays where it is."""
    shop.create_view("cities", "SELECT city, COUNT(*) AS n FROM stores GROUP BY city")
    sell(shop, *((1, qty) for qty in range(8)))
    assert len(logged(shop, "pos")) == 3


def test_what_changed_since_a_forgotten_commit_is_found_by_comparing(shop: vk.Warehouse) -> None:
    sell(shop, (1, 1))
    since = shop.version
    sell(shop, (2, 2), (3, 3), (4, 4), (5, 5), (6, 6))
    with shop.transaction() as t:
        t.delete("pos", [(1, 1), (3, 3)])
    assert min(logged(shop, "pos")) > since + 1
    assert rows(shop.changes("pos", since=since)) == bag(
        [("insert", None, n, None, n) for n in (2, 4, 5, 6)] + [("delete", 1, None, 1, None)]
    )
    assert rows(shop.table("pos", version=since)) == bag([(1, 1)])


def test_vacuum_removes_what_only_forgotten_versions_had(shop: vk.Warehouse) -> None:
    shop.create_view("cities", "SELECT city, COUNT(*) AS n FROM stores GROUP BY city")
    sell(shop, (1, 1), (2, 2))
    with shop.transaction() as t:
        t.delete("pos", [(1, 1)])
    shop.compact()
    folder = shop._work.log.latest().relations["pos"].folder
    path = Path(shop._work.engine.folder.url, folder, "data")
    assert len(list(path.glob("*/*.parquet"))) == 4
    assert shop.vacuum(keep=1) >= 3
    assert len(list(path.glob("*/*.parquet"))) == 1, "what was folded is named by no version that is left"
    sell(shop, (3, 3))
    assert rows(shop.table("pos")) == bag([(2, 2), (3, 3)])
    assert shop.verify("cities")


def test_changes_since_a_version_that_is_kept_for_another_relation(shop: vk.Warehouse) -> None:
    sell(shop, (1, 1))
    shop.create_view("cities", "SELECT city, COUNT(*) AS n FROM stores GROUP BY city")
    since = shop.version
    sell(shop, (2, 2))
    with shop.transaction() as t:
        t.delete("pos", [(1, 1)])
    shop.compact()
    shop.vacuum(keep=1)
    assert rows(shop.changes("pos", since=since)) == bag(
        [("insert", None, 2, None, 2), ("delete", 1, None, 1, None)]
    )


def test_vacuum_keeps_the_changes_that_a_view_has_not_seen(shop: vk.Warehouse) -> None:
    shop.create_view("late", "SELECT store, SUM(qty) AS q FROM pos GROUP BY store")
    sell(shop, (1, 1), (2, 2), (1, 5))
    with shop.transaction() as t:
        t.delete("pos", [(2, 2)])
    shop.compact()
    shop.vacuum(keep=1)
    assert shop.refresh(policy="strict")[0].strategy == "summary-delta"
    assert rows(shop.table("late")) == bag([(1, 6)])
    assert shop.verify("late")
