"""katsis15 section 7.2: ID-based against tuple-based diffs and recomputation, on devices and their parts.

    SELECT did, SUM(price) AS cost
    FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)
    WHERE category = 'phone' GROUP BY did

Prices of d parts change. Varied are d, the number of joins (one to one with devices_parts, without the
selection), the selectivity of the category, and the fan-out of a part; for each the other parameters
have the defaults of Figure 11b. The scale 50 gives the sizes of the paper. Both views are in one
warehouse and see the same changes, in turn. The four plots of Figure 12 go to `bench-results/ids.png`.

A refresh of either kind takes four times as long in a young JVM as in one that has compiled what it does:
both go through many rounds that are not measured before the first that is, and some before each point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Comparison, Table, scratch, seconds, spark_session
from viewkeeper.warehouse import Warehouse

ENTITIES = 100_000
RESULTS = Path("bench-results")
REPEAT = 5
WARM_UP = 40
"""Rounds that are not measured at the beginning of a session."""
BEFORE_EACH = 4
"""Rounds that are not measured before each point."""
STRATEGIES = ("id-diffs", "tuple-diffs")


@dataclass(frozen=True)
class Setting:
    """Figure 11b: the parameters and their defaults."""

    diff: int = 200
    joins: int = 2
    selectivity: int = 20
    fan_out: int = 10
    selects: bool = True

    @property
    def query(self) -> str:
        more = "".join(f" JOIN r{n} USING (did, pid)" for n in range(1, self.joins - 1))
        where = " WHERE category = 'phone'" if self.selects else ""
        tables = f"parts JOIN devices_parts USING (pid){more} JOIN devices USING (did)"
        return f"SELECT did, SUM(price) AS cost FROM {tables}{where} GROUP BY did"

    @property
    def data(self) -> tuple[int, ...]:
        """What the tables and views depend on: settings that agree in it can share a warehouse."""
        return (self.joins, self.selectivity, self.fan_out, self.selects)


SWEEPS: Mapping[str, tuple[Setting, ...]] = {
    "diff size": tuple(Setting(diff=d) for d in (100, 200, 300, 400, 500)),
    "joins": tuple(Setting(joins=j, selects=False) for j in (2, 3, 4, 5, 6)),
    "selectivity": tuple(Setting(selectivity=s) for s in (6, 12, 25, 50, 100)),
    "fan-out": tuple(Setting(fan_out=f) for f in (5, 10, 15, 20, 25)),
}
VALUES: Mapping[str, Callable[[Setting], int]] = {
    "diff size": lambda s: s.diff,
    "joins": lambda s: s.joins,
    "selectivity": lambda s: s.selectivity,
    "fan-out": lambda s: s.fan_out,
}
LIMITS = {("diff size", 200): 1 / 4}


@dataclass(frozen=True)
class Cost:
    """One way of refreshing: seconds, rows read of base tables and of stored state, rows written."""

    seconds: float
    base_rows: int = 0
    state_rows: int = 0
    rows_written: int = 0
    actions: int = 0


@dataclass(frozen=True)
class Outcome:
    """Medians of the same changes handled in three ways."""

    ids: Cost
    tuples: Cost
    recomputation: float

    @property
    def speedup(self) -> float:
        return self.tuples.seconds / self.ids.seconds

    def add_to(self, table: Table, what: str, limit: float | None = None) -> None:
        table.add(
            what,
            Comparison(self.ids.seconds, self.tuples.seconds),
            limit,
            anew=f"{self.recomputation:.2f} s",
            base_rows=self._both(lambda cost: cost.base_rows),
            state_rows=self._both(lambda cost: cost.state_rows),
            written=self._both(lambda cost: cost.rows_written),
            actions=self._both(lambda cost: cost.actions),
        )

    def _both(self, of: Callable[[Cost], int]) -> str:
        return f"{of(self.ids):,} / {of(self.tuples):,}"


def run(scale: float) -> Table:
    table = Table("ids", "tuple-based")
    size = max(200, int(ENTITIES * scale))
    outcomes: dict[str, list[tuple[int, Outcome]]] = {}
    with spark_session() as spark:
        _warmed_up(spark, min(size, ENTITIES))
        for sweep, settings in SWEEPS.items():
            outcomes[sweep] = []
            for setting, outcome in _swept(spark, settings, size):
                value = VALUES[sweep](setting)
                outcomes[sweep].append((value, outcome))
                outcome.add_to(table, f"{sweep} {value}", LIMITS.get((sweep, value)))
    plot(outcomes, RESULTS / "ids.png")
    return table


def _warmed_up(spark: SparkSession, size: int) -> None:
    with scratch() as folder:
        wh = _warehouse(spark, folder, Setting(), size)
        _measured(wh, folder, Setting(), size, 0, unmeasured=WARM_UP)


def _swept(spark: SparkSession, settings: Sequence[Setting], size: int) -> Iterator[tuple[Setting, Outcome]]:
    """The outcomes of a sweep, as they are measured; a warehouse is made anew only where the data differ."""
    for data in dict.fromkeys(setting.data for setting in settings):
        with scratch() as folder:
            own = [setting for setting in settings if setting.data == data]
            wh = _warehouse(spark, folder, own[0], size)
            for number, setting in enumerate(own):
                yield setting, _measured(wh, folder, setting, size, number)
            verified(wh, own[0])


def verified(wh: Warehouse, setting: Setting) -> None:
    for strategy in STRATEGIES:
        if not wh.verify(view_name(strategy)):
            raise AssertionError(f"the view kept by {strategy} is not equal to {setting.query}")


def view_name(strategy: str) -> str:
    return f"by_{strategy.replace('-', '_')}"


def _warehouse(spark: SparkSession, folder: Path, setting: Setting, size: int) -> Warehouse:
    wh = vk.open(str(folder / "warehouse"), spark)
    keys = {"parts": ["pid"], "devices": ["did"]}
    for name, rows in _tables(spark, setting, size).items():
        rows.write.parquet(str(folder / name))
        key = keys.get(name, ["did", "pid"])
        wh.create_table(name, spark.read.parquet(str(folder / name)), key=key, check=False)
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    for strategy in STRATEGIES:
        wh.create_view(view_name(strategy), setting.query, strategy=strategy)
    return wh


def _tables(spark: SparkSession, setting: Setting, size: int) -> dict[str, DataFrame]:
    """Every part is in `fan_out` devices: factor and step have no divisor in common with their number. The
    factor is large: Spark's hashes of pairs of numbers that are near each other meet."""
    number = spark.range(size)
    pairs = spark.range(size * setting.fan_out, numPartitions=4).selectExpr(
        f"CAST((id % {size} * 48271 + (id div {size}) * 7919 + 13) % {size} AS INT) AS did",
        f"CAST(id % {size} AS INT) AS pid",
    )
    phone = f"CASE WHEN pmod(hash(id), 100) < {setting.selectivity} THEN 'phone' ELSE 'tablet' END"
    extra = {
        f"r{n}": pairs.selectExpr("did", "pid", f"did + {n} AS x{n}") for n in range(1, setting.joins - 1)
    }
    return {
        "parts": number.selectExpr("CAST(id AS INT) AS pid", "CAST(10 + id % 90 AS INT) AS price"),
        "devices": number.selectExpr("CAST(id AS INT) AS did", f"{phone} AS category"),
        "devices_parts": pairs,
        **extra,
    }


