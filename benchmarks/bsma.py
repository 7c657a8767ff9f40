"""katsis15 section 7.1: views over a social network, while users' tweetsnum and favornum change.

The schema of Figure 9 at 1/100 of its sizes by default; who is followed, mentioned and retweeted is
skewed. Of 100 users the two numbers change. Every view is kept by ID-based and by tuple-based diffs and
computed anew, in turn, in one warehouse. The plot of Figure 10 goes to `bench-results/bsma.png`. Many rounds
that are not measured come before those that are, as in `benchmarks/ids.py`.

    Q7, Q10, Q11, Q15, Q18    aggregates that the changes do not touch, joined with the users' numbers
    Q*1, Q*2, Q*3             sums of the numbers that change, over inputs that are cached
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from benchmarks.harness import Table, scratch, spark_session
from benchmarks.ids import RESULTS, STRATEGIES, Outcome, contest
from viewkeeper.warehouse import Warehouse

USERS = 10_000
CHANGED = 100
UNMEASURED = 12
"""Rounds of each view that are not measured; the first view has three times as many."""
DAYS = 1000
RANGE = "BETWEEN 200 AND 700"

KEYS = {
    "users": ["uid"],
    "friendlist": ["uid", "friendid"],
    "microblog": ["mid"],
    "rel_event_microblog": ["mid", "tag"],
    "mentions": ["mid", "uid"],
    "retweets": ["mid", "remid"],
}

_NUMBERS = "u.tweetsnum, u.favornum"
QUERIES: Mapping[str, str] = {
    "Q7": f"""
        SELECT u.uid, {_NUMBERS}, m.mentioned
        FROM users u JOIN (
          SELECT n.uid, COUNT(*) AS mentioned FROM mentions n JOIN microblog b ON n.mid = b.mid
          WHERE b.time {RANGE} GROUP BY n.uid
        ) m ON u.uid = m.uid""",
    "Q10": f"""
        SELECT u.uid, {_NUMBERS}, r.retweeted
        FROM users u JOIN (
          SELECT o.uid, COUNT(*) AS retweeted
          FROM retweets t JOIN microblog b ON t.mid = b.mid JOIN microblog o ON t.remid = o.mid
          WHERE b.time {RANGE} GROUP BY o.uid
        ) r ON u.uid = r.uid""",
    "Q11": f"""
        SELECT p.retweeting, p.retweeted, {_NUMBERS}, w.tweetsnum AS their_tweetsnum,
               w.favornum AS their_favornum, p.times
        FROM (
          SELECT b.uid AS retweeting, o.uid AS retweeted, COUNT(*) AS times
          FROM retweets t JOIN microblog b ON t.mid = b.mid JOIN microblog o ON t.remid = o.mid
          GROUP BY b.uid, o.uid
        ) p JOIN users u ON p.retweeting = u.uid JOIN users w ON p.retweeted = w.uid""",
    "Q15": f"""
        SELECT u.uid, {_NUMBERS}, e.blogs
        FROM users u JOIN (
          SELECT b.uid, COUNT(*) AS blogs FROM rel_event_microblog r JOIN microblog b ON r.mid = b.mid
          WHERE b.time {RANGE} GROUP BY b.uid
        ) e ON u.uid = e.uid""",
    "Q18": f"""
        SELECT p.uid, p.follower, {_NUMBERS}, p.times
        FROM (
          SELECT n.uid, f.uid AS follower, COUNT(*) AS times
          FROM mentions n JOIN microblog b ON n.mid = b.mid
          JOIN friendlist f ON f.friendid = n.uid AND f.uid = b.uid
          GROUP BY n.uid, f.uid
        ) p JOIN users u ON p.uid = u.uid""",
    "Q*1": """
        SELECT me.uid, SUM(u.tweetsnum) AS tweetsnum, SUM(u.favornum) AS favornum
        FROM users me JOIN friendlist f ON f.uid = me.uid
        JOIN friendlist g ON g.uid = f.friendid
        JOIN users u ON u.uid = g.friendid AND u.city = me.city
        GROUP BY me.uid""",
    "Q*2": """
        SELECT o.uid, SUM(u.tweetsnum) AS tweetsnum, SUM(u.favornum) AS favornum
        FROM retweets t JOIN microblog b ON t.mid = b.mid JOIN microblog o ON t.remid = o.mid
        JOIN users u ON u.uid = b.uid
        GROUP BY o.uid""",
    "Q*3": """
        SELECT r.tag, SUM(u.tweetsnum) AS tweetsnum, SUM(u.favornum) AS favornum
        FROM rel_event_microblog r JOIN microblog b ON r.mid = b.mid JOIN users u ON u.uid = b.uid
        GROUP BY r.tag""",
}
LIMITS = {name: 1 / 20 if name in ("Q10", "Q*1") else 1 / 4 for name in QUERIES}


def run(scale: float) -> Table:
    table = Table("bsma", "tuple-based")
    users = max(200, int(USERS * scale))
    outcomes: dict[str, Outcome] = {}
    with spark_session() as spark, scratch() as folder:
        wh = _warehouse(spark, folder, users)
        for number, (name, query) in enumerate(QUERIES.items()):
            outcomes[name] = _measured(wh, folder, query, users, number)
            outcomes[name].add_to(table, name, LIMITS[name])
    plot(outcomes, RESULTS / "bsma.png")
    return table


def _warehouse(spark: SparkSession, folder: Path, users: int) -> Warehouse:
    wh = vk.open(str(folder / "warehouse"), spark)
    for name, rows in _tables(spark, users).items():
        rows.write.parquet(str(folder / name))
        stored = spark.read.parquet(str(folder / name))
        wh.create_table(name, stored, key=KEYS[name], check=False)
        stored.createOrReplaceTempView(name)
    return wh


def _tables(spark: SparkSession, users: int) -> dict[str, DataFrame]:
    """Figure 9a: per user 100 friends, 20 microblogs, 4 retweets, 8 mentions and 16 events."""
    blogs = 20 * users
    popular, chosen = _skewed("hash(id, 3)", users), _skewed("hash(id, 5)", blogs)
    mentioned = _skewed("hash(id, 13)", users)
    pairs = spark.range(100 * users, numPartitions=4)
    retweets = spark.range(4 * users)
    return {
        "users": spark.range(users).selectExpr(
            "CAST(id AS INT) AS uid",
            "CONCAT('city ', pmod(hash(id), 50)) AS city",
            "CAST(pmod(hash(id, 1), 5000) AS INT) AS tweetsnum",
            "CAST(pmod(hash(id, 2), 500) AS INT) AS favornum",
        ),
        "friendlist": pairs.selectExpr(f"CAST(id % {users} AS INT) AS uid", f"{popular} AS friendid")
        .where("uid <> friendid")
        .distinct(),
        "microblog": spark.range(blogs).selectExpr(
            "CAST(id AS INT) AS mid",
            f"{_skewed('hash(id, 7)', users)} AS uid",
            f"CAST(pmod(hash(id, 9), {DAYS}) AS INT) AS time",
        ),
        "rel_event_microblog": spark.range(16 * users)
        .selectExpr(
            f"CAST(pmod(hash(id, 10), {blogs}) AS INT) AS mid", f"{_skewed('hash(id, 11)', 1000)} AS tag"
        )
        .distinct(),
        "mentions": spark.range(8 * users)
        .selectExpr(f"CAST(pmod(hash(id, 12), {blogs}) AS INT) AS mid", f"{mentioned} AS uid")
        .distinct(),
        "retweets": retweets.selectExpr(
            f"CAST(pmod(hash(id, 14), {blogs}) AS INT) AS mid", f"{chosen} AS remid"
        ).distinct(),
    }


def _skewed(noise: str, size: int) -> str:
    """Few are chosen often: the square of a number that is spread evenly."""
    even = f"(pmod({noise}, 1000003) / 1000003.0)"
    return f"CAST(FLOOR({size} * {even} * {even}) AS INT)"


def _measured(wh: Warehouse, folder: Path, query: str, users: int, number: int) -> Outcome:
    views = {strategy: f"q{number}_{strategy.replace('-', '_')}" for strategy in STRATEGIES}
    for strategy, view in views.items():
        properties = f"'viewkeeper.strategy' = '{strategy}', 'viewkeeper.caches' = 'always'"
        wh.sql(f"CREATE MATERIALIZED VIEW {view} TBLPROPERTIES ({properties}) AS {query}")

    def change(round_: int) -> None:
        step, place = max(1, users // CHANGED), 11 * (number * 100 + round_)
        chosen = wh.spark.range(min(CHANGED, users)).selectExpr(f"(id * {step} + {place}) % {users} AS uid")
        numbers = chosen.distinct().selectExpr(
            "CAST(uid AS INT) AS uid",
            f"CAST(6000 + {place} + uid % 7 AS INT) AS tweetsnum",
            f"CAST(600 + {place} + uid % 5 AS INT) AS favornum",
        )
        with wh.transaction() as t:
            t.update("users", numbers, check=False)

    def recompute() -> None:
        wh.spark.sql(query).write.mode("overwrite").parquet(str(folder / "recomputed"))

    outcome = contest(wh, views, change, recompute, 3 * UNMEASURED if number == 0 else UNMEASURED)
    for view in views.values():
        if not wh.verify(view):
            raise AssertionError(f"{view} is not equal to {query}")
        wh.drop(view)
    return outcome


def plot(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Figure 10: the speedup of every view, with the time of each way."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 3.5))
    names = list(outcomes)
    bars = axis.bar(names, [outcomes[name].speedup for name in names])
    labels = [f"{o.ids.seconds:.1f} s\n{o.tuples.seconds:.1f} s" for o in outcomes.values()]
    axis.bar_label(bars, labels, fontsize=8)
    axis.set_yscale("log")
    axis.axhline(4, linestyle=":", linewidth=1)
    axis.set_ylabel("speedup over tuple-based")
    axis.margins(y=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
