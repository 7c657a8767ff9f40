"""Iceberg tables written by pyiceberg: after each change views equal the query over the newest snapshot."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, StringType, UUIDType

import viewkeeper as vk
from viewkeeper.errors import NotFound, Unsupported
from viewkeeper.storage.deletion_vectors import rows_of
from viewkeeper.storage.following.iceberg_files import deleted_places, vector_of
from viewkeeper.storage.following.iceberg_format import IcebergFormat, catalog_options
from viewkeeper.storage.following.state import Followed
from viewkeeper.storage.relation import DataFile

TURNS = ("append", "delete", "overwrite")
SUMS = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM ice GROUP BY k"


def rows(ids: range, k: int | None = None) -> pa.Table:
    own = list(ids)
    return pa.table(
        {
            "id": pa.array(own, pa.int64()),
            "k": pa.array([number % 3 if k is None else k for number in own], pa.int32()),
            "v": pa.array([None if number % 5 == 0 else number for number in own], pa.int64()),
        }
    )


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}


@pytest.fixture
def catalog(properties: dict[str, str]) -> Catalog:
    found = load_catalog("test", **properties)
    found.create_namespace("db")
    return found


def follow(warehouse: vk.Warehouse, properties: dict[str, str], **more: Any) -> None:
    given = {"catalog": "test", **properties}
    warehouse.follow("ice", "db.ice", format="iceberg", storage_options=given, **more)


def fitting(table: Table, ids: range) -> pa.Table:
    """Rows for a table that may have other columns by now: these are NULL."""
    own, wanted = rows(ids), table.schema().as_arrow()
    found = [own[f.name] if f.name in ("id", "k") else pa.nulls(len(own), f.type) for f in wanted]
    return pa.table(found, schema=wanted) if "note" in wanted.names else own


def evolved(table: Table) -> None:
    """Another column of the same name, and one more."""
    with table.update_schema() as change:
        change.rename_column("v", "w")
    with table.update_schema() as change:
        change.add_column("v", LongType())
        change.delete_column("w")
        change.add_column("note", StringType())


def changed(table: Table, turn: str, following: int, dice: random.Random) -> None:
    match turn:
        case "append":
            table.append(fitting(table, range(following, following + 10)))
        case "delete":
            table.delete(f"id = {dice.randrange(following)}")
        case "overwrite":
            table.overwrite(fitting(table, range(3, 7)), overwrite_filter="id >= 3 and id < 7")
        case "schema":
            evolved(table)
        case "partition":
            with table.update_spec() as spec:
                spec.add_identity("k")
        case "back":
            known = table.metadata.snapshots[1].snapshot_id
            table.manage_snapshots().set_current_snapshot(snapshot_id=known).commit()


def bag(followed: Followed, files: Iterable[DataFile]) -> Counter[tuple[Any, ...]]:
    """The signed rows of some files, columns found by their numbers."""
    found: Counter[tuple[Any, ...]] = Counter()
    for file in files:
        held = pq.read_table(file.path)
        names = {int(field.metadata[b"PARQUET:field_id"]): field.name for field in held.schema}
        numbers = [field.number for field in followed.fields]
        empty = [None] * held.num_rows
        columns = [held[names[n]].to_pylist() if n in names else empty for n in numbers]
        assert file.part is not None
        for row in zip(*columns, strict=True):
            found[row] += file.part.sign
    return found


def net(*bags: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    total: Counter[tuple[Any, ...]] = Counter()
    for one in bags:
        total.update(one)
    return Counter({row: count for row, count in total.items() if count})


def test_random_histories(catalog: Catalog, properties: dict[str, str]) -> None:
    """Files of each snapshot, and of each difference, against pyiceberg's own reading; no Spark."""
    form, given = IcebergFormat(), {"catalog": "test", **properties}.items()
    options = tuple(catalog_options("db.ice", given, ()).items())
    table, dice, following = catalog.create_table("db.ice", schema=rows(range(1)).schema), random.Random(4), 0
    last = form.observed("", options, form.newest("", options)).followed
    turns = [
        "append",
        "append",
        *dice.choices(TURNS, k=6),
        "schema",
        "partition",
        "append",
        "overwrite",
        "back",
    ]
    for turn in turns:
        changed(table, turn, following, dice)
        following += 10 * (turn == "append")
        table = catalog.load_table("db.ice")
        now = form.observed("", options, form.newest("", options), last).followed
        held = [column.to_pylist() for column in table.scan().to_arrow().columns]
        assert net(bag(now, form.files(now))) == Counter(zip(*held, strict=True))
        if now.fields == last.fields:
            between = form.difference(last, now, 1).files
            assert net(bag(now, form.files(last)), bag(now, between)) == net(bag(now, form.files(now))), turns
        last = now


