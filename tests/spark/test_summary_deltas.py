"""Summary-deltas through the public surface: the four views of mumick97, and the lattice that they form."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from viewkeeper.demo.retail import TABLES, VIEWS
from viewkeeper.refresh import lattice

pytestmark = pytest.mark.usefixtures("maintained", "every_edge")

DAY = datetime.date(2024, 1, 1)


def sale(rng: random.Random, days: int = 3) -> tuple[object, ...]:
    store, item = rng.choice([None, 1, 2, 3, 4]), rng.choice([None, 1, 2, 3])
    date = rng.choice([None, *(DAY + datetime.timedelta(n) for n in range(days))])
    return (store, item, date, rng.choice([None, 1, 2, 3]), rng.randint(100, 999) / 100)


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> vk.Warehouse:
    warehouse = vk.open(str(tmp_path_factory.mktemp("shop") / "warehouse"), spark=spark)
    for text in TABLES.values():
        warehouse.sql(text)
    cities = [("a", "north"), ("a", "north"), ("b", "north"), ("c", "south")]
    with warehouse.transaction() as t:
        t.insert("stores", [(n, *place) for n, place in enumerate(cities, start=1)])
        t.insert("items", [(n, f"item {n}", f"category {n % 2}", 1) for n in (1, 2, 3)])
        t.insert("pos", [sale(random.Random(n)) for n in range(30)])
    for name, query in VIEWS.items():
        warehouse.create_view(name, query, populate=False)
    warehouse.refresh()
    return warehouse


def verified(wh: vk.Warehouse) -> None:
    wrong = {name: check for name in VIEWS if not (check := wh.verify(name))}
    assert not wrong


def parents(report: vk.Report) -> dict[str, str | None]:
    return {entry.view: entry.details.get("parent") for entry in report}


def test_children_read_only_the_summary_delta_of_their_parent(shop: vk.Warehouse) -> None:
    """Rows read as Table 1 counts them, and the dimensions: with reuse, and individually."""
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5)] * 4 + [(2, 2, DAY, 1, 5)] * 4)
    report = shop.refresh(policy="strict")
    assert {entry.strategy for entry in report} == {"summary-delta"}
    above = {"SID_sales": None, "sCD_sales": "SID_sales", "SiC_sales": "SID_sales", "sR_sales": "sCD_sales"}
    assert parents(report) == above
    assert report.of("SID_sales").rows_read == 8
    assert report.of("SID_sales").rows_written == 2
    stores, items = 4, 3
    assert report.of("sCD_sales").rows_read == 2 + stores
    assert report.of("SiC_sales").rows_read == 2 + items
    assert report.of("sR_sales").rows_read == 1 + stores

    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5)] * 4 + [(2, 2, DAY, 1, 5)] * 4)
    report = shop.refresh(use_lattice=False)
    read = {"SID_sales": 8, "sCD_sales": 8 + stores, "SiC_sales": 8 + items, "sR_sales": 8 + stores}
    assert {entry.view: entry.rows_read for entry in report} == read
    verified(shop)


def test_the_lattice_keeps_views_equal_to_recomputation(shop: vk.Warehouse) -> None:
    """Deletions that take minima, groups that die, and stores that move within the same batch."""
    rng = random.Random(7)
    for batch in range(2):
        rows = [tuple(row) for row in shop.table("pos").collect()]
        with shop.transaction() as t:
            t.insert("pos", [sale(rng, 5) for _ in range(5)])
            t.delete("pos", rng.sample(rows, 8))
            if batch % 2:
                t.update("stores", [{"storeID": 2, "city": rng.choice("ac"), "region": "south"}])
        report = shop.refresh(policy="strict")
        assert {entry.strategy for entry in report} <= {"summary-delta"}
        assert parents(report)["SiC_sales"] == "SID_sales"
        if batch % 2:
            assert parents(report)["sCD_sales"] == "SID_sales", "its rows stand in for the sales"
        verified(shop)


def test_a_hierarchy_that_does_not_hold_is_not_used(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.update("stores", [{"storeID": 1, "city": "a", "region": "south"}])
        t.update("stores", [{"storeID": 2, "city": "a", "region": "north"}])
    shop.refresh()
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5), (2, 1, DAY, 3, 5)])
    report = shop.refresh()
    assert parents(report)["sR_sales"] == "SID_sales"
    verified(shop)


def test_propagate_changes_nothing_that_readers_see(shop: vk.Warehouse) -> None:
    before = {name: shop.table(name).collect() for name in VIEWS}
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5), (4, 3, DAY, 3, 5)])
    report = shop.propagate()
    assert {entry.strategy for entry in report} == {"summary-delta"}
    assert report.propagate_seconds > 0
    assert {name: shop.table(name).collect() for name in VIEWS} == before
    assert {status.name for status in shop.status() if status.stale} == set(VIEWS)
    assert len(shop.propagate()) == 0
    shop.vacuum(keep=1)

    report = shop.refresh()
    assert {(entry.reason.code, entry.rows_read) for entry in report} == {("propagated", 0)}
    assert not any(status.stale for status in shop.status())
    verified(shop)


def test_what_was_propagated_is_the_start_of_what_comes_after(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5)] * 3)
    shop.propagate()
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 7, 5), (2, 1, DAY, 7, 5)])
    shop.propagate("SID_sales")
    shop.compact("SiC_sales")
    report = shop.refresh()
    assert report.of("SID_sales").reason.code == "propagated"
    assert report.of("sCD_sales").reason.code == "incremental"
    assert report.of("SiC_sales").reason.code == "incremental"
    verified(shop)


def test_what_was_propagated_is_taken_over_after_its_report_is_gone(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 2, 5)])
    shop.propagate()
    for number in range(3):
        with shop.transaction() as t:
            t.insert("items", [(100 + number, "new", "category 1", 1)])
    shop.vacuum(keep=1)
    assert {entry.view for entry in shop.refresh()} == set(VIEWS)
    verified(shop)


REGIONS = "SELECT region, SUM(qty) AS q, COUNT(*) FROM pos JOIN stores USING (storeID) GROUP BY region"
QUERIES = {
    REGIONS: "sR_sales",
    "SELECT category, MIN(date), AVG(qty) FROM pos JOIN items USING (itemID) GROUP BY 1": "SiC_sales",
    "SELECT SUM(qty) + 1 AS q FROM pos": "SID_sales",
    "SELECT date, MAX(price) FROM pos GROUP BY date": None,
    "SELECT storeID, qty FROM pos": None,
}


def test_queries_are_answered_from_the_cheapest_view(
    shop: vk.Warehouse, same_bag: Callable[[DataFrame, DataFrame], None]
) -> None:
    for sql, view in QUERIES.items():
        assert shop.explain_query(sql).view == view, str(shop.explain_query(sql))
        found, plain = shop.sql(sql), shop.sql(sql, use_views=False)
        assert found.schema.simpleString() == plain.schema.simpleString()
        same_bag(found, plain)


def test_a_stale_view_answers_only_where_that_is_allowed(shop: vk.Warehouse) -> None:
    before = sorted(shop.sql(REGIONS).collect())
    with shop.transaction() as t:
        t.insert("pos", [(1, 1, DAY, 100, 5)])
    explained = shop.explain_query(REGIONS)
    assert (explained.view, explained.reason.code) == (None, "no-view")
    assert ("sR_sales", "stale") in [(name, reason.code) for name, reason in explained.rejected]
    assert sorted(shop.sql(REGIONS).collect()) != before
    assert shop.explain_query(REGIONS, allow_stale=True).view == "sR_sales"
    assert sorted(shop.sql(REGIONS, allow_stale=True).collect()) == before


def test_a_view_waits_for_its_parent_only_where_that_saves_rows(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a summary-delta saves is known from the one before it, also where that was propagated."""
    monkeypatch.setattr(lattice, "WAITING", 5)
    shop.refresh()
    few, many = [(1, 1, DAY, 2, 5)] * 4, [(1, 1, DAY, 2, 5)] * 40
    found = []
    for rows in (many, many, few, many):
        with shop.transaction() as t:
            t.insert("pos", rows)
        found.append(parents(shop.propagate())["SiC_sales"])
        shop.refresh()
    assert found[1:] == ["SID_sales", None, "SID_sales"]
    verified(shop)


