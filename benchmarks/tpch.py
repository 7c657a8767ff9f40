"""The 22 queries of TPC-H as views, through its refresh functions, against the queries run anew.

RF1 inserts new orders with their lineitems, RF2 deletes as many old ones; both are spread over all keys, by
a hash. `scale` is TPC-H's scale factor. Each view is refreshed alone, so that its time is its own; the rival
runs the query's text over plain Parquet files of the same size and writes the answer to Parquet. Six
batches go through both before one is measured: Java compiles what plans queries only when it has run often.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from tests.tpch.database import SCHEMAS
from tests.tpch.queries import QUERIES
from viewkeeper.warehouse import Warehouse

BUCKETS = 10_000
FRACTION = "0.0100000000"
"""Of Q11: it depends on the scale factor."""

KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
SLOWEST, TOTAL = 1.2, 1 / 3


@dataclass(frozen=True)
class Batch:
    """Orders by the buckets that a hash puts them in: `first` on for RF1, BUCKETS / 2 later for RF2."""

    name: str
    first: int
    buckets: int
    limited: bool = False

    def new(self, table: str) -> str:
        return _between(table, self.first, self.buckets)

    def old(self, table: str) -> str:
        return _between(table, self.first + BUCKETS // 2, self.buckets)


WARM_UP = tuple(Batch("0.1 %", first, 10) for first in range(0, 60, 10))
BATCHES = (Batch("0.1 %", 60, 10, limited=True), Batch("1 %", 70, 100))
WITHHELD = 170


def run(scale: float) -> Table:
    table = Table("tpch", "recomputation")
    with spark_session("3g") as spark, scratch() as folder:
        generate(folder, scale)
        fraction = f"{0.0001 / scale:.10f}"
        queries = {name: text.replace(FRACTION, fraction) for name, text in QUERIES.items()}
        wh = _warehouse(spark, folder, queries)
        for batch in WARM_UP:
            _change(wh, folder, batch)
            _measure(Table("warm-up", "recomputation"), wh, folder, queries, batch)
        for batch in BATCHES:
            _change(wh, folder, batch)
            _measure(table, wh, folder, queries, batch)
        wrong = [name for name in queries if not wh.verify(name)]
        if wrong:
            raise AssertionError(f"not equal to their queries: {', '.join(wrong)}")
    return table


def generate(folder: Path, scale: float) -> None:
    """One Parquet file for each table."""
    program = Path(sys.executable).parent / "tpchgen-cli"
    command = [str(program), "parquet", "--scale-factor", f"{scale:g}", "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def _warehouse(spark: SparkSession, folder: Path, queries: dict[str, str]) -> Warehouse:
    """Tables without the orders to come, the same as plain files for the rival, and the views."""
    wh = vk.open(str(folder / "warehouse"), spark)
    for schema in SCHEMAS:
        rows = generated(spark, folder, schema.name)
        if schema.name in KEYS:
            rows = rows.where(f"NOT ({_between(schema.name, 0, WITHHELD)})")
        wh.create_table(schema, rows, check=False)
        plain = str(folder / "plain" / schema.name)
        rows.write.parquet(plain)
        spark.read.parquet(plain).createOrReplaceTempView(schema.name)
    for name, text in queries.items():
        wh.create_view(name, text)
    return wh


def generated(spark: SparkSession, folder: Path, table: str) -> DataFrame:
    return spark.read.parquet(str(folder / f"{table}.parquet"))


def _between(table: str, first: int, buckets: int) -> str:
    return f"pmod(hash({KEYS[table]}), {BUCKETS}) BETWEEN {first} AND {first + buckets - 1}"


def _change(wh: Warehouse, folder: Path, batch: Batch) -> None:
    """RF1 and RF2 in one transaction."""
    with wh.transaction() as t:
        for table in KEYS:
            rows = generated(wh.spark, folder, table)
            t.insert(table, rows.where(batch.new(table)), check=False)
            t.delete(table, rows.where(batch.old(table)), check=False)


def _measure(table: Table, wh: Warehouse, folder: Path, queries: dict[str, str], batch: Batch) -> None:
    """Refresh and recomputation of one query after the other, so that noise hits both."""
    costs = []
    for name, text in queries.items():
        report = wh.refresh(name, policy="incremental")
        spent = seconds(lambda text=text, name=name: _recompute(wh.spark, folder, name, text))
        costs.append(Comparison(report.seconds, spent))
        detail = {
            "rows_read": report[0].rows_read,
            "rows_written": report[0].rows_written,
            "actions": report.actions,
            "strategy": report[0].strategy,
        }
        table.add(f"{name}, {batch.name}", costs[-1], SLOWEST if batch.limited else None, **detail)
    total = Comparison(sum(cost.ours for cost in costs), sum(cost.theirs for cost in costs))
    table.add(f"all, {batch.name}", total, TOTAL if batch.limited else None)


def _recompute(spark: SparkSession, folder: Path, name: str, text: str) -> None:
    spark.sql(text).write.mode("overwrite").parquet(str(folder / "recomputed" / name))
