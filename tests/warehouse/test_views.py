"""Views through the public surface: their definitions, and what a refresh makes of them."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from tests.warehouse.shop import TOTALS, delete, insert, one, stock
from viewkeeper import errors


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


# Definitions


def test_a_view_is_filled_when_it_is_created(shop: vk.Warehouse) -> None:
    before = shop.version
    shop.create_view("v", TOTALS)
    assert rows(shop.table("v")) == bag([(1, 2, 8), (2, 2, 3)])
    assert shop.version == before + 1


def test_or_by_its_first_refresh(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS, populate=False)
    assert rows(shop.table("v")) == bag([])
    assert [entry.stale for entry in shop.status() if entry.name == "v"] == [True]
    assert one(shop.refresh()).reason.code == "first-fill"
    assert rows(shop.table("v")) == bag([(1, 2, 8), (2, 2, 3)])


def test_another_query_for_a_view(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    shop.create_view("w", "SELECT SUM(q) AS q FROM v")
    insert(shop, "pos", (1, "z", 10))
    shop.alter_view("v", "SELECT item, SUM(qty) AS q FROM pos GROUP BY item")
    assert rows(shop.table("v")) == bag([("x", 8), ("y", 3), ("z", 10), (None, None)])
    shop.refresh()
    assert rows(shop.table("w")) == bag([(21,)])
    assert shop.verify("v")
    insert(shop, "pos", (1, "z", 1))
    assert {entry.strategy for entry in shop.refresh(policy="strict")} == {"summary-delta"}
    assert rows(shop.table("w")) == bag([(22,)])


def test_a_query_that_others_cannot_read_is_refused(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    shop.create_view("w", "SELECT SUM(q) AS q FROM v")
    before = shop.version
    with pytest.raises(errors.UnknownColumn):
        shop.alter_view("v", "SELECT item FROM pos")
    with pytest.raises(errors.DependencyError, match="itself"):
        shop.alter_view("v", "SELECT q AS store, q AS n, q FROM w")
    assert shop.version == before


def test_drops(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    shop.create_view("w", "SELECT MAX(q) AS q FROM v")
    shop.create_view("x", "SELECT id FROM stores")
    with pytest.raises(errors.DependencyError, match="w"):
        shop.drop("v")
    shop.drop("pos", cascade=True)
    assert [entry.name for entry in shop.status()] == ["stores", "x"]
    shop.drop("x")
    with pytest.raises(errors.UnknownTable):
        shop.table("x")
    shop.sql("CREATE TABLE pos (a INT)")
    assert rows(shop.table("pos")) == bag([])


# When views change


def test_on_commit_views_change_with_their_tables(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS, refresh="on_commit")
    shop.create_view("w", "SELECT COUNT(*) AS n FROM v WHERE q > 5", refresh="on_commit")
    shop.create_view("later", TOTALS)
    before = shop.version
    insert(shop, "pos", (2, "x", 4))
    assert shop.version == before + 1
    assert rows(shop.table("v")) == bag([(1, 2, 8), (2, 3, 7)])
    assert rows(shop.table("w")) == bag([(2,)])
    assert rows(shop.table("later")) == bag([(1, 2, 8), (2, 2, 3)])
    assert [entry.name for entry in shop.status() if entry.stale] == ["later"]
    assert shop.history("v")[-1].operation == "transaction"
    assert shop.verify("v")


def test_views_over_views_are_refreshed_in_one_commit(shop: vk.Warehouse) -> None:
    shop.create_view("low", TOTALS)
    shop.create_view("middle", "SELECT city, q FROM low JOIN stores ON store = id")
    shop.create_view("high", "SELECT MAX(q) AS q FROM middle")
    delete(shop, "pos", (1, "x", 5))
    before = shop.version
    report = shop.refresh()
    assert [entry.view for entry in report] == ["low", "middle", "high"]
    assert (report.version, shop.version) == (before + 1, before + 1)
    assert rows(shop.table("high")) == bag([(3,)])
    assert rows(shop.table("middle")) == bag([("a", 3), ("b", 3)])


def test_a_view_brings_what_it_reads_with_it(shop: vk.Warehouse) -> None:
    shop.create_view("low", TOTALS)
    shop.create_view("high", "SELECT SUM(q) AS q FROM low")
    shop.create_view("other", TOTALS)
    insert(shop, "pos", (1, "x", 1))
    assert [entry.view for entry in shop.refresh("high")] == ["low", "high"]
    assert rows(shop.table("high")) == bag([(12,)])
    assert [entry.name for entry in shop.status() if entry.stale] == ["other"]


@pytest.mark.usefixtures("maintained")
def test_a_parent_refreshed_alone_leaves_its_child_stale(shop: vk.Warehouse) -> None:
    shop.create_view("low", TOTALS)
    shop.create_view("high", "SELECT SUM(q) AS q FROM low")
    insert(shop, "pos", (1, "x", 1))
    shop.refresh("low")
    insert(shop, "pos", (2, "x", 2))
    assert rows(shop.table("high")) == bag([(11,)])
    assert shop.verify("high")
    shop.refresh("low")
    assert {entry.view: entry.strategy for entry in shop.refresh()} == {
        "low": "none",
        "high": "summary-delta",
    }
    assert rows(shop.table("high")) == bag([(14,)])


def test_where_nothing_changed_nothing_is_committed(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    before = shop.version
    assert (len(shop.refresh()), shop.version) == (0, before)
    report = shop.refresh("v")
    assert (one(report).strategy, one(report).reason.code) == ("none", "unchanged")
    assert (report.actions, shop.version) == (0, before)


@pytest.mark.usefixtures("maintained")
def test_what_looks_the_same_above_is_left_alone(shop: vk.Warehouse) -> None:
    """gupta93's statement 2: another derivation of a row is no change of the set."""
    shop.create_view("v", "SELECT COUNT(*) AS n FROM (SELECT DISTINCT item FROM pos WHERE qty > 0)")
    insert(shop, "pos", (9, "x", 1))
    entry = one(shop.refresh())
    assert (entry.rows_written, entry.details["steps_skipped"]) == (1, 1)
    insert(shop, "pos", (9, "new", 1))
    assert one(shop.refresh()).details["steps_skipped"] == 0
    assert rows(shop.table("v")) == bag([(3,)])


# Values


@pytest.mark.parametrize(
    ("deleted", "inserted", "groups", "least"),
    [
        ([(1, "y", 3)], [], 0, 3),
        ([(1, "y", 3)], [(1, "n", 2)], 0, 2),
        ([(1, "y", 3), (1, "z", 3)], [(1, "n", 3)], 0, 3),
        ([(1, "y", 3), (1, "z", 3)], [], 1, 5),
        ([(1, "x", 5)], [], 0, 3),
    ],
    ids=[
        "an equal one remains",
        "a smaller one came",
        "an equal one came",
        "the last went",
        "a greater one went",
    ],
)
def test_a_group_is_computed_anew_only_where_its_minimum_is_lost(
    shop: vk.Warehouse,
    deleted: list[tuple[object, ...]],
    inserted: list[tuple[object, ...]],
    groups: int,
    least: int,
) -> None:
    insert(shop, "pos", (1, "z", 3))
    shop.create_view("v", "SELECT store, MIN(qty) AS least FROM pos GROUP BY store")
    with shop.transaction() as t:
        t.delete("pos", deleted)
        if inserted:
            t.insert("pos", inserted)
    entry = one(shop.refresh(policy="strict"))
    assert entry.details["groups_recomputed"] == groups
    assert rows(shop.table("v")) == bag([(1, least), (2, 3)])
