"""Views of one refresh compute once what they have in common: counted by rows read and Spark actions."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.warehouse.rows import rows
from viewkeeper.planning import cost

pytestmark = pytest.mark.usefixtures("maintained")

ORDERS, LINES = 30, 120


@pytest.fixture
def shop(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> vk.Warehouse:
    """Two tables whose rows are so costly to read that whatever is common is worth sharing."""
    monkeypatch.setattr(cost, "ROW", 1.0)
    orders = [{"okey": n, "customer": n % 3, "day": n % 4} for n in range(ORDERS)]
    warehouse.create_table("orders", orders, key=["okey"])
    lines = [{"okey": n % ORDERS, "part": n % 7, "qty": n} for n in range(LINES)]
    warehouse.create_table("lines", lines)
    return warehouse


JOIN = "FROM lines JOIN orders USING (okey)"
VIEWS = {
    "pairs": f"SELECT customer, qty {JOIN}",
    "by_day": "SELECT o.day, COUNT(*) AS n FROM orders o, lines l WHERE l.okey = o.okey GROUP BY o.day",
    "by_part": f"SELECT part, customer, SUM(qty) AS q {JOIN} GROUP BY part, customer",
}


def create(wh: vk.Warehouse) -> None:
    for name, sql in VIEWS.items():
        wh.create_view(name, sql)


def change(wh: vk.Warehouse, number: int) -> None:
    with wh.transaction() as t:
        t.update("orders", [{"okey": number, "customer": 9, "day": 9}])
        t.insert("lines", [(number, 1, 500 + number), (number + 1, 2, 3)])
        t.delete("lines", [(number + 2, (number + 2) % 7, number + 2)])


def times_read(report: vk.Report, *states: str) -> int:
    """How many views have opened a state of a table."""
    return sum(any(entry.details["reads"].get(state) for state in states) for entry in report)


def test_a_join_is_computed_once_for_all_views(shop: vk.Warehouse) -> None:
    create(shop)
    for number in (1, 5):
        change(shop, number)
        report = shop.refresh()
        assert all(shop.verify(name) for name in VIEWS)
        assert times_read(report, "lines__delta", "orders__delta", "orders__old") == 1
        for entry in report:
            [others] = entry.details["shares"].values()
            assert sorted([entry.view, *others]) == sorted(VIEWS)
        assert report.actions <= 1 + len(VIEWS) + 1, (
            "the join, a layer for each, and groups that lost a maximum"
        )


def test_what_is_cheap_is_computed_again(shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    create(shop)
    monkeypatch.setattr(cost, "ROW", 6e-8)
    change(shop, 1)
    report = shop.refresh()
    assert times_read(report, "lines__delta") == len(VIEWS)
    assert [entry.details["shares"] for entry in report] == [{}] * len(VIEWS)


def test_views_with_another_past_compute_their_own(shop: vk.Warehouse) -> None:
    """A view that is refreshed alone goes through less than the others later, and the results are right."""
    create(shop)
    change(shop, 1)
    shop.refresh("pairs")
    change(shop, 7)
    report = shop.refresh()
    assert report.of("pairs").details["shares"] == {}
    assert report.of("by_day").details["shares"] == {"__common__1": ["by_part"]}
    assert all(shop.verify(name) for name in VIEWS)


def test_changes_of_a_view_are_looked_up_once(shop: vk.Warehouse) -> None:
    shop.create_view("per_part", "SELECT okey, part, SUM(qty) AS q FROM lines GROUP BY okey, part")
    shop.create_view("many", "SELECT part, q FROM per_part WHERE q > 10")
    shop.create_view("days", "SELECT day, q FROM per_part p JOIN orders o ON o.okey = p.okey")
    shop.create_view("days_again", "SELECT q + 1 AS q FROM orders o JOIN per_part p ON p.okey = o.okey")
    change(shop, 1)
    report = shop.refresh()
    assert times_read(report, "per_part__delta") == 1
    assert report.of("days").details["shares"].keys() == {"__common__1", "__common__2"}
    assert all(shop.verify(name) for name in ("per_part", "many", "days", "days_again"))


def test_explain_tells_what_is_shared(shop: vk.Warehouse) -> None:
    create(shop)
    change(shop, 1)
    shown = shop.explain("by_day")
    assert shown.shares == {"__common__1": ["pairs", "by_part"]}
    assert "shares __common__1 with pairs, by_part" in str(shown)
    assert shown.steps[0].title == "Compute __common__1 (for pairs, by_day, by_part): in one task"
    assert "__common__1" in shown.steps[-1].sql
    assert "shares __common__1 with pairs, by_part" in shown._repr_html_()
    shop.refresh()
    after = shop.explain("by_day")
    assert after.shares == {}
    assert "shares __common__1 with pairs, by_part" in after.last_refresh()


def test_one_failure_leaves_all_as_it_was(shop: vk.Warehouse) -> None:
    """A row that overflows fails the refresh of both views; they stay as they were."""
    shop.create_view("total", f"SELECT day, SUM(CAST(qty AS INT) + 2147483000) AS s {JOIN} GROUP BY day")
    shop.create_view("rows", f"SELECT CAST(qty AS INT) + 2147483000 AS s, day {JOIN}")
    before = [rows(shop.table(name)) for name in ("total", "rows")]
    with shop.transaction() as t:
        t.insert("lines", [(1, 1, 100_000)])
    with pytest.raises(vk.ViewkeeperError):
        shop.refresh()
    assert [rows(shop.table(name)) for name in ("total", "rows")] == before


def test_extremes_share_too(shop: vk.Warehouse) -> None:
    shop.create_view("largest", f"SELECT customer, MAX(qty) AS m {JOIN} GROUP BY customer")
    shop.create_view("smallest", f"SELECT day, MIN(qty) AS m {JOIN} GROUP BY day")
    for number in (1, 5):
        change(shop, number)
        report = shop.refresh()
        assert all(entry.details["shares"] for entry in report)
        assert times_read(report, "lines__delta") == 1
        assert shop.verify("largest")
        assert shop.verify("smallest")
