"""Data files of published tables, written and read with Arrow, with statistics."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from viewkeeper.arrow.parquet_files import parquet_file
from viewkeeper.publishing.layout import Layout, Partition, folder_of, with_partition
from viewkeeper.publishing.table import PublishedFile
from viewkeeper.storage.deletion_vectors import rows_of
from viewkeeper.storage.objects import Folder, join

ROWS_OF_FILE = 1_000_000
LONGEST = 64
"""So many characters of texts stand in statistics."""


def write_files(
    folder: Folder, table: str, rows: pa.Table, layout: Layout, prefix: str = "part-"
) -> list[PublishedFile]:
    """Writes rows as new files."""
    return [
        _write(folder, table, own.slice(start, ROWS_OF_FILE), partition, prefix)
        for partition, own in layout.parts(layout.ordered(rows))
        for start in range(0, own.num_rows, ROWS_OF_FILE)
    ]


def file_path(prefix: str, partition: Partition) -> str:
    """A new name for a file, in the folder of its partition."""
    folder, _, kind = prefix.rpartition("/")
    return join(folder, f"{folder_of(partition)}{kind}{uuid.uuid4()}.parquet")


def _write(folder: Folder, table: str, rows: pa.Table, partition: Partition, prefix: str) -> PublishedFile:
    sink, path = pa.BufferOutputStream(), file_path(prefix, partition)
    parquet.write_table(rows, sink, compression="snappy", store_schema=False)
    content = bytes(sink.getvalue())
    folder.create(join(table, path), content)
    ranges = {name: ends for name in rows.column_names if (ends := ends_of(rows[name])) is not None}
    flat = [name for name in rows.column_names if not pa.types.is_struct(rows[name].type)]
    nulls = {name: rows[name].null_count for name in flat}
    return PublishedFile(path, rows.num_rows, len(content), ranges, nulls, partition=partition)


def ends_of(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Least and greatest value as the Delta log writes them; None where there is none, or no order.

    Of decimals there are none: JSON has no exact numbers.
    """
    kind = column.type
    others = (pa.types.is_nested, pa.types.is_binary, pa.types.is_boolean, pa.types.is_decimal)
    if any(is_kind(kind) for is_kind in others):
        return None
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(column)).as_py():
        return None
    found = pc.min_max(column).as_py()
    low, high = found["min"], found["max"]
    if low is None or (isinstance(low, str) and max(len(low), len(high)) > LONGEST):
        return None
    return _told(low), _told(high)


def _told(value: Any) -> Any:
    match value:
        case datetime():
            zone = "Z" if value.tzinfo is not None else ""
            return f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}{zone}"
        case date():
            return value.isoformat()
        case _:
            return value


def statistics(file: PublishedFile) -> str:
    """The statistics of a file as the Delta log writes them; where rows are gone, its ends are not tight."""
    data: dict[str, Any] = {
        "numRecords": file.rows,
        "minValues": {name: low for name, (low, _) in file.ranges.items()},
        "maxValues": {name: high for name, (_, high) in file.ranges.items()},
        "nullCount": dict(file.nulls),
    }
    return json.dumps(data if file.gone is None else {**data, "tightBounds": False})


def read_columns(folder: Folder, table: str, file: PublishedFile, schema: pa.Schema) -> pa.Table:
    """Some columns of all rows of a file, those that are gone too: places count from its start."""
    known = dict(file.partition)
    own = pa.schema([field for field in schema if field.name not in known])
    rows = parquet_file(folder, join(table, file.path)).read(columns=own.names)
    return with_partition(rows if not own else rows.cast(own), file.partition, schema)


def places_left(folder: Folder, table: str, file: PublishedFile) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of a file count."""
    left = np.ones(file.rows, dtype=bool)
    if file.gone is not None:
        gone = rows_of(file.gone, lambda path: folder.read(join(table, path)))
        left[np.fromiter(gone, dtype=np.int64, count=len(gone))] = False
    return left


def rows_left(
    folder: Folder, table: str, files: Iterable[PublishedFile], schema: pa.Schema
) -> Iterator[pa.Table]:
    """The rows of files that count."""
    for file in files:
        left = places_left(folder, table, file)
        yield read_columns(folder, table, file, schema).filter(pa.array(left))
