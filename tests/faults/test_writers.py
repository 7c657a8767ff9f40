"""Two writers at once: both succeed in some order, or one gets a clear error; no update is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.warehouse.rows import bag, rows
from viewkeeper import errors
from viewkeeper.storage import publish


def opened(path: Path, spark: SparkSession) -> vk.Warehouse:
    return vk.open(str(path), spark=spark)


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> Path:
    warehouse = opened(tmp_path / "w", spark)
    warehouse.create_table("t", [{"id": 1, "n": 0}], key=["id"])
    warehouse.create_view("v", "SELECT SUM(n) AS total FROM t")
    return tmp_path / "w"


def test_no_update_is_lost(spark: SparkSession, path: Path) -> None:
    writers = [opened(path, spark) for _ in range(3)]

    def add(writer: vk.Warehouse) -> None:
        writer.sql("UPDATE t SET n = n + 1 WHERE id = 1")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, writers))
    assert rows(opened(path, spark).table("t")) == bag([(1, 3)])


def test_one_key_is_inserted_once(spark: SparkSession, path: Path) -> None:
    def insert(number: int) -> str:
        try:
            with opened(path, spark).transaction() as t:
                t.insert("t", [{"id": 7, "n": number}])
        except errors.DuplicateKey:
            return "refused"
        return "inserted"

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(insert, range(2)))
    assert outcomes == ["inserted", "refused"]
    assert opened(path, spark).table("t").count() == 2


def test_a_refresh_is_published_on_top_of_a_transaction(
    spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = opened(path, spark), opened(path, spark)
    first.sql("UPDATE t SET n = 5")
    commit = first._work.log.commit

    def late(entry: object) -> bool:
        monkeypatch.setattr(first._work.log, "commit", commit)
        second.sql("UPDATE t SET n = 6")
        return commit(entry)  # type: ignore[arg-type]

    monkeypatch.setattr(first._work.log, "commit", late)
    first.refresh("v")
    assert rows(first.table("v")) == bag([(5,)])
    assert rows(first.table("t")) == bag([(1, 6)])
    assert first.verify("v")
    first.refresh("v")
    assert rows(first.table("v")) == bag([(6,)])


def test_a_writer_that_always_loses_is_told(
    spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = opened(path, spark)
    monkeypatch.setattr(publish, "ATTEMPTS", 2)
    monkeypatch.setattr(warehouse._work.log, "commit", lambda entry: False)
    with pytest.raises(errors.ConflictError, match="Other writers"):
        warehouse.sql("UPDATE t SET n = 1")
    assert rows(opened(path, spark).table("t")) == bag([(1, 0)])


def test_readers_see_the_last_published_state_while_a_refresh_runs(
    spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = opened(path, spark), opened(path, spark)
    writer.sql("UPDATE t SET n = 9")
    commit, seen = writer._work.log.commit, []

    def spy(entry: object) -> bool:
        seen.append(rows(reader.table("v")))
        return commit(entry)  # type: ignore[arg-type]

    monkeypatch.setattr(writer._work.log, "commit", spy)
    writer.refresh()
    assert seen == [bag([(0,)])]
    assert rows(reader.table("v")) == bag([(9,)])
