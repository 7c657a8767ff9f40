"""What a Parquet file's footer tells: rows, and the least and greatest value of each column.

Reading footers costs no Spark action, and gives both the statistics of the Delta log and the
sizes that reports and the planner use.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from viewkeeper.errors import MissingFile
from viewkeeper.rewrite.bounds import Alternatives
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile

_GUESS = 64 * 1024
_LONGEST = 64


def described_files(
    folder: Folder, relation: str, written: Sequence[tuple[str, int]]
) -> tuple[DataFile, ...]:
    """Files of a relation that a job has written, by path and size, without the empty ones."""
    with ThreadPoolExecutor(8) as pool:
        files = list(pool.map(lambda item: _described(folder, relation, *item), written))
    return tuple(file for file in files if file.rows)


def _described(folder: Folder, relation: str, path: str, size: int) -> DataFile:
    name = path.removeprefix(relation).lstrip("/")
    return data_file(name, size, read_footer(folder, path, size))


def data_file(name: str, size: int, metadata: pq.FileMetaData) -> DataFile:
    """A file with what its footer tells."""
    return DataFile(name, metadata.num_rows, size, ranges(metadata), columns_with_nulls(metadata))


def read_footer(folder: Folder, path: str, size: int) -> pq.FileMetaData:
    """Reads the end of the file only; a second time when the footer is longer than guessed."""
    if size < 12:
        raise MissingFile(f"The file {folder.address(path)} is cut short: it has {size} bytes.")
    tail = folder.range(path, max(0, size - _GUESS), size)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if tail[-4:] != b"PAR1" or length > size:
        raise MissingFile(f"The file {folder.address(path)} is cut short or no Parquet file.")
    if length > len(tail):
        tail = folder.range(path, size - length, size)
    return pq.read_metadata(pa.BufferReader(b"PAR1" + tail))


def ranges(metadata: pq.FileMetaData) -> dict[str, tuple[Any, Any]]:
    """Least and greatest value per top-level column, where every row group tells them."""
    found: dict[str, tuple[Any, Any]] = {}
    for index in range(metadata.num_columns):
        name = metadata.schema.column(index).path
        pair = _range_of_column(metadata, index)
        if pair is not None and "." not in name:
            found[name] = pair
    return found


def columns_with_nulls(metadata: pq.FileMetaData) -> frozenset[str]:
    """The columns that hold a NULL, or may: where the footer does not say that there is none."""
    found = set()
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(index)
            if not chunk.is_stats_set or chunk.statistics.null_count != 0:
                found.add(chunk.path_in_schema.split(".")[0])
    return frozenset(found)


def null_counts(metadata: pq.FileMetaData) -> dict[str, int]:
    """How many values of plain columns are NULL, where the footer says so."""
    found: dict[str, int] = {}
    unknown: set[str] = set()
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(index)
            name = chunk.path_in_schema
            if "." in name or not chunk.is_stats_set or chunk.statistics.null_count is None:
                unknown.add(name)
            else:
                found[name] = found.get(name, 0) + chunk.statistics.null_count
    return {name: number for name, number in found.items() if name not in unknown}


def _range_of_column(metadata: pq.FileMetaData, index: int) -> tuple[Any, Any] | None:
    """None also where Python has no such value: a timestamp of the year 9999 may be later in UTC."""
    low: Any = None
    high: Any = None
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(index)
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None:
            return None
        if not statistics.has_min_max:
            if statistics.null_count == chunk.num_values:
                continue
            return None
        try:
            least, greatest = statistics.min, statistics.max
        except OverflowError:
            return None
        low = least if low is None else min(low, least)
        high = greatest if high is None else max(high, greatest)
    return json_range(low, high)


def json_range(low: Any, high: Any) -> tuple[Any, Any] | None:
    """A range of integers, booleans, short strings or dates (as ISO text, which sorts alike); else None."""
    if isinstance(low, date) and not isinstance(low, datetime):
        return low.isoformat(), high.isoformat()
    if isinstance(low, int):
        return low, high
    if isinstance(low, str) and len(low) <= _LONGEST and len(high) <= _LONGEST:
        return low, high
    return None


def delta_statistics(file: DataFile, columns: Iterable[str]) -> str:
    """The statistics of one file as the Delta log writes them, which has none of booleans."""
    wanted = [n for n in columns if n in file.ranges and not isinstance(file.ranges[n][0], bool)]
    return json.dumps(
        {
            "numRecords": file.rows,
            "minValues": {name: file.ranges[name][0] for name in wanted},
            "maxValues": {name: file.ranges[name][1] for name in wanted},
            "nullCount": {},
        }
    )


@dataclass(frozen=True)
class Among:
    """Values as ranges have them, least first: a row that is wanted has one of them."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class OneOf:
    """Ranges of columns, as pairs, of which one or another holds for each row; of none: no row is wanted."""

    ranges: Alternatives


Wanted = Mapping[str, tuple[Any, Any] | Among] | OneOf
"""What the columns of rows that are wanted lie between, or are among."""


def overlaps(file: DataFile, wanted: Wanted) -> bool:
    """Whether the file may hold a row that is wanted."""
    if isinstance(wanted, OneOf):
        return any(overlaps(file, dict(one)) for one in wanted.ranges)
    return all(_may_hold(file.ranges.get(name), values) for name, values in wanted.items())


def _may_hold(own: tuple[Any, Any] | None, wanted: tuple[Any, Any] | Among) -> bool:
    values = wanted.values if isinstance(wanted, Among) else wanted
    if own is None or not values or type(own[0]) is not type(values[0]):
        return True
    if own[1] < values[0] or own[0] > values[-1]:
        return False
    return not isinstance(wanted, Among) or bisect_left(values, own[0]) < bisect_right(values, own[1])