def test_views_follow_the_newest_snapshot(
    warehouse: vk.Warehouse, catalog: Catalog, properties: dict[str, str]
) -> None:
    table, dice, following = catalog.create_table("db.ice", schema=rows(range(1)).schema), random.Random(4), 0
    follow(warehouse, properties)
    assert warehouse.table("ice").count() == 0
    warehouse.create_view("sums", SUMS)
    for turn in ("append", "append", "overwrite", "schema", "append"):
        changed(table, turn, following, dice)
        following += 10 * (turn == "append")
        table = catalog.load_table("db.ice")
        report = warehouse.refresh(check=1.0, policy="incremental")
        held = table.scan().to_arrow().group_by("k").aggregate([([], "count_all"), ("v", "sum")])
        wanted = Counter((row["k"], row["count_all"], row["v_sum"]) for row in held.to_pylist())
        assert Counter(tuple(row) for row in warehouse.table("sums").collect()) == wanted, turn
    assert report.of("sums").details["reads"]["ice__delta"] == 10


def test_snapshots_that_are_gone_and_tables_that_are_others(
    warehouse: vk.Warehouse, catalog: Catalog, properties: dict[str, str]
) -> None:
    table = catalog.create_table("db.ice", schema=rows(range(1)).schema)
    table.append(rows(range(10)))
    follow(warehouse, properties, key=["id"])
    warehouse.create_view("sums", SUMS)
    table.append(rows(range(10, 20)))
    assert (warehouse.status()[0].versions_behind, warehouse.status()[1].stale) == (1, True)
    warehouse.refresh()
    warehouse.refresh(at={"ice": 1})
    assert warehouse.table("ice").count() == 10
    first = table.metadata.snapshots[0].snapshot_id
    catalog.load_table("db.ice").maintenance.expire_snapshots().by_id(first).commit()
    report = warehouse.refresh(check=1.0)
    assert report.of("sums").reason.code in ("input-replaced", "incremental")
    catalog.drop_table("db.ice")
    catalog.create_table("db.ice", schema=rows(range(1)).schema).append(rows(range(3)))
    report = warehouse.refresh(check=1.0)
    assert report.of("sums").reason.code == "input-replaced"
    assert sum(row.n for row in warehouse.table("sums").collect()) == 3
    catalog.drop_table("db.ice")
    with pytest.raises(NotFound, match=r"no Iceberg table db\.ice"):
        warehouse.refresh()


def test_what_is_refused(warehouse: vk.Warehouse, catalog: Catalog, properties: dict[str, str]) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

    catalog.create_table(
        "db.ice", schema=Schema(NestedField(1, "u", UUIDType()), NestedField(2, "i", IntegerType()))
    )
    with pytest.raises(Unsupported, match="u has the type uuid"):
        follow(warehouse, properties)


def test_position_deletes_and_vectors_name_rows() -> None:
    content = BytesIO()
    paths = ["file:///t/a.parquet", "file:///t/a.parquet", "s3://t/b.parquet"]
    pq.write_table(pa.table({"file_path": paths, "pos": pa.array([7, 2, 0], pa.int64())}), content)
    file = SimpleNamespace(content=DataFileContent.POSITION_DELETES, file_format=FileFormat.PARQUET)
    found = deleted_places([content.getvalue()], [file])  # type: ignore[list-item]
    assert {path: sorted(places) for path, places in found.items()} == {
        "/t/a.parquet": [2, 7],
        "s3://t/b.parquet": [0],
    }
    vector = vector_of(found["/t/a.parquet"])
    assert (vector.rows, sorted(rows_of(vector, lambda path: b""))) == (2, [2, 7])
