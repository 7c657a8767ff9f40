"""Published tables with partitions, an order of rows, and a change data feed."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from viewkeeper.algebra.schema import Column
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import Unsupported
from viewkeeper.publishing import publisher
from viewkeeper.publishing.layout import Layout
from viewkeeper.publishing.publisher import Publisher
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

COLUMNS = (Column("id", "int"), Column("day", "date"), Column("region", "string"), Column("q", "double"))
SCHEMA = pa.schema([(column.name, stored_type(column.type)) for column in COLUMNS])
STATE = RelationState("relations/v", COLUMNS, 0, 0)
DAY, NEXT = datetime.date(1999, 12, 31), datetime.date(2026, 1, 1)

Row = tuple[Any, ...]
FIRST: list[Row] = [(1, DAY, "a", 0.5), (2, DAY, "b=/ ü", -0.0), (3, None, None, None), (4, NEXT, "a", 2.0)]


def table_of(rows: list[Row]) -> pa.Table:
    return pa.table([pa.array([row[n] for row in rows], f.type) for n, f in enumerate(SCHEMA)], schema=SCHEMA)


def bag(table: pa.Table, *names: str) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.select(names or SCHEMA.names).to_pylist())


def by_polars(address: str) -> pa.Table:
    return pl.scan_delta(address).collect().to_arrow().cast(SCHEMA)


def by_deltalake(address: str) -> pa.Table:
    found = QueryBuilder().register("t", DeltaTable(address)).execute("SELECT id, day, region, q FROM t")
    return pa.table(found.read_all()).cast(SCHEMA)


def log_of(folder: Path, version: int) -> list[dict[str, Any]]:
    lines = (folder / "v" / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("partition", [("day",), ("region", "day")])
@pytest.mark.parametrize("vectors", [True, False], ids=["merge-on-read", "copy-on-write"])
def test_each_file_holds_one_partition(tmp_path: Path, vectors: bool, partition: tuple[str, ...]) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",), Layout(vectors, partition=partition))
    table = writer.replace(1, STATE, table_of(FIRST))
    address = str(tmp_path / "v")
    assert DeltaTable(address).metadata().partition_columns == list(partition)
    changes: list[tuple[list[Row], list[Row]]] = [
        ([(5, NEXT, "c", 1.0), (2, NEXT, "a", 3.0)], [FIRST[1]]),
        ([(3, DAY, "b=/ ü", 9.0)], [FIRST[2]]),
        ([], [(5, NEXT, "c", 1.0), FIRST[0]]),
    ]
    rows = list(FIRST)
    for version, (came, went) in enumerate(changes, start=2):
        rows = [row for row in rows if row not in went] + came
        table = writer.change(table, version, STATE, table_of(came), table_of(went))
        for read in (by_polars, by_deltalake):
            assert bag(read(address)) == bag(table_of(rows)), (read.__name__, version)
    values = {dict(file.partition)["day"] for file in table.files}
    assert values <= {None, "1999-12-31", "2026-01-01"}
    assert writer.current() == table


def test_a_change_touches_its_partition_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "MOST_SMALL", 3)
    layout = Layout(partition=("region",))
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("region", "id"), layout)
    regions = [f"r{number}" for number in range(6)]
    table = writer.replace(
        1, STATE, table_of([(n, DAY, region, 1.0) for region in regions for n in range(3)])
    )
    before = {file.path: file for file in table.files}
    table = writer.change(table, 2, STATE, table_of([(7, DAY, "r3", 1.0)]), table_of([(1, DAY, "r3", 1.0)]))
    kept = [file for file in table.files if before.get(file.path) == file]
    assert {dict(file.partition)["region"] for file in kept} == set(regions) - {"r3"}
    table = writer.change(table, 3, STATE, table_of([(8, DAY, "r3", 1.0)]), table_of([]))
    assert Counter(dict(file.partition)["region"] for file in table.files) == Counter(regions), (
        "folded by part"
    )
    with pytest.raises(Unsupported, match="empty text"):
        writer.change(table, 4, STATE, table_of([(9, DAY, "", 1.0)]), table_of([]))


def test_rows_are_in_the_order_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewkeeper.publishing.files.ROWS_OF_FILE", 50)
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",), Layout(cluster=("q",)))
    table = writer.replace(1, STATE, table_of([(n, DAY, "a", float(n * 37 % 200)) for n in range(200)]))
    assert sorted(file.ranges["q"] for file in table.files) == [(0, 49), (50, 99), (100, 149), (150, 199)]


@pytest.mark.parametrize("partition", [(), ("region",)])
def test_readers_of_the_change_feed_see_what_became_of_rows(
    tmp_path: Path, partition: tuple[str, ...]
) -> None:
    layout = Layout(vectors=False, feed=True, partition=partition)
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",), layout)
    table = writer.replace(1, STATE, table_of(FIRST))
    came, went = [(1, DAY, "a", 7.0), (6, NEXT, "b", 0.0)], [FIRST[0], FIRST[3]]
    table = writer.change(table, 2, STATE, table_of(came), table_of(went))
    table = writer.change(table, 3, STATE, table_of([(8, NEXT, "b", 0.0)]), table_of([]))
    assert not [action for action in log_of(tmp_path, 2) if "cdc" in action], "new files tell enough"
    feed = DeltaTable(str(tmp_path / "v")).load_cdf(starting_version=1).read_all()
    found = pa.table(feed).select(["id", "q", "_change_type", "_commit_version"]).to_pylist()
    assert Counter(tuple(row.values()) for row in found) == Counter(
        [
            (1, 0.5, "update_preimage", 1),
            (1, 7.0, "update_postimage", 1),
            (4, 2.0, "delete", 1),
            (6, 0.0, "insert", 1),
            (8, 0.0, "insert", 2),
        ]
    )
    assert bag(by_polars(str(tmp_path / "v"))) == bag(
        table_of([*FIRST[1:3], (1, DAY, "a", 7.0), (6, NEXT, "b", 0.0), (8, NEXT, "b", 0.0)])
    )


def test_vectors_and_the_feed_are_features_that_writers_must_know(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", (), Layout(feed=True))
    table = writer.replace(1, STATE, table_of(FIRST))
    writer.change(table, 2, STATE, table_of([]), table_of(FIRST[:1]))
    [protocol] = [action["protocol"] for action in log_of(tmp_path, 0) if "protocol" in action]
    assert protocol["readerFeatures"] == ["deletionVectors"]
    assert protocol["writerFeatures"] == ["deletionVectors", "changeDataFeed"]
    [change] = [action["cdc"] for action in log_of(tmp_path, 1) if "cdc" in action]
    assert pl.read_parquet(tmp_path / "v" / change["path"]).rows() == [(*FIRST[0], "delete")]
