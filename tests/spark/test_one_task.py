"""Few rows are one partition, so that no operator above them shuffles; many are read side by side."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import viewkeeper as vk
from viewkeeper.algebra.expressions import column, equal
from viewkeeper.algebra.relations import Join, JoinKind, Reference
from viewkeeper.algebra.schema import Column
from viewkeeper.spark import engine
from viewkeeper.spark.session import settings

pytestmark = pytest.mark.usefixtures("maintained")


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


def test_what_has_many_rows_is_shuffled(changed: vk.Warehouse, limit: Callable[..., None]) -> None:
    limit(one_task=1)
    sales, least = changed.table("sales"), changed.table("least")
    joined = sales.hint("merge").join(least, "shop").groupBy("q").count()
    assert shuffles(joined) > 0
    assert sorted(tuple(row) for row in joined.collect()) == [(2, 1), (7, 1)]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The physical plans of the results that are fetched."""
    found: list[str] = []

    def watched(self: engine.SparkEngine, frame: DataFrame, limit: int) -> pa.Table:
        with settings(frame.sparkSession):
            found.append(frame._jdf.queryExecution().executedPlan().toString())
        return collected(self, frame, limit)

    collected = engine.SparkEngine.collected
    monkeypatch.setattr(engine.SparkEngine, "collected", watched)
    return found


def refresh_a_join(wh: vk.Warehouse) -> None:
    """Three tables, of which one changes; the view has the sales of shops in a region."""
    wh.sql("CREATE TABLE shops (shop STRING PRIMARY KEY, region INT)")
    wh.sql("CREATE TABLE regions (region INT PRIMARY KEY, name STRING)")
    wh.sql("INSERT INTO shops VALUES ('a', 1), ('b', 2)")
    wh.sql("INSERT INTO regions VALUES (1, 'north'), (2, 'south')")
    wh.create_view("named", "SELECT id, name FROM sales JOIN shops USING (shop) JOIN regions USING (region)")
    wh.sql("INSERT INTO sales VALUES (5, 'b', 3), (6, 'c', 4)")
    report = wh.refresh("named", policy="strict")
    assert (report.actions, report[0].rows_written) == (1, 1)
    assert wh.verify("named")


def test_small_inputs_are_joined_where_they_are(changed: vk.Warehouse, plans: list[str]) -> None:
    refresh_a_join(changed)
    assert plans[-1].count("SortMergeJoin") == 2
    assert "Exchange" not in plans[-1]


def test_large_inputs_are_sent_or_shuffled(
    changed: vk.Warehouse, plans: list[str], limit: Callable[..., None]
) -> None:
    limit(one_task=0)
    refresh_a_join(changed)
    assert "Exchange" in plans[-1]


def test_joins_beyond_what_one_task_can_hold_are_left_to_spark(
    changed: vk.Warehouse, plans: list[str], limit: Callable[..., None]
) -> None:
    limit(joins_in_task=1)
    refresh_a_join(changed)
    assert "SortMergeJoin" not in plans[-1]


def test_parts_of_several_plans_are_not_hashed(changed: vk.Warehouse) -> None:
    """They are in a plan as often as it uses them, and a task cannot spill hash tables."""
    run = changed._work.engine
    few = run.local(pa.table({"x": pa.array([1, 2], pa.int32())}), [Column("x", "int")])
    many = run.in_one(changed.spark.range(5).selectExpr("CAST(id AS INT) AS y"))
    on = equal(column("y"), column("x"))
    plan = Join(Reference("many", ("y",)), Reference("few", ("x",)), JoinKind.INNER, on)
    frames = {"many": many, "few": few}
    for is_part, operator in ((False, "ShuffledHashJoin"), (True, "SortMergeJoin")):
        frame = run.plan(plan, frames, is_part)
        with settings(frame.sparkSession):
            assert operator in frame._jdf.queryExecution().executedPlan().toString()
        assert sorted(tuple(row) for row in frame.collect()) == [(1, 1), (2, 2)]