def test_recomputation_goes_through_the_lattice(shop: vk.Warehouse) -> None:
    shop.refresh()
    report = shop.refresh(policy="full")
    assert parents(report) == {
        "SID_sales": None,
        **dict.fromkeys(("sCD_sales", "SiC_sales", "sR_sales"), "SID_sales"),
    }
    assert {entry.strategy for entry in report} == {"recompute"}
    shop.create_view("days", "SELECT date, MIN(itemID) AS i, AVG(qty) AS q FROM pos GROUP BY date")
    filled = shop.history("days")[-1].report["details"]
    assert filled["parent"] == "SID_sales"
    [summary] = [row for row in shop.status() if row.name == "SID_sales"]
    assert filled["estimate"]["rows_read"] == summary.main_rows + summary.layer_rows
    assert shop.verify("days")
    shop.drop("days")
    verified(shop)


def test_the_lattice_of_a_warehouse(shop: vk.Warehouse) -> None:
    drawn = shop.lattice()
    chosen = {(edge["parent"], edge["child"]) for edge in drawn.to_dict()["edges"] if edge["chosen"]}
    assert chosen == {("SID_sales", "sCD_sales"), ("SID_sales", "SiC_sales"), ("sCD_sales", "sR_sales")}
    assert "from SID_sales ⋈ items" in str(drawn)
    assert drawn.to_svg().startswith("<svg")


def test_grouping_sets_are_one_view(shop: vk.Warehouse) -> None:
    shop.create_view(
        "cube",
        "SELECT region, category, MIN(date) AS d, SUM(qty) AS q, COUNT(*) AS n, grouping_id() AS g "
        "FROM pos JOIN stores USING (storeID) JOIN items USING (itemID) GROUP BY CUBE (region, category)",
    )
    rows = [tuple(row) for row in shop.table("pos").collect()]
    with shop.transaction() as t:
        t.delete("pos", random.Random(3).sample(rows, len(rows) // 2))
        t.insert("pos", [(4, 2, DAY, None, 5)])
    explained = shop.explain("cube")
    assert (explained.strategy, len(explained.state)) == ("summary-delta", 4)
    assert any("sd____cube_1" in step.sql for step in explained.steps[1:])
    report = shop.refresh("cube", policy="strict")
    assert [entry.strategy for entry in report] == ["summary-delta"]
    assert shop.verify("cube")
