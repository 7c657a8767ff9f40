"""Choosing by cost, as a user sees it: reports, history, explanations, and measuring the alternatives."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from viewkeeper.planning import calibration, planner

TOTALS = "SELECT item, SUM(price) AS total FROM sales GROUP BY item"


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE sales (id INT PRIMARY KEY, item INT, price INT)")
    warehouse.sql("INSERT INTO sales VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)")
    return warehouse


def test_recomputation_is_taken_where_it_is_cheaper_and_says_so(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views above it still know what changed, and everything stays equal."""
    shop.create_view("totals", TOTALS)
    shop.create_view("above", "SELECT COUNT(*) AS n, MAX(total) AS most FROM totals")
    monkeypatch.setattr(planner, "NOISE", -100.0)
    shop.sql("UPDATE sales SET price = price + 1")
    report = shop.refresh()
    assert [entry.strategy for entry in report] == ["recompute", "recompute"]
    assert {entry.reason.code for entry in report} == {"cheaper"}
    assert shop.verify("totals")
    assert shop.verify("above")
    shop.sql("UPDATE sales SET price = price + 1")
    assert {entry.strategy for entry in shop.refresh(policy="incremental")} == {"summary-delta"}
    assert shop.verify("above")


def test_reports_and_history_keep_what_was_expected_and_learned(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "BOUNDS", (0.01, 100.0))
    shop.create_view("totals", TOTALS)
    shop.sql("INSERT INTO sales VALUES (4, 2, 5)")
    [entry] = shop.refresh(policy="incremental")
    assert set(entry.details["alternatives"]) == {"summary-delta", "recompute"}
    assert entry.details["estimate"] == entry.details["alternatives"][entry.strategy]
    assert entry.details["rejected"] == {}
    assert entry.details["strata"] == {"totals": "summary-delta"}
    assert set(entry.details["learned"]) == {entry.strategy}
    last = vk.open(shop.path, shop.spark).history("totals")[-1].report
    assert last["details"]["learned"] == entry.details["learned"]
    shop.refresh("totals")
    assert shop.explain("totals").last is not None


@pytest.mark.usefixtures("maintained")
def test_a_query_is_explained_before_it_is_a_view(shop: vk.Warehouse) -> None:
    before = shop.version
    shown = shop.explain(f"{TOTALS} HAVING SUM(price) > 10")
    assert shown.strategy == "summary-delta"
    assert list(shown.strata.values()) == ["summary-delta", "counting"]
    assert shown.alone is not None
    assert shown.alone.code == "having"
    assert "sales" in shown.changed
    assert shown.steps
    assert shop.version == before
    assert [row.name for row in shop.status()] == ["sales"]
    with pytest.raises(vk.ViewkeeperError, match="nowhere"):
        shop.explain("SELECT * FROM nowhere")


@pytest.mark.usefixtures("maintained")
def test_all_strategies_can_be_measured_before_and_after_a_refresh(shop: vk.Warehouse) -> None:
    shop.create_view("totals", TOTALS)
    shop.create_view("above", "SELECT COUNT(*) AS n FROM totals")
    assert shop.verify("above", measure=True).measured is None
    shop.sql("INSERT INTO sales VALUES (4, 3, 5)")
    before = shop.version
    pending = shop.verify("totals", measure=True).measured
    assert pending is not None
    assert {one.strategy for one in pending.results} == {"summary-delta", "recompute"}
    assert [one.strategy for one in pending.results if one.chosen] == ["summary-delta"]
    assert pending.ratio >= 1
    assert shop.version == before
    assert shop.table("totals").count() == 2
    shop.refresh()
    assert shop.table("totals").count() == 3
    for name in ("totals", "above"):
        done = shop.verify(name, measure=True)
        assert done
        assert done.measured is not None
        assert done.measured.version == before
    shop.sql("INSERT INTO sales VALUES (5, 4, 5)")
    shop.refresh()
    assert shop.table("above").collect()[0].n == 4
