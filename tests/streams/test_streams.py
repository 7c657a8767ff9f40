"""Views under random streams of changes equal their queries after every batch.

    oracle          stored views against the view's own text, run by Spark over plain DataFrames of
                    the rows that the stream should have led to
    differential    incremental refreshes against recomputation of the same stream, hidden state included
    two readers     rows and changes that Arrow merges, without Spark, against those that Spark does

`VIEWKEEPER_STREAMS=40 VIEWKEEPER_BATCHES=5` tries that many streams, of so many batches; by default there are
two, each on half of the shapes.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from tests.sizes import SIZES, spread
from tests.streams.changes import Batch, Stream
from tests.streams.shapes import GROUPS_OF_SHAPES, TABLES

pytestmark = pytest.mark.usefixtures("every_edge")

FIRST = int(os.environ.get("VIEWKEEPER_FIRST_STREAM", "0"))


def opened(path: Path, spark: SparkSession, shapes: Mapping[str, str]) -> vk.Warehouse:
    warehouse = vk.open(str(path), spark=spark)
    for name, columns in TABLES.items():
        warehouse.sql(f"CREATE TABLE {name} ({columns})")
    for name, sql in shapes.items():
        warehouse.create_view(name, sql, populate=False)
    return warehouse


def apply(warehouse: vk.Warehouse, batch: Batch) -> None:
    with warehouse.transaction() as t:
        for name, rows in batch.deletes.items():
            t.delete(name, rows)
        for name, rows in batch.inserts.items():
            t.insert(name, rows)


def expected(spark: SparkSession, stream: Stream, shapes: Mapping[str, str]) -> dict[str, Counter[Any]]:
    """What Spark answers to the texts themselves, over rows that Viewkeeper never saw."""
    session = spark.newSession()
    for name, columns in TABLES.items():
        schema = columns.split(", PRIMARY")[0]
        session.createDataFrame(stream.tables[name], schema).createOrReplaceTempView(name)
    answers = {}
    for name, sql in shapes.items():
        answers[name] = session.sql(sql)
        answers[name].createOrReplaceTempView(name)
    return collected(answers)


def stored(warehouse: vk.Warehouse, names: Iterable[str]) -> dict[str, Counter[Any]]:
    return collected({name: warehouse.table(name) for name in names})


def without_spark(warehouse: vk.Warehouse, names: Iterable[str]) -> dict[str, Counter[Any]]:
    return {name: counted(vk.read(warehouse.path, name).to_arrow()) for name in names}


def fed(warehouse: vk.Warehouse, names: Iterable[str]) -> dict[str, Counter[Any]]:
    """What changed since the version before the last batch."""
    return collected({name: warehouse.changes(name, warehouse.version - 2) for name in names})


def fed_without_spark(warehouse: vk.Warehouse, names: Iterable[str]) -> dict[str, Counter[Any]]:
    since = warehouse.version - 2
    return {name: counted(vk.changes(warehouse.path, name, since).to_arrow()) for name in names}


def counted(table: pa.Table) -> Counter[Any]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return Counter(tuple(map(_rounded, row)) for row in rows)


def collected(frames: Mapping[str, DataFrame]) -> dict[str, Counter[Any]]:
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda frame: frame.collect(), frames.values())
        return {n: Counter(tuple(map(_rounded, row)) for row in rows) for n, rows in zip(frames, found)}


def _rounded(value: Any) -> Any:
    """Floating-point values to nine digits; NaN as a word, since it equals nothing."""
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else float(f"{value:.8e}") + 0.0 if abs(value) > 1e-9 else 0.0


def whole(warehouse: vk.Warehouse) -> dict[str, Counter[Any]]:
    """Every stored relation of every view, hidden columns and hidden relations included."""
    entry, reader = warehouse._work.log.latest(), warehouse._work.reader
    views = entry.catalog.views.values()
    names = [name for view in views for name in (*view.state, view.name)]
    frames = {name: reader.rows(entry.relations[name]).frame for name in names}
    return collected({name: frame.select(*sorted(frame.columns)) for name, frame in frames.items()})


def differences(found: Mapping[str, Counter[Any]], wanted: Mapping[str, Counter[Any]]) -> dict[str, Any]:
    return {
        name: {"extra": dict(found[name] - wanted[name]), "missing": dict(wanted[name] - found[name])}
        for name in wanted
        if found[name] != wanted[name]
    }


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SIZES.streams))
def test_views_equal_their_queries_and_recomputation(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    shapes = GROUPS_OF_SHAPES[seed % 2]
    stream = Stream(random.Random(seed))
    warehouse = opened(tmp_path / "w", spark, shapes)
    apply(warehouse, stream.start())
    warehouse.refresh()
    for number in range(SIZES.batches):
        batch = stream.batch()
        apply(warehouse, batch)
        report = warehouse.refresh(policy="strict")
        assert {entry.strategy for entry in report} <= {"counting", "summary-delta", "none"}
        wanted = expected(spark, stream, shapes)
        assert not differences(stored(warehouse, shapes), wanted), f"batch {number}: {batch}"
        assert not differences(without_spark(warehouse, shapes), wanted), f"batch {number}: {batch}"
        some = spread(list(shapes), max(6, SIZES.some))
        assert not differences(fed_without_spark(warehouse, some), fed(warehouse, some))
    maintained = whole(warehouse)
    assert {entry.strategy for entry in warehouse.refresh(policy="full")} == {"recompute"}
    assert not differences(maintained, whole(warehouse)), "recomputation stores something else"
