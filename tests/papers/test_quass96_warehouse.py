"""quass96 through the public surface: Example 4.1 as stored, and layers as small as the paper wants."""

from __future__ import annotations

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")

DAILY = """SELECT store_id, date, SUM(sale_price) AS daily_total, COUNT(*) AS total_count
    FROM sales_log GROUP BY store_id, date"""


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE sales_log (sale_id STRING, store_id INT, date DATE, sale_price INT)")
    warehouse.sql(
        """INSERT INTO sales_log VALUES
            ('0001', 555, DATE '1996-05-01', 10), ('0002', 555, DATE '1996-05-01', 20),
            ('0003', 555, DATE '1996-05-02', 40), ('0004', 555, DATE '1996-07-03', 100)"""
    )
    warehouse.create_view("daily_sales", DAILY)
    warehouse.create_view(
        "best_days", "SELECT store_id, MAX(daily_total) AS most FROM daily_sales GROUP BY store_id"
    )
    return warehouse


def daily(wh: vk.Warehouse) -> dict[str, tuple[int, int]]:
    return {
        f"{row.date:%m-%d}": (row.daily_total, row.total_count) for row in wh.table("daily_sales").collect()
    }


def changes(wh: vk.Warehouse) -> list[tuple[str, int | None, int | None]]:
    """What the last refresh did to the daily totals, as deletions, updates and insertions."""
    found = wh.changes("daily_sales", wh.version - 1).collect()
    return sorted((row.change, row.old_daily_total, row.new_daily_total) for row in found)


def test_example_4_1_and_figures_2_and_5(shop: vk.Warehouse) -> None:
    """Groups that go, come, and change; only these are in the layer, and no row of sales_log is read."""
    with shop.transaction() as t:
        t.delete("sales_log", [("0001", 555, "1996-05-01", 10), ("0004", 555, "1996-07-03", 100)])
        t.insert(
            "sales_log",
            [
                ("0004", 555, "1996-05-03", 100),
                ("0005", 555, "1996-05-01", 30),
                ("0006", 555, "1996-05-03", 50),
            ],
        )
    report = shop.refresh()
    assert daily(shop) == {"05-01": (50, 2), "05-02": (40, 1), "05-03": (150, 2)}
    assert changes(shop) == [("delete", 100, None), ("insert", None, 150), ("update", 30, 50)]
    entry = report.of("daily_sales")
    assert (entry.strategy, entry.rows_written) == ("summary-delta", 3)
    assert "sales_log" not in entry.details["reads"]
    assert [row.most for row in shop.table("best_days").collect()] == [150]


def test_figure_3_a_group_that_comes_out_the_same_is_no_change(shop: vk.Warehouse) -> None:
    """Strong minimality: another sale of the same price leaves the total, and what is above it, as it was."""
    with shop.transaction() as t:
        t.delete("sales_log", [("0003", 555, "1996-05-02", 40)])
        t.insert("sales_log", [("0009", 555, "1996-05-02", 40)])
    report = shop.refresh()
    assert changes(shop) == []
    assert shop.changes("best_days", shop.version - 1).count() == 0
    above = report.of("best_days")
    assert above.details["groups_recomputed"] == 0, "the total that goes and comes is no loss of the most"
    assert above.details["reads"].keys() == {"daily_sales__delta", "best_days__old"}
    assert above.rows_written == 1, "its group, as it was"
    assert shop.verify("best_days")


def test_figure_4_only_groups_that_lost_their_extreme_are_recomputed(shop: vk.Warehouse) -> None:
    """The best day goes: the next best is found among stored days, not among sales."""
    shop.sql("DELETE FROM sales_log WHERE sale_id = '0004'")
    report = shop.refresh()
    entry = report.of("best_days")
    assert [row.most for row in shop.table("best_days").collect()] == [40]
    assert entry.details["groups_recomputed"] == 1
    assert "sales_log" not in entry.details["reads"]
    shop.sql("DELETE FROM sales_log WHERE sale_id = '0001'")
    assert shop.refresh().of("best_days").details["groups_recomputed"] == 0, "another day has the most"
    assert shop.verify("best_days")
