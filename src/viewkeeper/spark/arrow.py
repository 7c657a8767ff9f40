"""Rows of Python values as Arrow tables.

Spark takes an Arrow table as a local relation: no Python worker starts, and the optimizer knows how
small it is. Rows of types that Arrow and Spark do not share in the plain way go the slow way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from viewkeeper.algebra.schema import Column
from viewkeeper.engine.types import arrow_type


def arrow_table(rows: Sequence[Sequence[Any]], columns: Sequence[Column], zone: str) -> pa.Table | None:
    """The rows as an Arrow table; None where some column has no plain Arrow type."""
    types = [arrow_type(column.type) for column in columns]
    arrays = []
    for number, (column, kind) in enumerate(zip(columns, types, strict=True)):
        if kind is None:
            return None
        arrays.append(_array([row[number] for row in rows], column.type, kind, zone))
    return pa.table(arrays, names=[column.name for column in columns])


def _array(values: list[Any], kind: str, arrow: pa.DataType, zone: str) -> pa.Array:
    if kind != "timestamp":
        return pa.array(values, type=arrow)
    naive = pa.array([_local(value, zone) for value in values], type=arrow)
    return pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="latest")


def _local(value: datetime | None, zone: str) -> datetime | None:
    """The value on the session's clock; one without a time zone is taken to be so already."""
    if value is None or value.tzinfo is None:
        return value
    return value.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def parquet_table(contents: Sequence[bytes], columns: Sequence[Column]) -> pa.Table | None:
    """The rows of Parquet files with these columns; None where Arrow might not read them as Spark does, which
    writes timestamps in a form and a time zone of its own."""
    types = {column.name: arrow_type(column.type) for column in columns}
    if any(kind is None or pa.types.is_timestamp(kind) for kind in types.values()):
        return None
    files = [parquet.ParquetFile(pa.BufferReader(content)) for content in contents]
    if any(not types.keys() <= set(file.schema_arrow.names) for file in files):
        return None
    schema = pa.schema([(name, kind) for name, kind in types.items() if kind is not None])
    return pa.concat_tables([file.read(list(types)).select(list(types)).cast(schema) for file in files])


def has_plain_types(columns: Iterable[Column]) -> bool:
    """Whether Arrow writes these columns to Parquet as Spark does."""
    return all(arrow_type(column.type) is not None for column in columns)


def parquet_bytes(table: pa.Table, spark_version: str) -> bytes:
    """The rows as a Parquet file like those of Spark: by its version Spark knows how old dates are meant."""
    told = table.replace_schema_metadata({"org.apache.spark.version": spark_version})
    sink = pa.BufferOutputStream()
    parquet.write_table(
        told,
        sink,
        compression="snappy",
        store_schema=False,
        store_decimal_as_integer=True,
        write_statistics=_with_ranges(told),
    )
    return bytes(sink.getvalue())


def _with_ranges(table: pa.Table) -> list[str] | bool:
    """The columns whose least and greatest values stand in the file. Arrow leaves NaN out of them, which is
    greater than all other numbers in Spark: it would skip a file that holds NaN for `x > 1`."""
    hidden = {name for name in table.column_names if _holds_nan(table[name])}
    return [name for name in table.column_names if name not in hidden] if hidden else True


def _holds_nan(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())
