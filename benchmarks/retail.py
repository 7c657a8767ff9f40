"""The four summary tables of the summary-delta paper through a day's changes: its Figure 10, (a) to (d).

    (a) (b)   10 million sales, 1,000 to 100,000 changes        (a) (c)   update-generating changes
    (c) (d)   1 to 20 million sales, 10,000 changes             (b) (d)   insertion-generating changes

Update-generating changes insert and delete sales of known stores, items and dates, half each;
insertion-generating ones are sales of a new date. Every point is measured in one run:

    propagate   all summary-deltas, along the lattice, and for as large a batch each from the changes itself:
                that is also what counting does here, whose deltas of aggregates are the same
    refresh     what propagate left is taken over and published
    recompute   the four views through the lattice, by the same engine
    by hand     a DataFrame job that joins the aggregated changes with each summary and rewrites it; it lets
                a minimum stand that a deletion has taken, which makes it faster than it may be
    DuckDB      recomputes the four views from plain Parquet on two threads

Java compiles what runs often, which makes a refresh several times faster: before anything is measured, both
kinds of changes go through several rounds of every measured size, with and without the lattice, and the views
are recomputed. Times are medians.

Four plots, as PNG and as SVG, are written into the folder `FOLDER`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from benchmarks.retail_plots import plot
from viewkeeper.demo import retail
from viewkeeper.spark import retail_rows as data
from viewkeeper.warehouse import Warehouse

FOLDER = Path("bench-results/retail")
"""Where the plots are written, below the working directory."""

ROWS = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000)
CHANGES = (1_000, 10_000, 50_000, 100_000)
BASE_ROWS, BASE_CHANGES = 10_000_000, 10_000
KINDS = ("update", "insertion")
FIRST_NEW_SALE = 1_000_000_000
"""New sales are numbered from here on, so that no point repeats those of another."""

WARM_UP = 4
"""Rounds of each kind and size that are not measured, before those that are."""

REPEAT = 3
"""How often each point is measured, both ways in turn; medians are told."""

BATCHES = 200
"""More than a shop ever sees: the sales that batch n deletes have n as the rest of their number."""

KEYS = {
    "SID_sales": ("storeID", "itemID", "date"),
    "sCD_sales": ("city", "date"),
    "SiC_sales": ("storeID", "category"),
    "sR_sales": ("region",),
}


@dataclass(frozen=True)
class Point:
    """One measured point of Figure 10; seconds."""

    kind: str
    rows: int
    changes: int
    recompute: float
    individual: float
    lattice: float
    refresh: float
    by_hand: float
    duckdb: float
    rows_read: int

    @property
    def maintenance(self) -> float:
        return self.lattice + self.refresh

    @property
    def name(self) -> str:
        return f"{self.rows:,} sales, {self.changes:,} changes ({self.kind})"


@dataclass
class Shop:
    """A warehouse of sales with the four views, the same as plain files, and where the next batch starts."""

    wh: Warehouse
    folder: Path
    rows: int
    batch: int = 0

    def changed(self, kind: str, changes: int) -> DataFrame:
        """Applies a batch; gives its rows with their signs."""
        self.batch += 1
        first = FIRST_NEW_SALE + self.batch * 1_000_000
        if kind == "insertion":
            new, gone = data.sales_of_new_day(self.wh.spark, first, changes, self.batch), None
        else:
            new = data.sales(self.wh.spark, first, changes // 2)
            count = changes - changes // 2
            step = max(self.rows // count // BATCHES, 1) * BATCHES
            gone = data.every_nth_sale(self.wh.spark, self.rows, count, self.batch, step)
        with self.wh.transaction() as t:
            t.insert("pos", new, check=False)
            if gone is not None:
                t.delete("pos", gone, check=False)
        signed = new.withColumn("sign", F.lit(1))
        return signed if gone is None else signed.unionByName(gone.withColumn("sign", F.lit(-1)))


def run(scale: float) -> Table:
    table = Table("retail", "the other")
    points: list[Point] = []
    with spark_session(memory="4g") as spark:
        for rows in _scaled(ROWS, scale, 1_000):
            with scratch() as folder:
                shop = _shop(spark, folder, rows)
                base = rows == _scaled((BASE_ROWS,), scale, 1_000)[0]
                points += _measured(shop, _scaled(CHANGES if base else (BASE_CHANGES,), scale, 20))
    _tell(table, points, scale)
    plot(points, FOLDER, _scaled((BASE_ROWS,), scale, 1_000)[0], _scaled((BASE_CHANGES,), scale, 20)[0])
    return table


def _scaled(numbers: Iterable[int], scale: float, least: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(max(least, int(number * scale)) for number in numbers))


def _shop(spark: SparkSession, folder: Path, rows: int) -> Shop:
    wh = vk.open(str(folder / "warehouse"), spark)
    retail.create_tables(wh)
    plain = {
        "stores": data.stores(spark),
        "items": data.items(spark),
        "pos": data.sales(spark, 0, rows),
    }
    with wh.transaction() as t:
        for name, frame in plain.items():
            frame.write.parquet(str(folder / name))
            t.insert(name, spark.read.parquet(str(folder / name)), check=False)
    for name in retail.VIEWS:
        retail.create_view(wh, name)
        wh.table(name).write.parquet(str(folder / name))
    return Shop(wh, folder, rows)


def _warm_up(shop: Shop, sizes: Iterable[int]) -> None:
    """What is going to be measured, without measuring it."""
    for changes in sizes:
        for kind in KINDS:
            for _ in range(WARM_UP):
                _round(shop, kind, changes)
    shop.wh.refresh(policy="full")


def _measured(shop: Shop, sizes: Iterable[int]) -> list[Point]:
    wh, sizes = shop.wh, tuple(sizes)
    _warm_up(shop, sizes)
    duck = _duckdb(shop)
    recompute = median(seconds(lambda: wh.refresh(policy="full")) for _ in range(REPEAT))
    points = []
    for changes in sizes:
        for kind in KINDS:
            rounds = [_round(shop, kind, changes) for _ in range(REPEAT)]
            individual, lattice, refresh = (median(times) for times in zip(*(r.times for r in rounds)))
            by_hand = seconds(lambda signed=rounds[-1].signed: written_by_hand(shop, signed))
            where = (kind, shop.rows, changes)
            read = rounds[-1].rows_read
            points.append(Point(*where, recompute, individual, lattice, refresh, by_hand, duck, read))
            print(points[-1], file=sys.stderr, flush=True)
    wrong = [name for name in retail.VIEWS if not wh.verify(name)]
    if wrong:
        raise AssertionError(f"not equal to their queries: {', '.join(wrong)}")
    return points


@dataclass(frozen=True)
class Round:
    """One batch propagated view by view, and another along the lattice; the latter's rows."""

    times: tuple[float, float, float]
    signed: DataFrame
    rows_read: int


