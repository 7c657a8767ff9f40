"""What tasks of Spark do with files of an object store: Arrow reads and writes them, obstore moves the bytes.

A task runs in a Python process of an executor, where this package is installed as well.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from viewkeeper.arrow.parquet_files import parquet_file, typed_column
from viewkeeper.errors import MissingFile
from viewkeeper.spark.arrow import parquet_bytes
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.stores import Options

ROWS_OF_FILE = 1_000_000
BYTES_OF_FILE = 256 * 1024 * 1024
"""A task begins another file after so many rows, or so many bytes of Arrow."""

WRITTEN = pa.schema([("path", pa.string()), ("bytes", pa.int64())])


@dataclass(frozen=True)
class ReadTask:
    """Which files which task reads: the number of a task is that of its first row, divided by `rows`."""

    url: str
    options: Options
    schema: pa.Schema
    files: tuple[tuple[str, ...], ...]
    rows: int


@dataclass(frozen=True)
class WriteTask:
    """Where tasks write: each file is a new one below a folder."""

    url: str
    options: Options
    path: str
    spark_version: str


@lru_cache(maxsize=16)
def folder_at(url: str, options: Options) -> Folder:
    return Folder(url, create=False, options=options)


def read_files(reading: ReadTask, asked: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a task's files, with the columns that are asked for."""
    folder = folder_at(reading.url, reading.options)
    for batch in asked:
        for first in batch.column(0).to_pylist():
            for path in reading.files[first // reading.rows]:
                yield from _rows(folder, path, reading.schema)


def _rows(folder: Folder, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        for batch in parquet_file(folder, path).iter_batches(columns=schema.names):
            if schema.names:
                yield _typed(batch, schema)
            else:
                yield batch
    except (OSError, pa.ArrowException) as error:
        what = f"The data file {folder.address(path)} is missing or damaged."
        raise MissingFile(what, str(error)) from error


def _typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in the types of a schema; a column that the file does not have is NULL."""
    known = set(batch.schema.names)
    columns = [
        typed_column(pa.chunked_array([batch.column(field.name)]), field.type).combine_chunks()
        if field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def write_files(writing: WriteTask, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Writes the rows of a task as files, and tells their paths and sizes."""
    folder = folder_at(writing.url, writing.options)
    for table in _gathered(rows):
        path = join(writing.path, f"part-{uuid.uuid4()}.parquet")
        content = parquet_bytes(table, writing.spark_version)
        folder.create(path, content)
        yield pa.record_batch([[path], [len(content)]], schema=WRITTEN)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_OF_FILE or size >= BYTES_OF_FILE:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
