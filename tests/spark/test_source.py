"""`format("viewkeeper")` is found by any session: batches with pushed filters, and streams of changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, Not, StringContains

import viewkeeper as vk
from viewkeeper.spark.source import PushingReader, condition_of


@pytest.fixture
def sales(warehouse: vk.Warehouse) -> vk.Warehouse:
    columns = "id INT, region STRING, `odd name` DATE, at TIMESTAMP, xs ARRAY<INT>, PRIMARY KEY (id)"
    warehouse.sql(f"CREATE TABLE sales ({columns})")
    warehouse.sql(
        "INSERT INTO sales VALUES (1, 'a', DATE '2024-01-01', NULL, NULL), (3, 'b', NULL, NULL, NULL),"
        " (2, NULL, NULL, TIMESTAMP '2024-05-06 07:08:09 UTC', ARRAY(1, NULL))"
    )
    warehouse.sql("DELETE FROM sales WHERE id = 3")
    return warehouse


def test_a_session_finds_the_source_and_reads_a_version(sales: vk.Warehouse, spark: SparkSession) -> None:
    read = spark.read.format("viewkeeper").option("table", "SALES")
    found = read.option("where", "id > 1").load(sales.path)
    assert found.dtypes == sales.table("sales").dtypes
    assert found.collect() == sales.table("sales").where("id > 1").collect()
    session = spark.newSession()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    pushing = session.read.format("viewkeeper").options(table="sales", pushdown="true").load(sales.path)
    pushed = pushing.where("id > 1 AND region IS NULL AND upper(region) IS NULL")
    assert [row.id for row in pushed.collect()] == [2]
    before = {"table": "sales", "version": str(sales.version - 1)}
    earlier = spark.read.format("viewkeeper").options(**before).load(sales.path)
    assert earlier.count() == 3
    with pytest.raises(PySparkException, match="needs the option table"):
        spark.read.format("viewkeeper").load(sales.path)


def test_a_stream_gives_each_change_once(sales: vk.Warehouse, spark: SparkSession, tmp_path: Path) -> None:
    options = {"table": "sales", "changes": "true", "since": str(sales.version)}
    seen: list[list[tuple[object, ...]]] = []

    def note(rows: DataFrame, _: int) -> None:
        seen.append([tuple(row) for row in rows.collect()])

    def run() -> None:
        frame = spark.readStream.format("viewkeeper").options(**options).load(sales.path)
        kept = frame.select("change", "old_id", "new_id")
        writer = kept.writeStream.foreachBatch(note)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start().awaitTermination()

    sales.sql("INSERT INTO sales (id, region) VALUES (4, 'c')")
    run()
    sales.sql("DELETE FROM sales WHERE id = 1")
    sales.sql("UPDATE sales SET region = 'd' WHERE id = 2")
    run()
    run()
    assert sorted(row for rows in seen for row in rows) == [
        ("delete", 1, None),
        ("insert", None, 4),
        ("update", 2, 2),
    ]


def test_filters_become_conditions() -> None:
    reader = PushingReader("w", "t", 1, "b = 2")
    others = [StringContains(("b",), "x"), EqualTo(("c", "d"), 1)]
    assert list(reader.pushFilters([GreaterThan(("a",), 3), *others])) == others
    assert reader.where == "(`a` > 3) AND (b = 2)"
    conditions = [In(("odd name",), (1, 2)), Not(IsNotNull(("a",))), In(("a",), ()), EqualTo(("a",), 1.5)]
    told = [condition_of(one) for one in conditions]
    assert [None if one is None else one.sql("spark") for one in told] == [
        "`odd name` IN (1, 2)",
        "NOT NOT `a` IS NULL",
        None,
        None,
    ]
