"""After every step of random changes every reader of Delta tables sees the rows of the view."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from viewkeeper.algebra.schema import Column
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import ConflictError, StorageError
from viewkeeper.publishing import commits, publisher
from viewkeeper.publishing.layout import Layout
from viewkeeper.publishing.publisher import Publisher
from viewkeeper.publishing.table import newest_version
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

COLUMNS = (
    Column("id", "int", nullable=False),
    Column("t", "string"),
    Column("x", "double"),
    Column("d", "decimal(8,2)"),
    Column("at", "timestamp"),
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("t", pa.string()),
        ("x", pa.float64()),
        ("d", pa.decimal128(8, 2)),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
STATE = RelationState("relations/v", COLUMNS, 0, 0)

Row = tuple[Any, ...]


def table_of(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def as_rows(table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.cast(SCHEMA, safe=False).to_pylist())


def by_polars(address: str) -> Counter[str]:
    return as_rows(pl.scan_delta(address).collect().to_arrow())


def by_deltalake(address: str) -> Counter[str]:
    found = QueryBuilder().register("t", DeltaTable(address)).execute("SELECT id, t, x, d, at FROM t")
    return as_rows(pa.table(found.read_all()))


def by_duckdb(address: str) -> Counter[str]:
    """DuckDB over what deltalake scans: its own extension is no package of PyPI."""
    found = QueryBuilder().register("t", DeltaTable(address)).execute("SELECT id, t, x, d, at FROM t")
    arrow = pa.table(found.read_all())
    return as_rows(duckdb.from_arrow(arrow).filter("id IS NOT NULL").to_arrow_table())


READERS = (by_polars, by_deltalake, by_duckdb)


def a_row(rng: random.Random, key: int) -> Row:
    text = rng.choice([None, "a", "é", "x" * 70])
    number = rng.choice([None, 0.0, -0.0, 1.5, float("inf")])
    return (key, text, number, rng.choice([None, 1, -2]), rng.choice([None, 1_700_000_000_123_456, -5]))


def stream(rng: random.Random, keyed: bool) -> Callable[[list[Row]], tuple[list[Row], list[Row]]]:
    """Batches of rows that come and go; keys are there once, other rows as often as chance will have it."""

    def batch(rows: list[Row]) -> tuple[list[Row], list[Row]]:
        went = rng.sample(rows, min(len(rows), rng.choice([0, 1, 3, len(rows)])))
        used = {row[0] for row in rows} - {row[0] for row in went}
        keys = [rng.randrange(400) for _ in range(rng.randrange(6))]
        keys = [key for key in dict.fromkeys(keys) if key not in used] if keyed else keys
        return [a_row(rng, key) for key in keys], went

    return batch


@pytest.mark.parametrize("vectors", [True, False], ids=["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("key", [("id",), ()], ids=["keyed", "bag"])
def test_every_reader_sees_the_view_after_every_step(
    tmp_path: Path, key: tuple[str, ...], vectors: bool
) -> None:
    rng = random.Random(len(key) * 2 + vectors)
    writer = Publisher(Folder(str(tmp_path)), "published/v", "v", key, Layout(vectors))
    address, batch = str(tmp_path / "published/v"), stream(rng, bool(key))
    start = rng.choices(range(400), k=60)
    rows = [a_row(rng, number) for number in (dict.fromkeys(start) if key else start)]
    table = writer.replace(1, STATE, table_of(rows))
    for version in range(2, 20):
        came, went = batch(rows)
        left = Counter(map(repr, rows)) - Counter(map(repr, went))
        before = writer.current()
        table = writer.change(table, version, STATE, table_of(came), table_of(went))
        rows = [row for row in rows if left[repr(row)] > 0 and not left.subtract([repr(row)])] + came
        assert table == writer.current() == (before if not came and not went else table)
        for reader in READERS:
            assert reader(address) == as_rows(table_of(rows)), (version, reader.__name__)
    assert len(DeltaTable(address).file_uris()) <= publisher.MOST_SMALL
    assert table.rows == len(rows)


def test_rows_written_are_those_of_the_change(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    rows = [a_row(random.Random(n), n) for n in range(1000)]
    table = writer.replace(1, STATE, table_of(rows))
    new = [(row[0], "new", *row[2:]) for row in rows[:5]]
    table = writer.change(table, 2, STATE, table_of(new), table_of(rows[:7]))
    actions = [
        json.loads(line) for line in (tmp_path / "v/_delta_log" / f"{1:020d}.json").read_text().splitlines()
    ]
    added = [action["add"] for action in actions if "add" in action]
    assert [json.loads(one["stats"])["numRecords"] for one in added] == [1000, 5]
    assert added[0]["deletionVector"]["cardinality"] == 7
    assert [json.loads(one["stats"]).get("tightBounds") for one in added] == [False, None]
    assert next(a["txn"] for a in actions if "txn" in a)["version"] == 2
    assert actions[0]["commitInfo"]["viewkeeper"]["version"] == 2
    assert (table.rows, len(table.files)) == (998, 2)


def test_many_changes_keep_files_and_the_log_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "KEPT_MILLISECONDS", -1)
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    table = writer.replace(0, STATE, table_of([]))
    numbers = []
    for version in range(1, 121):
        went = [a_row(random.Random(version - 3), version - 3)] if version > 3 else []
        came = [a_row(random.Random(version), version)]
        table = writer.change(table, version, STATE, table_of(came), table_of(went))
        numbers.append(len(table.files))
    assert max(numbers) <= publisher.MOST_SMALL
    assert len(list((tmp_path / "v").glob("*.parquet"))) <= 2 * publisher.MOST_SMALL
    assert len(list((tmp_path / "v/_viewkeeper").iterdir())) <= 3
    assert (tmp_path / "v/_delta_log/_last_checkpoint").exists()
    assert by_polars(str(tmp_path / "v")) == as_rows(
        table_of([a_row(random.Random(n), n) for n in (118, 119, 120)])
    )


def test_of_two_writers_one_wins(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    table = writer.replace(1, STATE, table_of([a_row(random.Random(1), 1)]))
    first = writer.change(table, 2, STATE, table_of([a_row(random.Random(2), 2)]), table_of([]))
    with pytest.raises(ConflictError):
        writer.change(table, 2, STATE, table_of([a_row(random.Random(3), 3)]), table_of([]))
    assert writer.current() == first


def test_a_table_that_another_program_changed_is_told(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    rows = [a_row(random.Random(1), 1)]
    table = writer.replace(1, STATE, table_of(rows))
    with pytest.raises(StorageError, match="lacks 1 rows"):
        writer.change(table, 2, STATE, table_of([]), table_of([a_row(random.Random(2), 2)]))
    assert newest_version(writer.folder, "v") == 0
    (tmp_path / "v/_delta_log" / f"{1:020d}.json").write_text('{"commitInfo":{"operation":"OPTIMIZE"}}\n')
    with pytest.raises(StorageError, match="changed by another program"):
        writer.current()


CONDITIONS = (
    "id < 20",
    "t = 'a'",
    "t = 'z'",
    "x > 1",
    "x = 0",
    "d = -2",
    "d IS NULL",
    "id = 3 OR t IS NULL",
)


def test_readers_skip_no_file_that_holds_what_they_look_for(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    rows = [a_row(random.Random(n), n) for n in range(60)]
    table = writer.replace(1, STATE, table_of(rows[:40]))
    writer.change(table, 2, STATE, table_of(rows[40:]), table_of(rows[10:15]))
    everything = table_of(rows[:10] + rows[15:])
    source = QueryBuilder().register("t", DeltaTable(str(tmp_path / "v")))
    for condition in CONDITIONS:
        wanted = as_rows(duckdb.from_arrow(everything).filter(condition).to_arrow_table())
        scan = pl.scan_delta(str(tmp_path / "v")).filter(pl.sql_expr(condition))
        assert as_rows(scan.collect().to_arrow()) == wanted, condition
        found = source.execute(f"SELECT id, t, x, d, at FROM t WHERE {condition}").read_all()
        assert as_rows(pa.table(found)) == wanted, condition


def test_nested_values_are_published(tmp_path: Path) -> None:
    kinds = {"n": "int", "xs": "array<int>", "s": "struct<a:int,b:array<string>>", "m": "map<string,double>"}
    state = RelationState("relations/v", tuple(Column(name, kind) for name, kind in kinds.items()), 0, 0)
    schema = pa.schema([(name, stored_type(kind)) for name, kind in kinds.items()])

    def rows(*numbers: int | None) -> pa.Table:
        columns = {
            "n": numbers,
            "xs": [None if n is None else [n, None] for n in numbers],
            "s": [None if n is None else {"a": n, "b": ["x"]} for n in numbers],
            "m": [None if n is None else [("k", n / 2)] for n in numbers],
        }
        arrays = [pa.array(columns[field.name], field.type) for field in schema]
        return pa.table(arrays, schema=schema)

    writer = Publisher(Folder(str(tmp_path)), "v", "v")
    table = writer.replace(1, state, rows(1, 2, 2, None))
    writer.change(table, 2, state, rows(5), rows(2, None))
    found = QueryBuilder().register("t", DeltaTable(str(tmp_path / "v"))).execute("SELECT n, xs, s, m FROM t")
    told = sorted(pa.table(found.read_all()).to_pylist(), key=lambda row: int(row["n"]))
    assert told == rows(1, 2, 5).to_pylist()


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("vectors", [True, False], ids=["merge-on-read", "copy-on-write"])
def test_a_writer_that_is_killed_at_any_step_leaves_the_old_version_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: bool
) -> None:
    rows = [a_row(random.Random(n), n) for n in range(30)]
    new = [(row[0], "new", *row[2:]) for row in rows[:3]]
    old_rows, new_rows = as_rows(table_of(rows)), as_rows(table_of([*rows[3:], *new]))
    create, steps, killed = Folder.create, 0, 0
    while killed == steps:
        address = tmp_path / str(steps)
        writer = Publisher(Folder(str(address)), "v", "v", ("id",), Layout(vectors))
        table = writer.replace(1, STATE, table_of(rows))
        left = [steps]

        def at_most(folder: Folder, path: str, content: bytes, left: list[int] = left) -> bool:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return create(folder, path, content)

        monkeypatch.setattr(Folder, "create", at_most)
        try:
            writer.change(table, 2, STATE, table_of(new), table_of(rows[:3]))
        except Killed:
            killed += 1
        monkeypatch.setattr(Folder, "create", create)
        known = writer.current()
        assert known is not None
        assert by_polars(str(address / "v")) == (old_rows if known.version == 1 else new_rows)
        if known.version == 1:
            writer.change(known, 2, STATE, table_of(new), table_of(rows[:3]))
        assert by_deltalake(str(address / "v")) == new_rows
        steps += 1
    assert steps > 3


def test_a_reader_in_a_loop_sees_whole_versions(tmp_path: Path) -> None:
    writer = Publisher(Folder(str(tmp_path)), "v", "v", ("id",))
    table = writer.replace(0, STATE, table_of([(n, "0", None, None, None) for n in range(20)]))
    seen: list[set[tuple[str, int]]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = pl.scan_delta(str(tmp_path / "v")).collect()
            seen.append({(t, found.height) for t in found["t"].to_list()})

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(1, 25):
        old, new = ([(n, str(v), None, None, None) for n in range(20)] for v in (version - 1, version))
        table = writer.change(table, version, STATE, table_of(new), table_of(old))
    done.set()
    reader.join()
    assert len(seen) > 1
    assert [versions for versions in seen if len(versions) > 1 or {n for _, n in versions} != {20}] == []
