"""A refresh knows what changed in a view, however it was computed: views above it stay incremental."""

from __future__ import annotations

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> vk.Warehouse:
    """A bag and a summary that are recomputed each time, and three layers of views above each."""
    warehouse.sql("CREATE TABLE sales (id INT PRIMARY KEY, item INT, price DECIMAL(10,2))")
    warehouse.sql("INSERT INTO sales SELECT id, id % 50, id % 7 FROM RANGE(500) AS r(id)")
    warehouse.create_view("kept", "SELECT item, price FROM sales WHERE price > 1", policy="full")
    warehouse.create_view("by_item", "SELECT item, SUM(price) AS p FROM kept GROUP BY item")
    warehouse.create_view("dear", "SELECT p, item FROM by_item WHERE p > 20")
    warehouse.create_view("bands", "SELECT floor(p) AS band, COUNT(*) AS n FROM dear GROUP BY 1")
    warehouse.create_view(
        "extremes", "SELECT item, MIN(price) AS lo, AVG(price) AS a FROM sales GROUP BY item", policy="full"
    )
    warehouse.create_view("cheap", "SELECT item, lo FROM extremes WHERE lo < 3")
    warehouse.create_view("counts", "SELECT lo, COUNT(*) AS n FROM cheap GROUP BY lo")
    warehouse.create_view("most", "SELECT MAX(n) AS n FROM counts")
    return warehouse


def reasons(report: vk.Report) -> dict[str, str]:
    return {entry.view: entry.reason.code for entry in report}


def verified(wh: vk.Warehouse) -> None:
    views = [status.name for status in wh.status() if status.kind == "view"]
    assert all(wh.verify(name) for name in views), views


ABOVE = ("by_item", "dear", "bands", "cheap", "counts", "most")


def test_three_layers_above_a_recomputed_view_stay_incremental(shop: vk.Warehouse) -> None:
    shop.sql("UPDATE sales SET price = 100 WHERE id IN (3, 4)")
    before = shop.version
    report = shop.refresh()
    found = reasons(report)
    assert (found["kept"], found["extremes"]) == ("policy-full", "policy-full")
    assert {found[name] for name in ABOVE} <= {"incremental", "unchanged", "irrelevant"}
    assert report.of("by_item").rows_read <= 4 + 50, "the changed rows, and the groups at most"
    assert report.of("by_item").rows_written == 2
    assert {row.new_price for row in shop.changes("kept", before).collect()} == {None, 100}
    assert {row.new_item for row in shop.changes("extremes", before).collect()} == {3, 4}
    verified(shop)


def test_a_recomputation_without_effect_touches_nothing_above(shop: vk.Warehouse) -> None:
    shop.sql("UPDATE sales SET id = id + 1000 WHERE id = 20")
    report = shop.refresh()
    assert reasons(report)["kept"] == reasons(report)["extremes"] == "policy-full"
    assert {entry.view for entry in report if entry.strategy != "none"} == {"kept", "extremes"}
    assert shop.changes("kept", report.version - 1).count() == 0
    assert not any(status.stale for status in shop.status())
    assert reasons(shop.refresh()) == {}
    verified(shop)


def test_views_that_lag_behind_go_through_everything_since(shop: vk.Warehouse) -> None:
    """Layers, a recomputation, layers again, folding: the log goes on through all of them."""
    for number in range(3):
        shop.sql(f"UPDATE sales SET price = {number + 2} WHERE id % 100 = {number}")
        shop.refresh("kept", "extremes", policy="incremental" if number % 2 else None)
    shop.compact("extremes")
    assert set(reasons(shop.refresh()).values()) <= {"incremental", "unchanged", "irrelevant", "policy-full"}
    verified(shop)


def test_groups_that_die_and_come_back(shop: vk.Warehouse) -> None:
    shop.sql("DELETE FROM sales WHERE item = 7")
    assert "input-replaced" not in reasons(shop.refresh()).values()
    verified(shop)
    shop.sql("INSERT INTO sales VALUES (7, 7, 1), (57, 7, 3)")
    assert "input-replaced" not in reasons(shop.refresh()).values()
    verified(shop)


def test_a_changed_definition_is_a_change_of_rows_to_views_above(shop: vk.Warehouse) -> None:
    shop.sql("ALTER MATERIALIZED VIEW kept AS SELECT item, price FROM sales WHERE price > 2 AND price < 99")
    shop.sql("ALTER MATERIALIZED VIEW extremes AS SELECT item, MIN(price) AS lo, AVG(price) AS a "
             "FROM sales WHERE id > 10 GROUP BY item")  # fmt: skip
    report = shop.refresh()
    assert "input-replaced" not in reasons(report).values()
    assert {entry.view for entry in report} >= {"by_item", "cheap"}
    verified(shop)


def test_what_nobody_reads_is_not_compared(shop: vk.Warehouse) -> None:
    shop.create_view("alone", "SELECT item, price FROM sales", policy="full")
    shop.sql("UPDATE sales SET price = 5 WHERE id = 1")
    shop.refresh()
    report = shop.history("alone")[-1].report
    assert report["rows_written"] == 500
    assert report["details"]["reads"].keys() == {"sales"}
    assert shop.changes("alone", shop.version - 1).count() == 2
    assert "log what is different" in str(shop.explain("kept"))
    assert "log what is different" not in str(shop.explain("alone"))


def test_a_recursion_that_is_evaluated_anew_tells_what_changed(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE edges (a INT, b INT)")
    warehouse.sql("INSERT INTO edges VALUES (1, 2), (2, 3), (3, 4)")
    warehouse.create_view(
        "reach",
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e "
        "ON r.b = e.a) SELECT a, b FROM r",
        policy="full",
    )
    warehouse.create_view("degrees", "SELECT a, COUNT(*) AS n FROM reach GROUP BY a")
    warehouse.sql("INSERT INTO edges VALUES (4, 5)")
    assert reasons(warehouse.refresh())["degrees"] == "incremental"
    verified(warehouse)
