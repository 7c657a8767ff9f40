"""Streams into tables: each batch once, whatever happens; changes in any order make what the source has."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

import viewkeeper as vk
from tests.warehouse.rows import bag, rows
from viewkeeper.errors import (
    DuplicateKey,
    InvalidChange,
    InvalidOption,
    NullNotAllowed,
    UnknownColumn,
    WrongType,
)
from viewkeeper.spark.ordered_changes import memory_name

ONCE = {"availableNow": True}
CHANGES = "id INT, x STRING, seq INT, op STRING"


class Source:
    """A folder of JSON files, of which a stream takes one in each batch."""

    def __init__(self, spark: SparkSession, path: Path, columns: str = CHANGES) -> None:
        self.spark, self.path, self.columns, self.files = spark, path, columns, 0
        path.mkdir()

    def add(self, *changes: dict[str, Any]) -> None:
        text = "\n".join(json.dumps(change) for change in changes)
        (self.path / f"{self.files:03}.json").write_text(text)
        self.files += 1

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.schema(self.columns).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.path))


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path / "source")


def drained(warehouse: vk.Warehouse, source: Source, *arguments: Any, **options: Any) -> None:
    """Applies all files that are there."""
    query = warehouse.ingest(source.stream(), *arguments, trigger=ONCE, **options)
    assert query.awaitTermination(120)


def forget_last_batch(checkpoint: Path) -> None:
    """As if the process had been killed after the commit, before Spark noted it."""
    newest = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def test_a_batch_is_applied_once(warehouse: vk.Warehouse, source: Source) -> None:
    warehouse.sql("CREATE TABLE t (id INT, x STRING, seq INT, op STRING)")
    warehouse.create_view("v", "SELECT x, COUNT(*) AS n FROM t GROUP BY x")
    source.add({"id": 1, "x": "a"}, {"id": 1, "x": "a"})
    source.add({"id": 2, "x": "b"})
    drained(warehouse, source, "t", refresh=True)
    assert rows(warehouse.table("v")) == bag([("a", 2), ("b", 1)])
    version = warehouse.version
    forget_last_batch(Path(warehouse.path, "streams", "t"))
    drained(warehouse, source, "t", refresh=True)
    assert warehouse.version == version, "the batch is in the log, and was left out"
    warehouse.compact()
    warehouse.vacuum(keep=1)
    forget_last_batch(Path(warehouse.path, "streams", "t"))
    source.add({"id": 3, "x": "b"})
    drained(vk.open(warehouse.path, spark=warehouse.spark), source, "t", refresh=True)
    assert rows(warehouse.table("v")) == bag([("a", 2), ("b", 2)])
    assert warehouse.verify("v")
    drained(warehouse, source, "t", checkpoint=f"{warehouse.path}/streams/another")
    assert warehouse.table("t").count() == 8, "another checkpoint is another stream"


def test_a_stream_that_loses_a_race_is_applied_all_the_same(
    warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.sql("CREATE TABLE t (id INT PRIMARY KEY, x STRING, seq INT)")
    other, log, lost = vk.open(warehouse.path, spark=warehouse.spark), warehouse._work.log, []
    commit = log.commit

    def late(entry: Any) -> bool:
        if not lost:
            lost.append(entry)
            other.apply_changes("t", [{"id": 1, "x": "newer", "seq": 9}], order="seq")
        return commit(entry)

    monkeypatch.setattr(log, "commit", late)
    changes = [{"id": 1, "x": "older", "seq": 2}, {"id": 2, "x": "b", "seq": 1}]
    warehouse.apply_changes("t", changes, order="seq")
    assert rows(warehouse.table("t")) == bag([(1, "newer", 9), (2, "b", 1)])


@pytest.mark.parametrize("holds_order", [True, False], ids=["order in the table", "order in the memory"])
def test_changes_in_any_order_make_what_the_source_has(
    warehouse: vk.Warehouse, source: Source, holds_order: bool
) -> None:
    columns = "id INT PRIMARY KEY, x STRING" + (", seq INT" if holds_order else "")
    warehouse.sql(f"CREATE TABLE t ({columns})")
    warehouse.create_view("v", "SELECT x, COUNT(*) AS n, MIN(id) AS least FROM t GROUP BY x")
    chance = random.Random(holds_order)
    history = [
        {"id": chance.randrange(8), "x": chance.choice("abc"), "seq": n, "op": chance.choice("uuud")}
        for n in range(40)
    ]
    arrived = sorted(history, key=lambda change: change["seq"] + chance.randrange(25))
    cut = chance.randrange(10, 30)
    source.add(*arrived[:cut])
    source.add(*arrived[cut - 5 :])
    drained(warehouse, source, "t", "cdc", order="seq", delete="op = 'd'", refresh=True)
    last = {change["id"]: change for change in history}
    expected = [
        (c["id"], c["x"], *([c["seq"]] if holds_order else [])) for c in last.values() if c["op"] != "d"
    ]
    assert rows(warehouse.table("t")) == bag(expected)
    assert warehouse.verify("v")
    assert [one.name for one in warehouse.status()] == ["t", "v"]
    warehouse.drop("v")
    warehouse.drop("t")
    assert memory_name("t") not in warehouse._work.log.latest().relations


def test_an_upsert_keeps_what_it_does_not_give(warehouse: vk.Warehouse, source: Source) -> None:
    warehouse.sql("CREATE TABLE t (id INT PRIMARY KEY, x STRING, note STRING)")
    warehouse.sql("INSERT INTO t VALUES (1, 'old', 'kept')")
    source.columns = "id INT, x STRING"
    source.add({"id": 1, "x": "new"}, {"id": 2, "x": "b"}, {"id": 2, "x": "b"})
    drained(warehouse, source, "t", "upsert")
    assert rows(warehouse.table("t")) == bag([(1, "new", "kept"), (2, "b", None)])
    source.add({"id": 3, "x": "one"}, {"id": 3, "x": "other"})
    with pytest.raises(StreamingQueryException, match=r"(?s)would occur twice.*'id': 3"):
        drained(warehouse, source, "t", "upsert")


def test_what_means_nothing_is_named(warehouse: vk.Warehouse, source: Source) -> None:
    warehouse.sql("CREATE TABLE t (id INT PRIMARY KEY, x STRING, seq INT)")
    warehouse.sql("CREATE TABLE u (id INT, x STRING)")
    before = warehouse.version

    def wrong(error: type[Exception], match: str, changes: Sequence[Any], **options: Any) -> None:
        with pytest.raises(error, match=match):
            warehouse.apply_changes(options.pop("name", "t"), changes, **options)

    row = {"id": 1, "x": "a", "seq": 1}
    frame = warehouse.spark.createDataFrame
    wrong(NullNotAllowed, "'__order_1': 1", frame([(None, "a", 1)], "id INT, x STRING, seq INT"), order="seq")
    wrong(NullNotAllowed, "'id': 1", frame([(1, "a", None)], "id INT, x STRING, seq INT"), order="seq")
    wrong(DuplicateKey, "says which is last", [row, {**row, "x": "b"}], order="seq")
    wrong(UnknownColumn, "lack rank, of their order", [row], order="rank")
    wrong(UnknownColumn, "lack id, of their key", [{"x": "a"}])
    wrong(WrongType, "t has no column more", [{**row, "more": 1}], order="seq")
    wrong(InvalidChange, "it has no primary key", [{"id": 1}], name="u")
    wrong(InvalidOption, "envelope cannot be 'avro'", [row], envelope="avro")
    with pytest.raises(InvalidChange, match="is no stream"):
        warehouse.ingest(frame([row]), "t")
    for mode, options, match in (("merge", {}, "one of append"), ("cdc", {}, "needs an order")):
        with pytest.raises(InvalidOption, match=match):
            warehouse.ingest(source.stream(), "t", mode, **options)
    assert warehouse.version == before
    warehouse.apply_changes("t", [row], order="seq")
    for other in (("seq", "x"), ()):
        wrong(InvalidOption, "Earlier ones were ordered by seq", [row], order=other)


def test_debezium(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(8, 2), day DATE, at TIMESTAMP)")

    def message(op: str, lsn: int, before: Any = None, after: Any = None, **more: Any) -> Row:
        told = {"op": op, "before": before, "after": after, "source": {"lsn": lsn, "db": "shop"}, **more}
        return Row(key='{"id": 1}', value=json.dumps({"schema": {}, "payload": told} if lsn % 2 else told))

    def applied(*messages: Row) -> None:
        frame = warehouse.spark.createDataFrame(list(messages), "key STRING, value STRING")
        warehouse.apply_changes("t", frame, order="source.lsn", envelope="debezium")

    def image(key: int, price: Any, day: Any = None, at: Any = None) -> dict[str, Any]:
        return {"id": key, "price": price, "day": day, "at": at}

    applied(
        message("r", 1, None, image(1, "1.50", 19782, "2024-02-29T10:00:00Z")),
        message("c", 2, None, image(2, 7)),
        message("d", 5, {"id": 3}),
        Row(key='{"id": 3}', value=None),
        message("m", 6),
    )
    applied(message("u", 4, None, image(2, "8.25", "2024-03-01")), message("c", 3, None, image(3, "1")))
    found = warehouse.table("t").selectExpr("id", "CAST(price AS STRING)", "CAST(day AS STRING)", "hour(at)")
    assert rows(found) == bag([(1, "1.50", "2024-02-29", 10), (2, "8.25", "2024-03-01", None)])
    applied(message("d", 8))
    assert warehouse.table("t").count() == 1, "a deletion without its row is known by the key of the message"
    for wrong, why in (
        (message("u", 9, None, image(1, "AMg=")), "does not fit"),
        (message("u", 9, None, image(1, "1", None, 1709200000000)), "a time that is a number"),
        (message("u", 9, None, image(1, "1", "__debezium_unavailable_value")), "did not send"),
        (message("t", 9), "truncated"),
        (Row(key=None, value="{]"), "no envelope"),
        (message("u", 9), "no row"),
        (message("u", 9, None, {"id": 1, "Price": "1", "day": None, "at": None}), "no value for some column"),
    ):
        with pytest.raises(WrongType, match=f"(?s)cannot be read.*{why}"):
            applied(wrong)
    nothing = warehouse.spark.range(1).selectExpr("'' AS value")
    with pytest.raises(InvalidOption, match=r"cannot be ordered by source\.name"):
        warehouse.apply_changes("t", nothing, order="source.name", envelope="debezium")
