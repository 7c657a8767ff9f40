"""Tasks read and write files of an object store with Arrow as Spark would; they are run without Spark."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tests.stores.conftest import Bucket
from viewkeeper.arrow import parquet_files
from viewkeeper.errors import MissingFile
from viewkeeper.spark import tasks
from viewkeeper.spark.tasks import ReadTask, WriteTask, read_files, write_files
from viewkeeper.storage.footers import described_files
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.stores import options_of

ROWS = {
    "i": [1, None, -3],
    "d": [Decimal("1.50"), None, Decimal("-0.01")],
    "t": [datetime.date(1500, 1, 1), None, datetime.date(9999, 12, 31)],
    "at": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, None],
    "xs": [["a", None], [], None],
    "m": [[("k", 1)], None, []],
    "f": [float("nan"), -0.0, None],
}
SCHEMA = pa.schema(
    {
        "i": pa.int32(),
        "d": pa.decimal128(10, 2),
        "t": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "xs": pa.list_(pa.string()),
        "m": pa.map_(pa.string(), pa.int32()),
        "f": pa.float64(),
    }
)


def asked(*tasks: int) -> Iterator[pa.RecordBatch]:
    for first in tasks:
        yield pa.record_batch({"id": pa.array([first], pa.int64())})


def written(bucket: Bucket, rows: pa.Table) -> list[tuple[str, int]]:
    to = WriteTask(bucket.url, options_of(bucket.options), "relations/t/data/1", "4.3.0")
    found = [batch.to_pylist() for batch in write_files(to, rows.to_batches(max_chunksize=2))]
    return [(row["path"], row["bytes"]) for rows in found for row in rows]


def test_rows_come_back_as_they_were_written(bucket: Bucket) -> None:
    table = pa.table(ROWS, SCHEMA)
    [(path, size)] = written(bucket, table)
    folder = Folder(bucket.url, options=bucket.options.items())
    [file] = described_files(folder, "relations/t", [(path, size)])
    assert (file.rows, file.bytes, file.ranges["i"], file.path) == (
        3,
        size,
        (-3, 1),
        path[len("relations/t/") :],
    )
    assert "f" not in file.ranges, "NaN is greater than all that Arrow's statistics tell"
    wanted = pa.schema([*(SCHEMA.field(name) for name in ("d", "i", "xs", "m")), ("new", pa.string())])
    reading = ReadTask(bucket.url, options_of(bucket.options), wanted, ((path,), (path, path)), 10)
    assert len(list(read_files(reading, asked(0)))) == 1
    found = pa.Table.from_batches(list(read_files(reading, asked(10))))
    assert found.schema == wanted
    one = [{**{n: ROWS[n][row] for n in ("d", "i", "xs", "m")}, "new": None} for row in range(3)]
    assert found.to_pylist() == [*one, *one]


def test_large_files_are_read_by_ranges_and_written_in_parts(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "ROWS_OF_FILE", 40_000)
    monkeypatch.setattr(parquet_files, "FETCHED", 1000)
    numbers = np.random.default_rng(3).integers(0, 2**40, 100_000)
    table = pa.table({"a": numbers, "b": numbers + 1})
    to = WriteTask(bucket.url, options_of(bucket.options), "x", "4.3.0")
    found = [batch.to_pylist()[0] for batch in write_files(to, table.to_batches(max_chunksize=10_000))]
    assert len(found) == 3
    one = pa.schema({"b": pa.int64()})
    read = ReadTask(bucket.url, options_of(bucket.options), one, (tuple(row["path"] for row in found),), 1)
    rows = pa.Table.from_batches(list(read_files(read, asked(0))))
    assert rows["b"].to_pylist() == (numbers + 1).tolist()
    assert not list(write_files(to, []))


def test_what_is_missing_is_named(bucket: Bucket) -> None:
    reading = ReadTask(bucket.url, options_of(bucket.options), SCHEMA, (("relations/t/gone.parquet",),), 1)
    with pytest.raises(MissingFile, match=r"gone\.parquet"):
        list(read_files(reading, asked(0)))