def _measured(
    wh: Warehouse, folder: Path, setting: Setting, size: int, number: int, unmeasured: int = BEFORE_EACH
) -> Outcome:
    diff = min(setting.diff, size // 2)

    def change(round_: int) -> None:
        step, place = size // diff, 7 * (number * (BEFORE_EACH + REPEAT) + round_)
        chosen = wh.spark.range(diff).selectExpr(f"CAST((id * {step} + {place}) % {size} AS INT) AS pid")
        priced = chosen.distinct().selectExpr("pid", f"CAST(1000 + {place} + pid % 50 AS INT) AS price")
        with wh.transaction() as t:
            t.update("parts", priced, check=False)

    def recompute() -> None:
        wh.spark.sql(setting.query).write.mode("overwrite").parquet(str(folder / "recomputed"))

    return contest(wh, {s: view_name(s) for s in STRATEGIES}, change, recompute, unmeasured)


def contest(
    wh: Warehouse,
    views: Mapping[str, str],
    change: Callable[[int], None],
    recompute: Callable[[], None],
    unmeasured: int = 0,
) -> Outcome:
    """Each round: one change, then each way of refreshing; who begins takes turns."""
    costs: dict[str, list[Cost]] = {strategy: [] for strategy in views}
    anew: list[float] = []
    for number in range(unmeasured + REPEAT):
        change(number)
        for strategy in sorted(views, reverse=number % 2 == 1):
            costs[strategy].append(_refreshed(wh, views[strategy], strategy))
        if number >= unmeasured:
            anew.append(seconds(recompute))
    costs = {strategy: found[unmeasured:] for strategy, found in costs.items()}
    ids, tuples = (_middle(costs[strategy]) for strategy in STRATEGIES)
    if ids.base_rows:
        raise AssertionError(f"ID-based diffs read {ids.base_rows} rows of base tables")
    return Outcome(ids, tuples, median(anew))


def _refreshed(wh: Warehouse, view: str, strategy: str) -> Cost:
    report = wh.refresh(view)
    [entry] = report
    if entry.strategy != strategy:
        raise AssertionError(f"{view} was refreshed by {entry.strategy}: {entry.reason}")
    tables = {status.name for status in wh.status() if status.kind == "table"}
    reads = {name: rows for name, rows in entry.details["reads"].items() if not name.endswith("__delta")}
    base = sum(rows for name, rows in reads.items() if name.removesuffix("__old") in tables)
    state = sum(reads.values()) - base
    return Cost(report.seconds, base, state, entry.rows_written, report.actions)


def _middle(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


def plot(outcomes: Mapping[str, Sequence[tuple[int, Outcome]]], path: Path) -> None:
    """Figure 12: times of both as bars, the speedup above them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(outcomes), figsize=(4 * len(outcomes), 3.2))
    for axis, (sweep, points) in zip(axes, outcomes.items()):
        places = range(len(points))
        axis.bar([p - 0.2 for p in places], [o.ids.seconds for _, o in points], 0.4, label="ID-based")
        axis.bar([p + 0.2 for p in places], [o.tuples.seconds for _, o in points], 0.4, label="tuple-based")
        for place, (_, outcome) in zip(places, points):
            height = max(outcome.ids.seconds, outcome.tuples.seconds)
            axis.annotate(f"{outcome.speedup:.1f}×", (place, height), ha="center", va="bottom")
        axis.set_xticks(list(places), [str(value) for value, _ in points])
        axis.set_xlabel(sweep)
        axis.set_ylabel("seconds")
        axis.legend(frameon=False, fontsize=8)
        axis.margins(y=0.2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
