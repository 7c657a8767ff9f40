"""Views through the public surface: their life, their refreshes, and what is told about them."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from viewkeeper import errors
from viewkeeper.algebra.schema import COUNT
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish

TOTALS = "SELECT store, COUNT(*) AS n, SUM(qty) AS q FROM pos GROUP BY store"


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("stores", [{"id": 1, "city": "a"}, {"id": 2, "city": "b"}], key=["id"])
    warehouse.sql("CREATE TABLE pos (store BIGINT, item STRING, qty BIGINT)")
    insert(warehouse, "pos", (1, "x", 5), (1, "y", 3), (2, "x", 3), (2, None, None))


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def insert(warehouse: vk.Warehouse, table: str, *new: tuple[object, ...]) -> None:
    with warehouse.transaction() as t:
        t.insert(table, list(new))


def delete(warehouse: vk.Warehouse, table: str, *old: tuple[object, ...]) -> None:
    with warehouse.transaction() as t:
        t.delete(table, list(old))


def one(report: vk.Report) -> vk.ViewReport:
    [entry] = report
    return entry


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


# Policies


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
