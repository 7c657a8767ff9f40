"""Summary-deltas of many views from one pass over the changes: few actions, and nothing else is different."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable

import pytest

import viewkeeper as vk
from tests.sizes import SIZES
from viewkeeper.refresh import lattice

pytestmark = pytest.mark.usefixtures("maintained")

VIEWS = {
    "by_store": "SELECT store, item, day, COUNT(*) AS n, SUM(qty) AS q FROM pos GROUP BY ALL",
    "by_city": """SELECT city, day, COUNT(*) AS n, SUM(qty) AS q, AVG(price) AS p
                  FROM pos JOIN stores USING (store) GROUP BY ALL""",
    "firsts": """SELECT store, kind, COUNT(*) AS n, MIN(day) AS first, MAX(price) AS dearest
                 FROM pos JOIN items USING (item) GROUP BY ALL""",
    "dear": """SELECT city, kind, SUM(price) AS p, COUNT(qty) FILTER (WHERE qty > 1) AS many
               FROM pos JOIN stores USING (store) JOIN items USING (item) WHERE price > 3 GROUP BY ALL""",
    "halves": "SELECT qty / 2 AS half, month(day) AS m, SUM(weight) AS w FROM pos GROUP BY ALL",
    "seen": "SELECT at, COUNT(*) AS n, SUM(10 / qty) AS shares FROM pos WHERE qty <> 0 GROUP BY at",
    "total": "SELECT COUNT(*) AS n, SUM(price) AS p FROM pos WHERE item IS NOT NULL",
}


def sale(rng: random.Random) -> tuple[object, ...]:
    day = rng.choice([None, *(datetime.date(2024, 1, n) for n in (1, 2, 3))])
    at = rng.choice([None, datetime.datetime(2024, 3, 31, 2, 30), datetime.datetime(1950, 1, 1)])
    store, item = rng.choice([None, 1, 2, 3]), rng.choice([None, 1, 2])
    price, weight = rng.randint(100, 999) / 100, rng.choice([None, 0.5, 1.25])
    return (store, item, day, at, rng.choice([None, 0, 1, 2, 3]), price, weight)


@pytest.fixture
def shop(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> vk.Warehouse:
    """A warehouse in which no view waits for another; sales may be of no store, and of no item."""
    monkeypatch.setattr(lattice, "WAITING", 10**9)
    warehouse.sql("CREATE TABLE stores (store INT, city STRING, PRIMARY KEY (store))")
    warehouse.sql("CREATE TABLE items (item INT, kind STRING, PRIMARY KEY (item))")
    warehouse.sql("""CREATE TABLE pos (store INT, item INT, day DATE, at TIMESTAMP, qty INT,
                     price DECIMAL(10,2), weight DOUBLE, FOREIGN KEY (store) REFERENCES stores (store))""")
    with warehouse.transaction() as t:
        t.insert("stores", [(1, "a"), (2, "a"), (3, None)])
        t.insert("items", [(1, "x"), (2, None)])
        t.insert("pos", [sale(random.Random(n)) for n in range(30)])
    return warehouse


def with_views(shop: vk.Warehouse, *names: str) -> None:
    for name in names or VIEWS:
        shop.create_view(name, VIEWS[name])


def verified(shop: vk.Warehouse) -> None:
    wrong = [
        status.name for status in shop.status() if status.kind == "view" and not shop.verify(status.name)
    ]
    assert not wrong


def test_one_action_gives_every_view_its_summary_delta(shop: vk.Warehouse) -> None:
    with_views(shop)
    shop.sql(
        "INSERT INTO pos VALUES (1, 1, DATE '2024-01-01', NULL, 2, 5, 1), (NULL, 2, NULL, NULL, 0, 1, 1)"
    )
    shown = shop.explain("by_city")
    assert any(step.title.startswith("Compute __pass__1 (for by_store, by_city") for step in shown.steps)
    report = shop.refresh(policy="strict")
    assert {entry.strategy for entry in report} == {"summary-delta"}
    read = {"by_store": 2 + 3 + 2, "firsts": 2 + 2}
    assert {entry.view: entry.rows_read for entry in report} == {**dict.fromkeys(VIEWS, 0), **read}
    for entry in report:
        others = [name for name in VIEWS if name not in (entry.view, "firsts")]
        assert entry.details["shares"] == ({} if entry.view == "firsts" else {"__pass__1": others})
        assert entry.details["parent"] is None
        assert shop.history(entry.view)[-1].report["details"]["shares"] == entry.details["shares"]
    verified(shop)


def test_the_pass_is_the_only_action(shop: vk.Warehouse) -> None:
    with_views(shop, "by_store", "by_city")
    shop.sql("INSERT INTO pos VALUES (1, 1, DATE '2024-01-01', NULL, 2, 5, 1), (2, 2, NULL, NULL, 0, 1, 1)")
    report = shop.propagate()
    assert report.actions == 1
    assert [entry.rows_written for entry in report] == [2, 2]
    shop.refresh()
    verified(shop)


def test_views_stay_equal_to_recomputation(shop: vk.Warehouse) -> None:
    """Deletions that take extremes, NULL keys, groups that die, and propagation before refresh."""
    with_views(shop)
    rng = random.Random(5)
    for batch in range(4)[: SIZES.rounds]:
        rows = [tuple(row) for row in shop.table("pos").collect()]
        with shop.transaction() as t:
            t.insert("pos", [sale(rng) for _ in range(6)])
            t.delete("pos", rng.sample(rows, 8))
        report = shop.propagate() if batch % 2 else shop.refresh(policy="strict")
        assert [entry.view for entry in report if not entry.details["shares"]] == ["firsts"]
        shop.refresh()
        verified(shop)


def test_changed_dimensions_and_other_pasts_are_left_out(shop: vk.Warehouse) -> None:
    with_views(shop, "by_store", "by_city", "firsts", "dear")
    shop.sql("INSERT INTO pos VALUES (1, 1, DATE '2025-01-01', NULL, 2, 1, 1)")
    shop.refresh("firsts")
    with shop.transaction() as t:
        t.insert("pos", [(2, 2, None, None, 1, 4, 1.0)])
        t.update("stores", [{"store": 2, "city": "z"}])
    assert not any(entry.details["shares"] for entry in shop.refresh(policy="strict"))
    verified(shop)


def test_the_driver_fetches_a_bounded_number_of_rows(shop: vk.Warehouse, limit: Callable[..., None]) -> None:
    with_views(shop, "by_store", "by_city", "dear", "halves", "total")
    insert = "INSERT INTO pos VALUES (1, 1, NULL, NULL, 2, 4, 1), (2, 1, NULL, NULL, 2, 4, 1)"
    limit(pass_fetched=4)
    shop.sql(insert)
    report = shop.refresh(policy="strict")
    assert [list(entry.details["shares"].values()) for entry in report] == [
        [["by_city"]], [["by_store"]], [["halves"]], [["dear"]], []
    ]  # fmt: skip
    limit(pass_fetched=3)
    shop.sql(insert)
    assert not any(entry.details["shares"] for entry in shop.refresh(policy="strict"))
    verified(shop)


def test_sales_of_one_day_have_it_as_their_extreme(shop: vk.Warehouse) -> None:
    """A view with extremes passes with the others where all new rows hold the same value."""
    shop.create_view(
        "days", "SELECT store, COUNT(*) AS n, MIN(day) AS first, MAX(day) AS last FROM pos GROUP BY ALL"
    )
    with_views(shop, "by_store", "firsts")
    day = datetime.date(2023, 5, 5)
    new = [(store, 1, day, None, 1, price, None) for store in (1, 1, 2, None) for price in (2, 3)]
    with shop.transaction() as t:
        t.insert("pos", new)
    report = {entry.view: entry for entry in shop.refresh(policy="strict")}
    assert report["days"].details["shares"] == {"__pass__1": ["by_store"]}
    assert not report["firsts"].details["shares"]
    verified(shop)
    with shop.transaction() as t:
        t.delete("pos", [new[0]])
    [entry] = shop.refresh("days", policy="strict")
    assert entry.details["groups_recomputed"] == 0
    with shop.transaction() as t:
        t.delete("pos", new[1:4])
    [entry] = shop.refresh("days", policy="strict")
    assert entry.details["groups_recomputed"] == 1
    shop.refresh()
    verified(shop)


def test_days_that_differ_between_transactions_are_not_one(shop: vk.Warehouse) -> None:
    shop.create_view("days", "SELECT store, MIN(day) AS first FROM pos GROUP BY ALL")
    with_views(shop, "by_store", "by_city")
    for number in (1, 2):
        shop.sql(f"INSERT INTO pos VALUES (1, 1, DATE '2023-05-0{number}', NULL, 1, 2, NULL)")
    report = {entry.view: entry for entry in shop.refresh(policy="strict")}
    assert report["days"].details["shares"] == {"__pass__1": ["by_store"]}
    assert report["by_store"].details["shares"]
    assert not report["by_city"].details["shares"], "its decimals would be summed up twice"
    verified(shop)


def test_extremes_of_one_argument_are_summed_up_by_value_in_the_pass(shop: vk.Warehouse) -> None:
    """Values come and go within a batch too, and a lost extreme is looked up in another view."""
    shop.create_view("days", "SELECT store, MIN(day) AS first, MAX(day) AS last FROM pos GROUP BY ALL")
    shop.create_view("dearest", "SELECT item, MAX(price) AS dearest, SUM(qty) AS q FROM pos GROUP BY ALL")
    with_views(shop, "by_store", "by_city")
    rng = random.Random(5)
    recomputed = {"days": 0, "dearest": 0}
    for _ in range(3):
        rows = [tuple(row) for row in shop.table("pos").collect()]
        with shop.transaction() as t:
            t.insert("pos", [sale(rng) for _ in range(4)])
            t.delete("pos", rng.sample(rows, len(rows) // 3))
        report = {entry.view: entry for entry in shop.refresh(policy="strict")}
        assert {name for name, entry in report.items() if entry.details["shares"]} == {
            *recomputed,
            "by_store",
        }
        for name in recomputed:
            recomputed[name] += report[name].details["groups_recomputed"]
        assert "pos" not in report["days"].details["reads"], "by_store has all days of every store"
        verified(shop)
    assert all(recomputed.values())
