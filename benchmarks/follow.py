"""The retail views over a Delta table that others own: 20 million sales in 50 files, merges of 10,000 rows.

Each merge, by `deltalake`, changes 8,000 of the newest tenth of the sales and adds 2,000. Measured in one
run, in turn, medians of a few rounds after some that are not measured:

    refresh      finds out what changed, and brings the four views up to date
    recompute    the four views through the lattice, by the same engine; at least 8 times slower is wanted
    by hand      a DataFrame job that reads the change feed of the commit, and joins it with each summary,
                 which it writes anew; it lets a minimum stand that an update has taken
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from benchmarks.retail import Shop, written_by_hand
from viewkeeper.demo import retail
from viewkeeper.spark import retail_rows as data

ROWS, FILES, MERGED = 20_000_000, 50, 10_000
WARM_UP, ROUNDS = 3, 3
FIRST_DAY, DAYS = 18_262, 365
MOST = 1 / 8


@dataclass(frozen=True)
class Round:
    """Seconds of one merge's refresh and of the same by hand, and what the refresh did."""

    refresh: float
    by_hand: float
    rows_read: int
    how: str


def run(scale: float) -> Table:
    table = Table("follow", "the other")
    rows, merged = max(10_000, int(ROWS * scale)), max(100, int(MERGED * scale))
    with spark_session(memory="4g") as spark, scratch() as folder:
        shop, lake = _shop(spark, folder, rows)
        rounds = [_round(shop, lake, merged, number) for number in range(WARM_UP + ROUNDS)][WARM_UP:]
        wrong = [name for name in retail.VIEWS if not shop.wh.verify(name)]
        if wrong:
            raise AssertionError(f"not equal to their queries: {', '.join(wrong)}")
        shop.wh.refresh(policy="full")
        recompute = median(seconds(lambda: shop.wh.refresh(policy="full")) for _ in range(ROUNDS))
    refresh, hand = (median(times) for times in ([r.refresh for r in rounds], [r.by_hand for r in rounds]))
    told = {"rows_read": rounds[-1].rows_read, "how": rounds[-1].how}
    what = f"{rows:,} sales in {FILES} files, merges of {merged:,}"
    table.add(f"{what}: recompute", Comparison(refresh, recompute), MOST, **told)
    table.add("  the change feed by hand", Comparison(refresh, hand), **told)
    return table


def sales(first: int, count: int, seed: int) -> pa.Table:
    """Sales by their numbers; a store, an item and a day each."""
    dice = np.random.default_rng(seed)
    days = dice.integers(FIRST_DAY, FIRST_DAY + DAYS, count, dtype=np.int32)
    return pa.table(
        {
            "saleID": np.arange(first, first + count, dtype=np.int64),
            "storeID": dice.integers(1, 101, count, dtype=np.int32),
            "itemID": dice.integers(1, 1001, count, dtype=np.int32),
            "date": pa.array(days).cast(pa.date32()),
            "qty": dice.integers(1, 10, count, dtype=np.int32),
        }
    )


def _shop(spark: SparkSession, folder: Path, rows: int) -> tuple[Shop, Path]:
    """A warehouse with stores and items of its own, which follows the sales."""
    lake, part = folder / "lake", -(-rows // FILES)
    feed = {"delta.enableChangeDataFeed": "true"}
    for number in range(FILES):
        batch = sales(number * part, min(part, rows - number * part), number)
        write_deltalake(str(lake), batch, mode="append", configuration=feed)
    wh = vk.open(str(folder / "warehouse"), spark)
    for name, frame in (("stores", data.stores(spark)), ("items", data.items(spark))):
        wh.sql(retail.TABLES[name])
        frame.write.parquet(str(folder / name))
        with wh.transaction() as t:
            t.insert(name, spark.read.parquet(str(folder / name)), check=False)
    wh.follow("pos", str(lake))
    for name in retail.VIEWS:
        retail.create_view(wh, name)
        wh.table(name).write.parquet(str(folder / name))
    return Shop(wh, folder, rows), lake


def _round(shop: Shop, lake: Path, merged: int, number: int) -> Round:
    _merge(lake, shop.rows, merged, number)
    reports = []
    refresh = seconds(lambda: reports.append(shop.wh.refresh(policy="incremental")))
    [told] = reports[0].followed
    hand = seconds(lambda: written_by_hand(shop, _feed(shop.wh.spark, lake)))
    read = told.rows_read + sum(entry.rows_read for entry in reports[0])
    return Round(refresh, hand, read, told.how)


def _merge(lake: Path, rows: int, merged: int, number: int) -> None:
    """Changes four fifths of the rows, among the newest tenth, and adds a fifth."""
    changed, added = merged * 4 // 5, merged - merged * 4 // 5
    chosen = np.random.default_rng(number).choice(rows // 10, changed, replace=False) + (rows - rows // 10)
    new = sales(rows + number * added, added, 1000 + number)
    old = sales(0, changed, 2000 + number).set_column(0, "saleID", pa.array(np.sort(chosen), pa.int64()))
    merge = DeltaTable(str(lake)).merge(
        pa.concat_tables([old, new]), "t.saleID = s.saleID", source_alias="s", target_alias="t"
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _feed(spark: SparkSession, lake: Path) -> DataFrame:
    """The rows of the newest commit's change feed, with their signs."""
    newest = max((lake / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    files = [str(lake / action["cdc"]["path"]) for action in actions if "cdc" in action]
    is_new = F.col("_change_type").isin("insert", "update_postimage")
    return spark.read.parquet(*files).withColumn("sign", F.when(is_new, 1).otherwise(-1))
