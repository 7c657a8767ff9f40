"""Few rows are one partition, so that no operator above them shuffles; many are read side by side."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

import viewkeeper as vk
from viewkeeper.spark import engine, read
from viewkeeper.spark.session import settings


def shuffles(frame: DataFrame) -> int:
    with settings(frame.sparkSession):
        plan = frame._jdf.queryExecution().executedPlan().toString()
    return plan.count("Exchange hashpartitioning") + plan.count("Exchange SinglePartition")


@pytest.fixture
def changed(warehouse: vk.Warehouse) -> vk.Warehouse:
    """A table and a summary, both with layers that insert, delete and replace."""
    warehouse.sql("CREATE TABLE sales (id INT PRIMARY KEY, shop STRING, qty INT)")
    warehouse.sql("INSERT INTO sales VALUES (1, 'a', 5), (2, 'a', 7), (3, NULL, 1)")
    warehouse.sql(
        "CREATE MATERIALIZED VIEW least AS SELECT shop, MIN(qty) AS q, COUNT(*) AS n FROM sales GROUP BY shop"
    )
    warehouse.sql("DELETE FROM sales WHERE id = 1")
    warehouse.refresh()
    warehouse.sql("INSERT INTO sales VALUES (4, 'b', 2)")
    warehouse.refresh()
    return warehouse


def test_what_has_few_rows_is_joined_and_summed_up_without_a_shuffle(changed: vk.Warehouse) -> None:
    sales, least = changed.table("sales"), changed.table("least")
    joined = sales.hint("merge").join(least, "shop").groupBy("q").count()
    assert shuffles(joined) == 0
    assert sorted(tuple(row) for row in joined.collect()) == [(2, 1), (7, 1)]


def test_what_has_many_rows_is_shuffled(changed: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (engine, read):
        monkeypatch.setattr(module, "ONE_TASK", 1)
    sales, least = changed.table("sales"), changed.table("least")
    joined = sales.hint("merge").join(least, "shop").groupBy("q").count()
    assert shuffles(joined) > 0
    assert sorted(tuple(row) for row in joined.collect()) == [(2, 1), (7, 1)]
