"""Warehouses in an object store that Spark has no connector for: a whole life, two writers, sudden ends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.stores.conftest import Bucket
from viewkeeper.spark import stored_relations
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.storage.objects import Folder

SUMS = "SELECT store, SUM(qty) AS q, COUNT(*) AS n, MAX(day) AS d FROM pos GROUP BY store"
COLUMNS = "id INT, store STRING, qty INT, day DATE, tags ARRAY<STRING>, PRIMARY KEY (id)"


@pytest.fixture
def opened(bucket: Bucket, spark: SparkSession) -> Callable[[], vk.Warehouse]:
    """Opens the warehouse of a bucket, as another process would; tasks do all reading and writing."""

    def open_it() -> vk.Warehouse:
        warehouse = vk.open(bucket.url, spark, storage_options=bucket.options)
        engine = warehouse._work.engine
        engine.limits = replace(engine.limits, written_by_driver=0, changes_held=0)
        return warehouse

    return open_it


def rows(bucket: Bucket, name: str, version: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of a table or view, read without Spark."""
    found = vk.read(bucket.url, name, version, storage_options=bucket.options).to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def test_a_whole_life(bucket: Bucket, opened: Callable[[], vk.Warehouse]) -> None:
    wh = opened()
    wh.sql(f"CREATE TABLE pos ({COLUMNS})")
    wh.sql(
        "INSERT INTO pos SELECT CAST(id AS INT), IF(id % 7 = 6, NULL, concat('s', id % 7)),"
        " CAST(id % 5 AS INT), DATE '2024-01-01', array('x', NULL) FROM range(200)"
    )
    wh.sql(f"CREATE MATERIALIZED VIEW sums TBLPROPERTIES ('viewkeeper.publish' = 'true') AS {SUMS}")
    assert "Arrow reads and writes s3://" in str(wh.explain("sums"))
    assert "no connector for s3a" in wh.explain("sums").files
    before = wh.version
    wh.sql("UPDATE pos SET qty = 100 WHERE id = 7")
    wh.sql("DELETE FROM pos WHERE id < 5")
    wh.sql("INSERT INTO pos (id, store) VALUES (1000, 'new')")
    assert [entry.view for entry in wh.refresh()] == ["sums"]
    assert wh.verify("sums")
    assert wh.table("pos").where("id IN (7, 8)").select("qty").orderBy("id").collect() == [(100,), (3,)]
    assert wh.table("sums", version=before).where("store = 's0'").collect()[0].n == 29
    assert vk.changes(bucket.url, "sums", before, storage_options=bucket.options).to_arrow().num_rows == 6
    shown = rows(bucket, "sums")
    again = opened()
    again.compact()
    assert sorted((tuple(row) for row in again.table("sums").collect()), key=repr) == shown
    assert rows(bucket, "sums") == shown
    table = DeltaTable(again.published["sums"], storage_options=bucket.options)
    published = pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())
    assert sorted((tuple(row.values()) for row in published.to_pylist()), key=repr) == shown
    assert again.verify_published("sums")
    folder = Folder(bucket.url, options=bucket.options.items())
    folder.replace("relations/gone/data/left.parquet", b"of a writer that was killed")
    assert again.vacuum(keep=1) >= 1
    assert folder.size("relations/gone/data/left.parquet") is None
    assert again.table("pos").count() == 196
    secret = bucket.options["aws_secret_access_key"].encode()
    assert not [path for path, _ in folder.listed("") if secret in folder.read(path)]


def test_two_writers_lose_nothing(bucket: Bucket, opened: Callable[[], vk.Warehouse]) -> None:
    first, second = opened(), opened()
    first.sql("CREATE TABLE pos (id INT, qty INT)")
    first.create_view("total", "SELECT SUM(qty) AS q FROM pos", refresh="on_commit")

    def insert(number: int) -> None:
        with (first, second)[number % 2].transaction() as t:
            t.insert("pos", [(number, 1)])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(insert, range(4)))
    assert rows(bucket, "pos") == [(number, 1) for number in range(4)]
    assert rows(bucket, "total") == [(4,)]


class Killed(BaseException):
    """The end of a process, as far as the store can tell."""


def test_a_sudden_end_leaves_the_old_state_or_the_new_one(
    bucket: Bucket, opened: Callable[[], vk.Warehouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = opened()
    wh.sql("CREATE TABLE pos (id INT, qty INT, PRIMARY KEY (id))")
    wh.sql("INSERT INTO pos VALUES (0, 0)")
    wh.create_view("total", "SELECT SUM(qty) AS q FROM pos", publish=True)
    steps = [(Folder, "create"), (SparkEngine, "write"), (stored_relations, "commit_main")]
    due = 0

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal due
            due -= 1
            if due == 0:
                raise Killed
            return call(*arguments, **options)

        return run

    with monkeypatch.context() as patched:
        for owner, name in steps:
            patched.setattr(owner, name, dying(getattr(owner, name)))
        for step in count(1):
            known, due = rows(bucket, "pos"), step
            new = sorted([*known, (step, step)], key=repr)
            try:
                with opened().transaction() as t:
                    t.insert("pos", [(step, step)])
                wh.refresh()
            except Killed:
                assert rows(bucket, "pos") in (known, new)
                continue
            break
    assert step > 5, "some steps were reached"
    wh.refresh()
    assert rows(bucket, "total") == [(sum(qty for _, qty in rows(bucket, "pos")),)]
    assert wh.verify_published("total")
