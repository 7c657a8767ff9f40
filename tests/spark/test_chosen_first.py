"""Groups that keys name are chosen in main and in layers before these are merged, and are the same groups."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from viewkeeper.spark import engine, execute, read

ITEMS = "SELECT shop, item, SUM(qty) AS sold, MAX(qty) AS most FROM sales GROUP BY shop, item"
SOLD = f"SELECT name FROM shops WHERE shop IN (SELECT shop FROM ({ITEMS}) WHERE sold > 5 AND most < 9)"
BATCHES = (
    "INSERT INTO sales VALUES (10, 1, 1, 4), (11, 2, 1, 9), (12, NULL, 1, 7)",
    "DELETE FROM sales WHERE id IN (1, 10)",
    "INSERT INTO sales VALUES (13, 1, 1, 8), (14, 3, NULL, 6)",
    "UPDATE sales SET qty = 2 WHERE id IN (11, 14)",
    "DELETE FROM sales WHERE shop = 3",
)


@pytest.fixture
def shop(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> vk.Warehouse:
    """Every relation counts as large."""
    for module in (engine, read):
        monkeypatch.setattr(module, "ONE_TASK", 0)
    warehouse.sql("CREATE TABLE shops (shop INT PRIMARY KEY, name STRING)")
    warehouse.sql("CREATE TABLE sales (id INT PRIMARY KEY, shop INT, item INT, qty INT)")
    warehouse.sql("INSERT INTO shops VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    warehouse.sql("INSERT INTO sales VALUES (1, 1, 1, 6), (2, 2, 1, 1), (3, 3, 2, 3)")
    warehouse.create_view("sold", SOLD)
    return warehouse


def test_chosen_groups_keep_a_view_equal_to_its_query(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = []

    def watched(node, *given):  # type: ignore[no-untyped-def]
        found = chosen(node, *given)
        choices.append(found is not node)
        return found

    chosen = execute.chosen
    monkeypatch.setattr(execute, "chosen", watched)
    for batch in BATCHES:
        shop.sql(batch)
        assert [entry.strategy for entry in shop.refresh(policy="strict")] == ["counting"]
        assert shop.verify("sold"), batch
    assert any(choices)
