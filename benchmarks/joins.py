"""A join view of three tables over 10 million facts, against the same query written anew by Spark.

    SELECT … FROM sales JOIN items USING (item) JOIN stores USING (store)

Batches of 0.01 % to 10 % of the facts, one third each inserted, deleted and updated, and one changed row
of a dimension. As many rows come as go, so that the rival reads and writes tables of the same size.
The crossover is the share of changed facts at which maintaining costs as much as computing anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from viewkeeper.report import Report
from viewkeeper.warehouse import Warehouse

FACTS = 10_000_000
SHARES = (0.0001, 0.001, 0.01, 0.1)
LIMITS = {0.001: 1 / 5}
STORES = 100

QUERY = """
    SELECT id, day, quantity, price, item, category, store, city
    FROM sales JOIN items USING (item) JOIN stores USING (store)
"""


def run(scale: float) -> Table:
    table = Table("joins", "recomputation")
    facts = max(10_000, int(FACTS * scale))
    with spark_session() as spark, scratch() as folder:
        wh = _warehouse(spark, folder, facts)
        _change(wh, facts, 0, SHARES[0])
        wh.refresh("sold")
        _recompute(spark, folder)
        _dimension(table, wh, facts)
        _batches(table, wh, folder, facts)
        if not wh.verify("sold"):
            raise AssertionError("sold is not equal to its query")
    return table


def _warehouse(spark: SparkSession, folder: Path, facts: int) -> Warehouse:
    wh = vk.open(str(folder / "warehouse"), spark)
    items = max(10, facts // 1000)
    tables = {
        "stores": (_stores(spark), "store"),
        "items": (_items(spark, items), "item"),
        "sales": (_sales(spark, 0, facts, items), "id"),
    }
    for name, (rows, key) in tables.items():
        rows.write.parquet(str(folder / name))
        wh.create_table(name, spark.read.parquet(str(folder / name)), key=[key], check=False)
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    wh.create_view("sold", QUERY)
    return wh


def _stores(spark: SparkSession) -> DataFrame:
    return spark.range(STORES).selectExpr("CAST(id AS INT) AS store", "concat('city ', id % 20) AS city")


def _items(spark: SparkSession, number: int) -> DataFrame:
    rows = spark.range(number)
    return rows.selectExpr("CAST(id AS INT) AS item", "concat('category ', id % 50) AS category")


def _sales(spark: SparkSession, first: int, last: int, items: int) -> DataFrame:
    return spark.range(first, last, numPartitions=4).selectExpr(
        "id",
        f"CAST(id % {STORES} AS INT) AS store",
        f"CAST(pmod(hash(id), {items}) AS INT) AS item",
        "date_add(DATE '2024-01-01', CAST(id % 365 AS INT)) AS day",
        "CAST(1 + pmod(hash(id, 7), 9) AS INT) AS quantity",
        "CAST(pmod(hash(id, 11), 100000) / 100 AS DECIMAL(10, 2)) AS price",
    )


def _change(wh: Warehouse, facts: int, number: int, share: float) -> None:
    """Batch `number`: new keys beyond all others; old ones by their remainder, so that they are spread."""
    third = max(1, int(facts * share / 3))
    step = facts // third
    old = wh.spark.range(third).selectExpr(f"id * {step} + {2 * number} AS id")
    first = facts * (10 + number)
    with wh.transaction() as t:
        t.insert("sales", _sales(wh.spark, first, first + third, max(10, facts // 1000)), check=False)
        t.delete("sales", old, check=False)
        t.update("sales", old.selectExpr("id + 1 AS id", "CAST(50 AS INT) AS quantity"), check=False)


def _recompute(spark: SparkSession, folder: Path) -> float:
    """The query over plain files, written to plain files."""
    return seconds(lambda: spark.sql(QUERY).write.mode("overwrite").parquet(str(folder / "recomputed")))


def _dimension(table: Table, wh: Warehouse, facts: int) -> None:
    """Every changed view row has to be found among the facts: they may be read once, not more."""
    with wh.transaction() as t:
        t.update("items", [{"item": 5, "category": "another"}])
    report = wh.refresh("sold")
    rows = Comparison(report[0].rows_read, facts)
    table.add("a changed row of items", rows, limit=1.1, unit="rows", **_cost(report))


def _batches(table: Table, wh: Warehouse, folder: Path, facts: int) -> None:
    ratios = []
    for number, share in enumerate(SHARES, start=1):
        _change(wh, facts, number, share)
        report = wh.refresh("sold")
        cost = Comparison(report.seconds, _recompute(wh.spark, folder))
        ratios.append(cost.ratio)
        table.add(f"{share:.2%} changed", cost, LIMITS.get(share), **_cost(report))
    table.add("crossover", Comparison(100 * crossover(SHARES, ratios), 100), unit="%")


def _cost(report: Report) -> dict[str, object]:
    view = report[0]
    return {
        "rows_read": view.rows_read,
        "rows_written": view.rows_written,
        "actions": report.actions,
        "strategy": view.strategy,
        "seconds": round(report.seconds, 2),
    }


def crossover(shares: Sequence[float], ratios: Sequence[float]) -> float:
    """The share at which the ratio is 1, on the straight line through the logarithms of two neighbours."""
    if ratios[0] >= 1:
        return shares[0]
    for (low, below), (high, above) in zip(
        zip(shares, ratios, strict=True), zip(shares[1:], ratios[1:], strict=True), strict=False
    ):
        if above >= 1:
            part = -math.log(below) / (math.log(above) - math.log(below))
            return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))
    return 1.0
