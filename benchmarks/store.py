"""What storing costs: loading, scanning, and committing, against plain Parquet files of Spark.

    bulk load           create_table of 10 million rows           against  DataFrame.write.parquet
    full scan           wh.table(t), nothing pending               against  the plain files
    full scan           the same with 1 % of the rows deleted      against  the plain files
    one-row commit      Spark actions
    many commits        the last ten of 200                        against  those around the tenth

A table without a key has its deletions found by whole rows, one with a key by its key; both are measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, compare, scratch, spark_session
from viewkeeper.warehouse import Warehouse

ROWS = 10_000_000
COMMITS = 200
SMALL_TABLE = 100_000


def run(scale: float) -> Table:
    table = Table("store", "plain Spark")
    with spark_session() as spark, scratch() as folder:
        wh = vk.open(str(folder / "warehouse"), spark)
        sales = rows_of(spark, max(1000, int(ROWS * scale)))
        _load(table, wh, sales, folder)
        _scan(table, wh, spark.read.parquet(str(folder / "plain")))
        _commit_one(table, wh)
        small = rows_of(spark, max(1000, int(SMALL_TABLE * scale)))
        _commit_many(table, wh, small, max(20, int(COMMITS * scale)))
    return table


def rows_of(spark: SparkSession, number: int) -> DataFrame:
    """Sales with a key; the values repeat as those of a shop do."""
    return spark.range(0, number, numPartitions=4).selectExpr(
        "id",
        "CAST(id % 100 AS INT) AS store",
        "CAST(pmod(hash(id), 10000) AS INT) AS item",
        "date_add(DATE '2024-01-01', CAST(id % 365 AS INT)) AS day",
        "CAST(1 + pmod(hash(id, 7), 9) AS INT) AS quantity",
        "CAST(pmod(hash(id, 11), 100000) / 100 AS DECIMAL(10, 2)) AS price",
    )


def _load(table: Table, wh: Warehouse, sales: DataFrame, folder: Path) -> None:
    numbers = count(1)

    def ours() -> None:
        wh.create_table(f"load_{next(numbers)}", sales)

    def theirs() -> None:
        sales.write.mode("overwrite").parquet(str(folder / "plain"))

    theirs()
    table.add("bulk load", compare(ours, theirs), limit=1.5)
    wh.create_table("bag", sales)
    checked = compare(lambda: wh.create_table("keyed", sales, key=["id"]), theirs, repeat=1)
    table.add("bulk load, key checked", checked)


def _scan(table: Table, wh: Warehouse, plain: DataFrame) -> None:
    _consume(plain)
    _consume(wh.table("bag"))
    table.add("full scan", _scans(wh, "bag", plain), limit=1.2)
    for name in ("bag", "keyed"):
        gone = plain.where("pmod(id, 100) = 50")
        with wh.transaction() as t:
            t.delete(name, gone)
        _consume(wh.table(name))
        table.add(f"full scan, 1 % pending deletes, {name}", _scans(wh, name, plain), limit=2.5)


def _scans(wh: Warehouse, name: str, plain: DataFrame) -> Comparison:
    return compare(lambda: _consume(wh.table(name)), lambda: _consume(plain), repeat=5)


def _consume(frame: DataFrame) -> None:
    """Every column of every row is produced, and nothing is written."""
    frame.write.format("noop").mode("overwrite").save()


def _commit_one(table: Table, wh: Warehouse) -> None:
    """Spark actions, as every report counts them."""
    new = -1
    for name in ("bag", "keyed"):
        before, started = wh._work.engine.actions, time.perf_counter()
        with wh.transaction() as t:
            t.insert(name, [_row(new)])
        spent = round(time.perf_counter() - started, 2)
        actions = Comparison(wh._work.engine.actions - before, 1)
        table.add(f"one-row commit, {name}", actions, limit=3, unit="actions", seconds=spent)


def _commit_many(table: Table, wh: Warehouse, sales: DataFrame, commits: int) -> None:
    wh.create_table("small", sales, key=["id"])
    wh.create_table("warm", sales, key=["id"])
    list(_commits(wh, "warm", 10))
    times = list(_commits(wh, "small", commits))
    cost = Comparison(median(times[-10:]), median(times[5:15]))
    table.add(f"the last ten of {commits} commits, against the tenth", cost, limit=1.5)


def _commits(wh: Warehouse, name: str, number: int) -> Iterator[float]:
    """Each inserts three rows, updates one, and deletes one that came before."""
    for commit in range(1, number + 1):
        started = time.perf_counter()
        first = -10 * commit
        with wh.transaction() as t:
            t.insert(name, [_row(first - offset) for offset in range(3)])
            t.update(name, [{"id": commit, "quantity": 100 + commit}])
            if commit > 1:
                t.delete(name, [{"id": first + 10}])
        yield time.perf_counter() - started


def _row(key: int) -> dict[str, Any]:
    return {"id": key, "store": 1, "item": 1, "day": None, "quantity": 1, "price": None}
