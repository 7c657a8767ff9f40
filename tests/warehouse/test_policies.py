"""Policies of refreshes and of views."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from tests.warehouse.shop import TOTALS, insert, one, stock
from viewkeeper import errors


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


@pytest.mark.usefixtures("maintained")
def test_policies(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    found = []
    for policy in ("incremental", "strict", "auto", "full"):
        insert(shop, "pos", (1, "x", 1))
        entry = one(shop.refresh(policy=policy))
        found.append((entry.strategy, entry.reason.code))
    assert found == [("summary-delta", "incremental")] * 3 + [("recompute", "policy-full")]
    assert rows(shop.table("v")) == bag([(1, 6, 12), (2, 2, 3)])
    with pytest.raises(errors.InvalidOption, match="policy"):
        shop.refresh(policy="fast")


UNTRANSLATABLE = "SELECT store, LENGTH(FIRST(item)) AS n FROM pos GROUP BY store"


def test_a_view_without_a_plan_is_recomputed_and_says_so(shop: vk.Warehouse) -> None:
    shop.create_view("v", UNTRANSLATABLE)
    insert(shop, "pos", (3, "z", 1))
    before, actions = shop.version, shop._work.engine.actions
    with pytest.raises(errors.CannotMaintain) as refused:
        shop.refresh(policy="strict")
    assert (refused.value.code, refused.value.view) == ("untranslatable", "v")
    assert (shop.version, shop._work.engine.actions) == (before, actions)
    entry = one(shop.refresh(policy="incremental"))
    assert (entry.strategy, entry.reason.code) == ("recompute", "untranslatable")
    assert shop.verify("v")


def test_strict_refuses_before_it_works_for_other_views(shop: vk.Warehouse) -> None:
    """A view that could be refreshed first, and one above it, cost nothing either."""
    shop.create_view("a", "SELECT store, MIN(qty) AS q FROM pos GROUP BY store")
    shop.create_view("b", "SELECT store FROM a WHERE q > 1")
    shop.create_view("z", UNTRANSLATABLE, policy="strict")
    insert(shop, "pos", (3, "z", 1))
    before, actions = shop.version, shop._work.engine.actions
    with pytest.raises(errors.CannotMaintain) as refused:
        shop.refresh()
    assert (refused.value.view, refused.value.code) == ("z", "untranslatable")
    assert (shop.version, shop._work.engine.actions) == (before, actions)
    assert {entry.view for entry in shop.refresh("a", "b")} == {"a", "b"}


def test_lists_come_in_one_order(shop: vk.Warehouse) -> None:
    shop.create_view("lists", "SELECT store, COLLECT_LIST(qty) AS l, MODE(qty) AS m FROM pos GROUP BY store")
    insert(shop, "pos", (3, "z", 2), (3, "y", 1), (3, "z", 1), (3, "y", 2))
    assert one(shop.refresh(policy="strict")).strategy == "counting"
    shop.sql("DELETE FROM pos WHERE store = 3 AND item = 'y' AND qty = 1")
    shop.refresh(policy="strict")
    assert [(list(r.l), r.m) for r in shop.table("lists").where("store = 3").collect()] == [([1, 2, 2], 2)]
    assert shop.verify("lists")


@pytest.mark.usefixtures("maintained")
def test_the_policy_of_a_view_is_its_own(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS, policy="full")
    shop.create_view("w", TOTALS, policy="strict")
    insert(shop, "pos", (1, "x", 1))
    assert {entry.view: entry.strategy for entry in shop.refresh()} == {
        "v": "recompute",
        "w": "summary-delta",
    }
