"""The 22 queries of TPC-H as views, through its refresh functions, against the queries run anew.

RF1 inserts new orders with their lineitems, RF2 deletes as many old ones; both are spread over all keys, by
a hash. `scale` is TPC-H's scale factor. Each view is refreshed alone, so that its time is its own; the rival
runs the query's text over plain Parquet files of the same size and writes the answer to Parquet. Six
batches go through both before one is measured: Java compiles what plans queries only when it has run often.
A refresh takes some tenths of a second, and one of them may meet a pause: of 0.1 % three batches are
measured, and the medians compared.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from tests.tpch.database import SCHEMAS
from tests.tpch.queries import QUERIES
from viewkeeper.report import Report
from viewkeeper.warehouse import Warehouse

BUCKETS = 10_000
FRACTION = "0.0100000000"
"""Of Q11: it depends on the scale factor."""

KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
SLOWEST, TOTAL = 1.2, 1 / 3


@dataclass(frozen=True)
class Batch:
    """Orders by the buckets that a hash puts them in: `first` on for RF1, BUCKETS / 2 later for RF2."""

    first: int
    buckets: int

    def new(self, table: str) -> str:
        return _between(table, self.first, self.buckets)

    def old(self, table: str) -> str:
        return _between(table, self.first + BUCKETS // 2, self.buckets)


WARM_UP = tuple(Batch(first, 10) for first in range(0, 60, 10))
SMALL = tuple(Batch(first, 10) for first in range(60, 90, 10))
LARGE = (Batch(90, 100),)
WITHHELD = 190


def run(scale: float) -> Table:
    table = Table("tpch", "recomputation")
    with spark_session("3g") as spark, scratch() as folder:
        generate(folder, scale)
        fraction = f"{0.0001 / scale:.10f}"
        queries = {name: text.replace(FRACTION, fraction) for name, text in QUERIES.items()}
        wh = _warehouse(spark, folder, queries)
        for batch in WARM_UP:
            _add(Table("warm-up", "recomputation"), "0.1 %", [_measured(wh, folder, queries, batch)])
        small = [_measured(wh, folder, queries, batch) for batch in SMALL]
        _add(table, "0.1 %", small, SLOWEST, TOTAL)
        _add(table, "1 %", [_measured(wh, folder, queries, batch) for batch in LARGE])
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


@dataclass(frozen=True)
class Cost:
    """What a refresh, and its recomputation, took."""

    report: Report
    recomputed: float


def _measured(wh: Warehouse, folder: Path, queries: dict[str, str], batch: Batch) -> dict[str, Cost]:
    """Refresh and recomputation of one query after the other, so that noise hits both."""
    _change(wh, folder, batch)
    costs = {}
    for name, text in queries.items():
        report = wh.refresh(name, policy="incremental")
        spent = seconds(lambda text=text, name=name: _recompute(wh.spark, folder, name, text))
        costs[name] = Cost(report, spent)
    return costs


def _add(
    table: Table,
    size: str,
    batches: list[dict[str, Cost]],
    slowest: float | None = None,
    total: float | None = None,
) -> None:
    """The medians of some batches of one size, of each query and of all."""
    costs = []
    for name in batches[0]:
        found = [batch[name] for batch in batches]
        ours, theirs = (cost.report.seconds for cost in found), (cost.recomputed for cost in found)
        costs.append(Comparison(median(ours), median(theirs)))
        report = found[-1].report
        detail = {
            "rows_read": report[0].rows_read,
            "rows_written": report[0].rows_written,
            "actions": report.actions,
            "strategy": report[0].strategy,
        }
        table.add(f"{name}, {size}", costs[-1], slowest, **detail)
    whole = Comparison(sum(cost.ours for cost in costs), sum(cost.theirs for cost in costs))
    table.add(f"all, {size}", whole, total)


def _recompute(spark: SparkSession, folder: Path, name: str, text: str) -> None:
    spark.sql(text).write.mode("overwrite").parquet(str(folder / "recomputed" / name))
