"""What shadow checks cost: the same refreshes with and without a check of 1 % of every changed view.

A batch updates one sale in a hundred. Refreshes with and without a check take turns, each after a batch of
its own, and the medians are compared; wanted is at most 10 % more.

    1 % of each view     an incremental refresh of all views, and a check of one bucket in a hundred
    all of each view     the same with a check of everything, for comparison
"""

from __future__ import annotations

import time
from statistics import median

from pyspark.sql import SparkSession

import viewkeeper as vk
from benchmarks.choice import VIEWS, _change, _make
from benchmarks.harness import Comparison, Table, scratch, spark_session
from viewkeeper.warehouse import Warehouse

ROWS = 2_000_000
BATCH = 0.01
ROUNDS = 5
CHECKED = ("by_store", "by_item", "by_pair", "extremes", "by_category", "city_and_day", "filtered", "pairs")
"""Groups, joins and rows of one large table, each with a key to be sampled by."""


def run(scale: float) -> Table:
    table = Table("check", "a refresh without a check")
    rows = max(10_000, int(ROWS * scale))
    with spark_session() as spark, scratch() as folder:
        wh = vk.open(str(folder / "warehouse"), spark)
        _make(wh, spark, rows)
        for name in CHECKED:
            wh.create_view(name, VIEWS[name])
        _seconds(wh, spark, rows, 1, (0, 0.01))
        for what, share, limit in (("1 % of each view", 0.01, 1.1), ("all of each view", 1.0, None)):
            times = [_seconds(wh, spark, rows, 10 + number, (0, share)) for number in range(ROUNDS)]
            without, with_check = (median(one[place] for one in times) for place in (0, 1))
            table.add(what, Comparison(with_check, without), limit=limit, views=len(CHECKED))
    return table


def _seconds(
    wh: Warehouse, spark: SparkSession, rows: int, salt: int, shares: tuple[float, ...]
) -> list[float]:
    """How long one refresh takes with each share of checks."""
    found = []
    for number, share in enumerate(shares):
        _change(wh, spark, rows, BATCH, 2 * salt + number)
        started = time.perf_counter()
        wh.refresh(policy="incremental", check=share)
        found.append(time.perf_counter() - started)
        wh.compact()
    return found
