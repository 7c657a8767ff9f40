"""One Parquet file, on a disk or in an object store. Tasks of Spark import this: it needs little else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from viewkeeper.storage.objects import Folder

FETCHED = 4 * 1024 * 1024
"""A file of an object store of at most so many bytes is fetched as a whole, of others what is asked for."""


def parquet_file(folder: Folder, path: str) -> parquet.ParquetFile:
    """A Parquet file to read from; a small one of an object store is fetched as a whole."""
    if folder.is_local:
        return parquet.ParquetFile(str(Path(folder.url, path)), coerce_int96_timestamp_unit="us")
    source = folder.opened(path)
    small = source.size <= FETCHED
    content = pa.BufferReader(source.read()) if small else pa.PythonFile(source, mode="r")
    return parquet.ParquetFile(content, coerce_int96_timestamp_unit="us", pre_buffer=not small)


def typed_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in a type; fields of nested ones are called otherwise in files."""
    is_same = column.type == kind and not pa.types.is_nested(kind)
    return column if is_same else pa.chunked_array([column.combine_chunks().cast(kind)])
