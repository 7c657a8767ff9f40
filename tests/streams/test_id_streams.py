"""Views kept by ID-based diffs, under random streams of changes of keyed tables, equal their queries.

Rows are inserted, deleted, updated in conditional and in other columns, and given other keys, in
several tables at once; some views are refreshed with the commit, others later, some by tuple-based
diffs. The oracle is the views' own text, run by Spark over rows that Viewkeeper never saw.
`VIEWKEEPER_STREAMS=40` tries half as many; there is one at least. In the long form a stream changes all
views, and random ones as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.maintenance.id_diffs.views import SCHEMAS, Tables, random_change, random_tables, random_view
from tests.sizes import SHORT, SIZES
from tests.streams.test_streams import collected, differences, stored
from viewkeeper.algebra.counts import plain
from viewkeeper.sql.render import render

STREAMS = max(1, SIZES.streams // 2)
FIRST = int(os.environ.get("VIEWKEEPER_FIRST_STREAM", "0"))
IS_LONG = SIZES.streams > SHORT.streams

VIEWS = {
    "joined": "SELECT r.k, s.l, r.a, s.d FROM r JOIN s ON r.k = s.k WHERE r.c > 0",
    "hidden_ids": "SELECT a + b AS x, c FROM r WHERE b IS NOT NULL",
    "sums": """SELECT r.a, SUM(s.d) AS total, COUNT(*) AS n, AVG(s.e) AS mean
               FROM r JOIN s ON r.k = s.k GROUP BY r.a""",
    "extremes": "SELECT t.g, MAX(s.d) AS most, MIN(t.f) AS least FROM s JOIN t ON s.e = t.m GROUP BY t.g",
    "united": "SELECT k, a FROM r UNION ALL SELECT m, f FROM t WHERE g > 0",
    "lonely": "SELECT k, b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND s.d > 0)",
    "pairs": "SELECT DISTINCT r.a, t.f FROM r JOIN t ON r.b = t.m",
    "sizes": "SELECT n, COUNT(*) AS groups FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) GROUP BY n",
    "all_rows": "SELECT SUM(b) AS total, COUNT(*) AS n FROM r",
    "without": "SELECT a, b FROM r EXCEPT SELECT d, e FROM s",
}


def opened(path: Path, spark: SparkSession, random: Random, views: dict[str, str]) -> vk.Warehouse:
    warehouse = vk.open(str(path), spark=spark)
    for schema in SCHEMAS.values():
        columns = ", ".join(f"{c.name} INT" for c in schema.columns)
        warehouse.sql(f"CREATE TABLE {schema.name} ({columns}, PRIMARY KEY ({', '.join(schema.key)}))")
    for number, (name, sql) in enumerate(views.items()):
        strategy = "tuple-diffs" if random.random() < 0.25 else "id-diffs"
        refresh = "on_commit" if number % 4 == 3 else "deferred"
        warehouse.create_view(name, sql, strategy=strategy, refresh=refresh, populate=False)
    return warehouse


def random_texts(random: Random, count: int) -> Iterator[tuple[str, str]]:
    """Random plans as Spark writes them."""
    for number in range(count):
        yield f"random{number}", render(plain(random_view(random)))


def change(warehouse: vk.Warehouse, before: Tables, after: Tables) -> None:
    """One transaction: rows of lost keys are deleted, of new keys inserted, of others updated."""
    with warehouse.transaction() as t:
        for name, schema in SCHEMAS.items():
            width = len(schema.key)
            old, new = ({row[:width]: row for row in side[name]} for side in (before, after))
            gone = [row for key, row in old.items() if key not in new]
            come = [row for key, row in new.items() if key not in old]
            other = [dict(zip(schema.names, row)) for k, row in new.items() if k in old and old[k] != row]
            for action, found in ((t.delete, gone), (t.insert, come), (t.update, other)):
                if found:
                    action(name, found)


def expected(spark: SparkSession, tables: Tables, views: dict[str, str]) -> dict[str, Any]:
    session = spark.newSession()
    for name, schema in SCHEMAS.items():
        ddl = ", ".join(f"{column} INT" for column in schema.names)
        session.createDataFrame(tables[name], ddl).createOrReplaceTempView(name)
    return collected({name: session.sql(sql) for name, sql in views.items()})


@pytest.mark.parametrize("seed", range(FIRST, FIRST + STREAMS))
def test_views_kept_by_ids_equal_their_queries(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    chosen = sorted(VIEWS) if IS_LONG else random.sample(sorted(VIEWS), 5)
    views = {name: VIEWS[name] for name in chosen} | dict(random_texts(random, 2 if IS_LONG else 0))
    warehouse = opened(tmp_path / "w", spark, random, views)
    tables: Tables = {name: [] for name in SCHEMAS}
    after = random_tables(random)
    change(warehouse, tables, after)
    warehouse.refresh()
    for number in range(SIZES.batches):
        tables = after
        after, _ = random_change(random, tables)
        change(warehouse, tables, after)
        report = warehouse.refresh()
        assert {entry.strategy for entry in report} <= {"id-diffs", "tuple-diffs", "none"}, report
        found = differences(stored(warehouse, views), expected(spark, after, views))
        assert not found, f"batch {number}, {[views[name] for name in found]}"
