"""The Parquet files of a relation as Arrow tables, in the types that the relation has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from viewkeeper.algebra.schema import Column
from viewkeeper.arrow.parquet_files import parquet_file, typed_column
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import MissingFile
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.relation import DataFile


def file_rows(
    folder: Folder, relation: str, files: Iterable[DataFile], columns: Sequence[Column]
) -> pa.Table:
    """The rows of some files, with these columns."""
    schema = pa.schema([(column.name, stored_type(column.type)) for column in columns])
    paths = [join(relation, file.path) for file in files]
    if len(paths) > 1:
        with ThreadPoolExecutor(8) as pool:
            tables = list(pool.map(lambda path: _rows(folder, path, schema), paths))
    else:
        tables = [_rows(folder, path, schema) for path in paths]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _rows(folder: Folder, path: str, schema: pa.Schema) -> pa.Table:
    try:
        table = parquet_file(folder, path).read(columns=schema.names, use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise MissingFile(f"The file {folder.address(path)} is missing or damaged.", str(error)) from error
    if not schema.names:
        return table
    return pa.table([typed_column(table[field.name], field.type) for field in schema], schema=schema)
