"""mumick97 through the public surface: what a refresh of the four summary tables reads and writes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.demo import retail
from viewkeeper.spark import retail_rows as data

pytestmark = pytest.mark.usefixtures("maintained")

SALES, CHANGES = 50_000, 500
"""A twentieth of Table 3: a hundred sales for every change."""


@pytest.fixture(scope="module")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> vk.Warehouse:
    warehouse = vk.open(str(tmp_path_factory.mktemp("retail") / "warehouse"), spark=spark)
    retail.create_tables(warehouse)
    retail.load(warehouse, SALES)
    for name, query in retail.VIEWS.items():
        warehouse.create_view(name, query, populate=False)
    warehouse.refresh()
    return warehouse


@pytest.fixture
def shop(loaded: vk.Warehouse) -> vk.Warehouse:
    """The four views of Figure 1, fresh."""
    loaded.refresh()
    return loaded


def update_generating(shop: vk.Warehouse, batch: int) -> None:
    """Section 6: as many insertions as deletions, over stores, items and dates that are there."""
    half = CHANGES // 2
    with shop.transaction() as t:
        t.insert("pos", data.sales(shop.spark, 1_000_000 * batch, half), check=False)
        t.delete("pos", data.every_nth_sale(shop.spark, SALES, half, batch), check=False)


def test_table_3_reads_and_writes_no_more_than_table_1_counts(shop: vk.Warehouse) -> None:
    """Each view reads its parent's summary-delta and writes its own, as Table 1 counts where deltas are
    reused; with the dimensions, and the stored groups of the one view that has a minimum."""
    update_generating(shop, 1)
    report = shop.refresh()
    assert {entry.strategy for entry in report} == {"summary-delta"}
    assert not any("pos" in entry.details["reads"] for entry in report)
    sid, scd, sic, sr = (report.of(name).rows_written for name in retail.VIEWS)
    table_1 = (CHANGES + sid) + (sid + scd) + (sid + sic) + (scd + sr)
    beside = data.STORES + data.ITEMS + report.of("SiC_sales").details["reads"]["SiC_sales__old"]
    assert sum(entry.rows_read + entry.rows_written for entry in report) <= table_1 + beside
    assert sum(entry.details["groups_recomputed"] for entry in report) == 0
    assert all(shop.verify(name) for name in retail.VIEWS)


def test_a_lost_minimum_is_looked_up_in_another_view(shop: vk.Warehouse) -> None:
    """All sales of a store on its first date are taken back: its groups come from SID_sales."""
    first = shop.sql("SELECT MIN(date) AS d FROM pos WHERE storeID = 7", use_views=False).collect()[0].d
    gone = shop.sql(f"SELECT * FROM pos WHERE storeID = 7 AND date = DATE '{first}'", use_views=False)
    lost = gone.join(shop.table("items"), "itemID").select("category").distinct().count()
    with shop.transaction() as t:
        t.delete("pos", gone)
    report = shop.refresh()
    entry = report.of("SiC_sales")
    assert (entry.strategy, entry.details["groups_recomputed"]) == ("summary-delta", lost)
    assert "SID_sales" in entry.details["reads"]
    assert not any("pos" in one.details["reads"] for one in report)
    assert all(shop.verify(name) for name in retail.VIEWS)


def test_a_store_that_moves_takes_its_stored_groups_along(shop: vk.Warehouse) -> None:
    """v1_old ⋈ Δstores: no sale is read, and with sales in the same batch none but these."""
    shop.sql("UPDATE stores SET city = 'elsewhere', region = 'far away' WHERE storeID = 3")
    report = shop.refresh()
    assert {entry.view: entry.details["parent"] for entry in report} == {
        "sCD_sales": "SID_sales",
        "sR_sales": "SID_sales",
    }
    assert not any("pos" in name for entry in report for name in entry.details["reads"])
    assert all(shop.verify(name) for name in retail.VIEWS)
    update_generating(shop, 2)
    shop.sql("UPDATE stores SET city = 'elsewhere', region = 'far away' WHERE storeID = 4")
    shop.sql("UPDATE items SET category = 'category 1' WHERE itemID = 9")
    report = shop.refresh()
    parents = {entry.view: entry.details["parent"] for entry in report}
    assert parents == {
        "SID_sales": None,
        **dict.fromkeys(("sCD_sales", "SiC_sales", "sR_sales"), "SID_sales"),
    }
    assert not any("pos" in entry.details["reads"] for entry in report)
    assert all(shop.verify(name) for name in retail.VIEWS)


def test_a_view_that_is_cheaper_to_recompute_comes_from_the_smallest_view(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So priced, and so done; the view that it comes from is refreshed by the same call."""
    from viewkeeper.planning import planner

    monkeypatch.setattr(planner, "NOISE", -100.0)
    update_generating(shop, 3)
    report = shop.refresh("SID_sales", "SiC_sales", policy="auto")
    entry = report.of("SiC_sales")
    assert (entry.strategy, entry.details["parent"]) == ("recompute", "SID_sales")
    assert "pos" not in entry.details["reads"]
    assert entry.details["alternatives"]["recompute"]["rows_read"] < SALES
    assert shop.verify("SiC_sales")
