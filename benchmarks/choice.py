"""Whether the planner chooses well: twenty views, batches from 0.001 % to 100 %, every strategy run.

A batch of a share s updates that share of the sales. Before each refresh every strategy that could do it is
run and timed on a draft that nobody publishes; then the warehouse is refreshed by its own choice, which
teaches it. A choice is good where it is the fastest or within 15 % of it; the time of a choice includes
planning it. Where a choice looks bad, all strategies are run three more times in turn, and the medians
count: the same refresh differs by some tenths of a second from one run to the next on a shared machine.

    good choices        the share of (view, batch) where the choice is good: at least 90 %
    worst               the worst ratio of a choice to recomputing
    all choices         total seconds, against always recomputing, and against the best fixed strategy
    twenty views        a one-row change of one million rows: actions, and seconds against recomputing all
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, compare, scratch, spark_session
from viewkeeper.refresh.measure import Measurement, measured
from viewkeeper.warehouse import Warehouse

ROWS = 2_000_000
SMALL_ROWS = 1_000_000
ITEMS, STORES = 2_000, 200
SHARES = (0.00001, 0.0001, 0.001, 0.01, 0.1, 0.5, 1.0)
WITHIN = 1.15
AGAIN = 3
"""How often a choice that looks bad is measured again."""

VIEWS = {
    "filtered": "SELECT id, store, item, price FROM sales WHERE quantity > 8",
    "projected": "SELECT store, quantity FROM sales WHERE price > 900",
    "with_item": "SELECT id, category, price FROM sales JOIN items USING (item) WHERE quantity = 9",
    "three_way": """
        SELECT id, category, city FROM sales JOIN items USING (item) JOIN stores USING (store)
        WHERE price < 50""",
    "left_joined": "SELECT i.item, s.id FROM items i LEFT JOIN sales s ON s.item = i.item AND s.price > 995",
    "by_store": "SELECT store, COUNT(*) AS n, SUM(price) AS total FROM sales GROUP BY store",
    "by_item": "SELECT item, COUNT(*) AS n, AVG(price) AS mean FROM sales GROUP BY item",
    "by_pair": "SELECT store, item, COUNT(*) AS n, SUM(quantity) AS q FROM sales GROUP BY store, item",
    "extremes": "SELECT item, MIN(price) AS lo, MAX(price) AS hi FROM sales GROUP BY item",
    "by_category": "SELECT category, SUM(price) AS t FROM sales JOIN items USING (item) GROUP BY category",
    "by_city": "SELECT city, COUNT(*) AS n FROM sales JOIN stores USING (store) GROUP BY city",
    "city_and_day": "SELECT city, day, SUM(price) AS t FROM sales JOIN stores USING (store) GROUP BY ALL",
    "total": "SELECT COUNT(*) AS n, SUM(price) AS total FROM sales",
    "busy_items": "SELECT item, COUNT(*) AS n FROM sales GROUP BY item HAVING COUNT(*) > 1000",
    "pairs": "SELECT DISTINCT store, item FROM sales",
    "items_sold": """
        SELECT item, category FROM items
        WHERE EXISTS (SELECT 1 FROM sales WHERE sales.item = items.item AND price > 990)""",
    "items_unsold": "SELECT item FROM items WHERE item NOT IN (SELECT item FROM sales WHERE price > 999)",
    "either": "SELECT item FROM sales WHERE quantity = 9 UNION SELECT item FROM items WHERE category = 'c1'",
    "medians": "SELECT store, MEDIAN(price) AS m FROM sales GROUP BY store",
    "buyers": "SELECT day, COUNT(DISTINCT store) AS stores FROM sales GROUP BY day",
    "dearest": "SELECT id, price FROM sales ORDER BY price DESC, id LIMIT 100",
    "best_day": "SELECT MAX(total) AS best FROM (SELECT day, SUM(price) AS total FROM sales GROUP BY day)",
}


@dataclass(frozen=True)
class Case:
    share: float
    found: Measurement

    @property
    def times(self) -> dict[str, float]:
        return {one.strategy: one.seconds for one in self.found.results}

    @property
    def is_good(self) -> bool:
        """The fastest, or within 15 % of it."""
        return self.found.ratio <= WITHIN

    @property
    def against_recomputing(self) -> float:
        return self.found.chosen.seconds / self.times["recompute"]


def run(scale: float) -> Table:
    table = Table("choice", "recomputing")
    with spark_session() as spark, scratch() as folder:
        wh = vk.open(str(folder / "warehouse"), spark)
        rows = max(10_000, int(ROWS * scale))
        _make(wh, spark, rows)
        for name, sql in VIEWS.items():
            wh.create_view(name, sql)
        _warm(wh, spark, rows)
        cases = [case for share in SHARES for case in _measured(table, wh, spark, rows, share)]
        _summed_up(table, cases)
    with spark_session() as spark, scratch() as folder:
        _fixed_cost(table, vk.open(str(folder / "small"), spark), spark, max(10_000, int(SMALL_ROWS * scale)))
    return table


def _make(wh: Warehouse, spark: SparkSession, rows: int) -> None:
    wh.create_table("sales", _sales(spark.range(rows)), key=["id"])
    items = f"CAST(id AS INT) AS item, concat('c', id % {ITEMS // 40}) AS category"
    wh.create_table("items", spark.range(ITEMS).selectExpr(*_split(items)), key=["item"])
    stores = f"CAST(id AS INT) AS store, concat('city ', id % {STORES // 4}) AS city"
    wh.create_table("stores", spark.range(STORES).selectExpr(*_split(stores)), key=["store"])


def _split(text: str) -> list[str]:
    first, second = text.split(", concat")
    return [first, f"concat{second}"]


def _sales(numbers: DataFrame, salt: int = 0) -> DataFrame:
    """A sale is a function of its number and of how often it was changed."""
    return numbers.selectExpr(
        "id",
        f"CAST(pmod(hash(id), {STORES}) AS INT) AS store",
        f"CAST(pmod(hash(id, 3), {ITEMS}) AS INT) AS item",
        "date_add(DATE '2024-01-01', CAST(id % 365 AS INT)) AS day",
        f"CAST(1 + pmod(hash(id, 7, {salt}), 9) AS INT) AS quantity",
        f"CAST(pmod(hash(id, 11, {salt}), 100000) / 100 AS DECIMAL(10, 2)) AS price",
    )


def _change(wh: Warehouse, spark: SparkSession, rows: int, share: float, salt: int) -> None:
    number = max(1, int(rows * share))
    with wh.transaction() as t:
        t.update("sales", _sales(spark.range(0, rows, max(1, rows // number)).limit(number), salt))


def _warm(wh: Warehouse, spark: SparkSession, rows: int) -> None:
    """Plans are compiled, and the planner learns what an incremental refresh costs here."""
    for salt in (1, 2):
        _change(wh, spark, rows, 0.001, salt)
        wh.refresh(policy="incremental")


def _measured(table: Table, wh: Warehouse, spark: SparkSession, rows: int, share: float) -> Iterable[Case]:
    _change(wh, spark, rows, share, 100 + SHARES.index(share))
    cases = []
    for name in VIEWS:
        found = measured(wh._work, name)
        if found is not None and not Case(share, found).is_good:
            found = measured(wh._work, name, AGAIN)
        if found is not None:
            cases.append(Case(share, found))
            print(f"{share:.3%} {_told(cases[-1])}", file=sys.stderr, flush=True)
    wh.refresh()
    wh.compact("sales")
    _report_batch(table, share, cases)
    return cases


def _report_batch(table: Table, share: float, cases: list[Case]) -> None:
    chosen = sum(case.found.chosen.seconds for case in cases)
    again = sum(case.times["recompute"] for case in cases)
    table.add(
        f"{share:.3%} of the sales",
        Comparison(chosen, again),
        good=f"{sum(case.is_good for case in cases)} of {len(cases)}",
        recomputed=sum(case.found.chosen.strategy == "recompute" for case in cases),
        not_good=", ".join(_told(case) for case in cases if not case.is_good),
    )


def _told(case: Case) -> str:
    chosen = case.found.chosen
    others = (f"{one.strategy} {one.seconds:.1f} s" for one in case.found.results if not one.chosen)
    return f"{case.found.view}: {chosen.strategy} {chosen.seconds:.1f} s; {', '.join(others)}"


def _summed_up(table: Table, cases: list[Case]) -> None:
    bad = sum(not case.is_good for case in cases)
    table.add("choices that are not good", Comparison(bad, len(cases)), limit=0.1, unit="")
    worst = max(cases, key=lambda case: case.against_recomputing)
    table.add(
        "the worst choice",
        Comparison(worst.found.chosen.seconds, worst.times["recompute"]),
        limit=WITHIN,
        not_good=f"{worst.found.view} at {worst.share:.3%}",
    )
    chosen = sum(case.found.chosen.seconds for case in cases)
    table.add("all choices", Comparison(chosen, sum(case.times["recompute"] for case in cases)), limit=1.0)
    best = min(_fixed(cases).values())
    table.add("all choices, against the best fixed strategy", Comparison(chosen, best))


def _fixed(cases: list[Case]) -> dict[str, float]:
    """Total seconds of each strategy used wherever it can be, and recomputation elsewhere."""
    totals: dict[str, float] = defaultdict(float)
    for strategy in {name for case in cases for name in case.times}:
        totals[strategy] = sum(case.times.get(strategy, case.times["recompute"]) for case in cases)
    return totals


def _fixed_cost(table: Table, wh: Warehouse, spark: SparkSession, rows: int) -> None:
    """Twenty views over one table, and a change of one row."""
    wh.create_table("sales", _sales(spark.range(rows)), key=["id"])
    for number in range(20):
        key = ("store", "item", "day", "quantity")[number % 4]
        wh.create_view(
            f"v{number}", f"SELECT {key}, SUM(price + {number}) AS total FROM sales GROUP BY {key}"
        )
    salts = iter(range(1000, 2000))

    def ours() -> None:
        _change(wh, spark, rows, 0.0, next(salts))
        actions.append(wh.refresh().actions)

    def theirs() -> None:
        _change(wh, spark, rows, 0.0, next(salts))
        wh.refresh(policy="full")

    actions: list[int] = []
    ours()
    cost = compare(ours, theirs)
    table.add("twenty views, one row changed", cost, limit=1 / 3)
    table.add("the same, Spark actions", Comparison(actions[-1], 1), limit=25, unit="actions")