def _round(shop: Shop, kind: str, changes: int) -> Round:
    wh = shop.wh
    shop.changed(kind, changes)
    individual = wh.propagate(use_lattice=False).seconds
    wh.refresh()
    signed = shop.changed(kind, changes)
    report = wh.propagate()
    times = (individual, report.seconds, wh.refresh().seconds)
    return Round(times, signed, sum(entry.rows_read for entry in report))


def _duckdb(shop: Shop) -> float:
    """Seconds to recompute the four views from plain files."""
    with duckdb.connect(config={"threads": 2}) as con:
        for name in retail.TABLES:
            con.execute(f"CREATE VIEW {name} AS FROM read_parquet('{shop.folder / name}/*.parquet')")

        def recompute() -> None:
            for name, query in retail.VIEWS.items():
                con.execute(f"CREATE OR REPLACE TABLE {name} AS {query}")

        return seconds(recompute)


def written_by_hand(shop: Shop, signed: DataFrame) -> None:
    """Each summary joined with the aggregated changes and written anew."""
    spark, folder = shop.wh.spark, shop.folder
    stores, items = (spark.read.parquet(str(folder / name)) for name in ("stores", "items"))
    changes = signed.join(F.broadcast(stores), "storeID").join(F.broadcast(items), "itemID")
    for name, keys in KEYS.items():
        extremes = [F.min("date").alias("d_min")] if name == "SiC_sales" else []
        delta = changes.groupBy(*keys).agg(
            F.sum("sign").alias("d_n"), F.sum(F.col("sign") * F.col("qty")).alias("d_q"), *extremes
        )
        merged = spark.read.parquet(str(folder / name)).join(F.broadcast(delta), list(keys), "full_outer")
        columns = [
            *keys,
            _plus("TotalCount", "d_n"),
            _plus("TotalQuantity", "d_q"),
            *([F.least("EarliestSale", "d_min").alias("EarliestSale")] if extremes else []),
        ]
        result = merged.select(*columns).where("TotalCount > 0")
        result.write.mode("overwrite").parquet(str(folder / f"{name}_by_hand"))


def _plus(name: str, delta: str) -> Column:
    return (F.coalesce(name, F.lit(0)) + F.coalesce(delta, F.lit(0))).alias(name)


def _tell(table: Table, points: list[Point], scale: float) -> None:
    [base_rows], [base_changes] = _scaled((BASE_ROWS,), scale, 1_000), _scaled((BASE_CHANGES,), scale, 20)
    largest_rows = max(point.rows for point in points)
    most_changes = max(point.changes for point in points)
    for p in points:
        is_base = (p.rows, p.changes) == (base_rows, base_changes)
        whole = Comparison(p.maintenance, p.recompute)
        table.add(f"{p.name}: recompute", whole, 1 / 8 if is_base else None, rows_read=p.rows_read)
        table.add("  refresh of the whole", Comparison(p.refresh, p.maintenance), 1 / 4 if is_base else None)
        limit = 0.6 if p.changes == most_changes else None
        table.add("  propagate without lattice (counting)", Comparison(p.lattice, p.individual), limit)
        table.add("  by hand", Comparison(p.maintenance, p.by_hand))
        limit = 1.0 if p.rows == largest_rows else None
        table.add("  DuckDB recomputing", Comparison(p.maintenance, p.duckdb), limit)
    [small] = _scaled((ROWS[1],), scale, 1_000)
    for kind in KINDS:
        times = {p.rows: p.maintenance for p in points if (p.kind, p.changes) == (kind, base_changes)}
        growth = Comparison(times[largest_rows], times[small])
        table.add(f"growth, {small:,} to {largest_rows:,} sales ({kind})", growth, 1.25)
