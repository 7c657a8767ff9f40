"""What is told about views: their numbers, changes, history and earlier versions, and what is wrong."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from tests.warehouse.shop import TOTALS, delete, insert, stock
from viewkeeper import errors
from viewkeeper.algebra.schema import COUNT
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def test_sums_of_floats_forget_nan_and_infinity(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (g INT, x DOUBLE)")
    nan, infinity = float("nan"), float("inf")
    insert(warehouse, "t", (1, 1.5), (1, nan), (2, 2.0), (2, infinity), (3, -0.0))
    warehouse.create_view("v", "SELECT g, SUM(x) AS s, AVG(x) AS a, MAX(x) AS m FROM t GROUP BY g")
    found = {row.g: row.s for row in warehouse.table("v").collect()}
    assert math.isnan(found[1])
    assert found[2] == infinity
    delete(warehouse, "t", (1, nan), (2, infinity))
    warehouse.refresh(policy="strict")
    assert rows(warehouse.table("v")) == bag([(1, 1.5, 1.5, 1.5), (2, 2.0, 2.0, 2.0), (3, 0.0, 0.0, 0.0)])
    assert warehouse.verify("v")


def test_decimals_stay_exact(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (g INT, x DECIMAL(10,2))")
    insert(warehouse, "t", *[(1, Decimal("0.10"))] * 3, (1, None))
    warehouse.create_view("v", "SELECT g, SUM(x) AS s, AVG(x) AS a, SUM(x * x) AS q FROM t GROUP BY g")
    with warehouse.transaction() as t:
        t.delete("t", [(1, Decimal("0.10"))])
        t.insert("t", [(1, Decimal("0.35")), (2, None)])
    warehouse.refresh(policy="strict")
    assert (
        warehouse.table("v").dtypes
        == warehouse.sql("SELECT g, SUM(x) AS s, AVG(x) AS a, SUM(x * x) AS q FROM t GROUP BY g").dtypes
    )
    assert rows(warehouse.table("v")) == bag(
        [(1, Decimal("0.55"), Decimal("0.183333"), Decimal("0.1425")), (2, None, None, None)]
    )


def test_a_sum_that_overflows_leaves_everything_as_it_was(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (g INT, x BIGINT)")
    insert(warehouse, "t", (1, 2**63 - 2))
    warehouse.create_view("v", "SELECT g, SUM(x) AS s FROM t GROUP BY g")
    insert(warehouse, "t", (1, 1))
    warehouse.refresh()
    insert(warehouse, "t", (1, 1))
    before = warehouse.version
    with pytest.raises(errors.ViewkeeperError, match=r"(?i)overflow"):
        warehouse.refresh()
    assert warehouse.version == before
    assert rows(warehouse.table("v")) == bag([(1, 2**63 - 1)])


# What is told about views


def test_changes_of_a_view(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    shop.create_view("w", "SELECT item, qty FROM pos WHERE qty < 5")
    since = shop.version
    with shop.transaction() as t:
        t.delete("pos", [(2, "x", 3), (2, None, None)])
        t.insert("pos", [(1, "x", 1), (3, "y", 3)])
    shop.refresh()
    found = shop.changes("v", since)
    assert found.columns == ["change", "old_store", "new_store", "old_n", "new_n", "old_q", "new_q"]
    assert rows(found) == bag(
        [
            ("update", 1, 1, 2, 3, 8, 9),
            ("delete", 2, None, 2, None, 3, None),
            ("insert", None, 3, None, 1, None, 3),
        ]
    )
    assert rows(shop.changes("w", since)) == bag(
        [("delete", "x", None, 3, None), ("insert", None, "x", None, 1), ("insert", None, "y", None, 3)]
    )
    assert rows(shop.changes("w", shop.version)) == bag([])


@pytest.mark.usefixtures("maintained")
def test_what_a_refresh_would_do(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT item, MIN(qty) AS m FROM pos JOIN stores ON store = id GROUP BY item")
    insert(shop, "pos", (1, "x", 1))
    shown = shop.explain("v")
    assert (shown.view, shown.strategy, shown.changed) == ("v", "summary-delta", ("pos",))
    assert shown.steps[-1].title == "Append to v (summary-delta): in one task"
    assert any("pos__delta" in step.sql for step in shown.steps)
    assert "MIN(" in shown.steps[-1].sql
    text = str(shown)
    assert text.startswith("v: summary-delta")
    assert shown.steps[0].sql.splitlines()[0] in text
    delete(shop, "pos", (1, "x", 5))
    titles = [step.title for step in shop.explain("v").steps]
    assert any(title.startswith("Replace groups of v") for title in titles)
    assert any("computed anew" in title for title in titles)


@pytest.mark.usefixtures("maintained")
def test_status_and_history(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    created = shop.version
    insert(shop, "pos", (1, "x", 1))
    insert(shop, "pos", (1, "x", 1), (2, "x", 1))
    [status] = [entry for entry in shop.status() if entry.name == "v"]
    assert (status.version, status.stale) == (created - 1, True)
    assert (status.commits_behind, status.rows_behind) == (2, 3)
    shop.refresh()
    [status] = [entry for entry in shop.status() if entry.name == "v"]
    assert (status.stale, status.commits_behind, status.rows_behind) == (False, 0, 0)
    history = shop.history("v")
    assert [entry.operation for entry in history] == ["create view v", "refresh"]
    assert history[-1].report["strategy"] == "summary-delta"
    assert history[-1].version == shop.version


def test_verification_finds_rows_that_are_wrong(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT item, qty FROM pos WHERE qty > 2")
    assert shop.verify("v")
    work, spark = shop._work, shop.spark

    def tampered(base: object) -> Draft:
        draft = Draft(base, "tamper")  # type: ignore[arg-type]
        wrong = spark.sql(f"SELECT 'x' AS item, 5L AS qty, -1L AS {COUNT} UNION ALL SELECT 'no', 1L, 1L")
        draft.append("v", work.engine.write(wrong, draft.relations["v"].folder))
        return draft

    publish(work.log, tampered)
    found = shop.verify("v")
    assert not found
    assert found.extra == ({"item": "no", "qty": 1, COUNT: 1},)
    assert found.missing == ({"item": "x", "qty": 5, COUNT: 1},)
    shop.refresh("v", policy="full")
    assert shop.verify("v")


def test_compaction_of_views_changes_nothing_that_is_seen(shop: vk.Warehouse) -> None:
    shop.create_view("v", "SELECT q, COUNT(*) AS n FROM (" + TOTALS + ") GROUP BY q")
    shop.create_view("w", "SELECT item, MIN(qty) AS m FROM pos GROUP BY item")
    since = shop.version
    delete(shop, "pos", (1, "x", 5))
    shop.refresh()
    before = {name: rows(shop.table(name)) for name in ("v", "w")}
    changes = rows(shop.changes("w", since))
    shop.compact()
    assert {entry.layers for entry in shop.status()} == {0}
    assert {name: rows(shop.table(name)) for name in ("v", "w")} == before
    assert rows(shop.changes("w", since)) == changes
    insert(shop, "pos", (1, "x", 1))
    shop.refresh(policy="strict")
    assert shop.verify("v")
    assert shop.verify("w")


def test_earlier_versions_of_a_view(shop: vk.Warehouse) -> None:
    shop.create_view("v", TOTALS)
    versions = [shop.version]
    for number in (1, 2):
        insert(shop, "pos", (1, "x", number))
        shop.refresh()
        versions.append(shop.version)
    shop.refresh("v", policy="full")
    shop.compact("v")
    found = [
        rows(shop.table("v", version=version))[(1, 2 + number, 8 + added)]
        for number, (version, added) in enumerate(zip(versions, (0, 1, 3)))
    ]
    assert found == [1, 1, 1]
