"""Main as a plain Delta table: Spark writes the files, this commits them to the Delta log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    RemoveAction,
    create_table_with_add_actions,
)
from sqlglot import exp

from viewkeeper.algebra.schema import Column
from viewkeeper.errors import ConflictError, InvalidSQL, MissingFile
from viewkeeper.storage.footers import delta_statistics, json_range
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile
from viewkeeper.storage.stores import Options

_ATTEMPTS = 10
_DELTA_NAMES = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}


def create_main(folder: Folder, relation: str, columns: Iterable[Column], files: Iterable[DataFile]) -> int:
    """A new Delta table over the files; returns its version."""
    columns = tuple(columns)
    names = [column.name for column in columns]
    create_table_with_add_actions(
        folder.delta_address(relation),
        delta_schema(columns),
        [_add(f, names) for f in files],
        storage_options=folder.delta_options,
    )
    return 0


def commit_main(
    folder: Folder,
    relation: str,
    version: int,
    columns: tuple[Column, ...],
    added: Iterable[DataFile],
    removed: Iterable[DataFile] = (),
) -> int:
    """Makes a version that is `version` without the removed and with the added files.

    The Delta log may be ahead of the warehouse's (a writer died before its entry); the actions
    are therefore the difference to the newest Delta version, and nothing may come in between.
    """
    gone = {file.path for file in removed}
    wanted = {file.path: file for file in main_files(folder, relation, version) if file.path not in gone}
    wanted.update({file.path: file for file in added})
    for _ in range(_ATTEMPTS):
        newest = delta_table(folder, relation)
        present = {file.path: file for file in main_files(folder, relation, newest.version())}
        names = [column.name for column in columns]
        actions: list[AddAction | RemoveAction] = [
            _add(f, names) for p, f in wanted.items() if p not in present
        ]
        actions += [_remove(file) for path, file in present.items() if path not in wanted]
        if not actions:
            return newest.version()
        try:
            newest.create_write_transaction(
                actions,
                mode="append",
                schema=delta_schema(columns),
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError:
            continue
        return newest.version() + 1
    raise ConflictError(f"Other writers keep changing {folder.delta_address(relation)}.", hint="Try again.")


def delta_table(folder: Folder, path: str, version: int | None = None) -> DeltaTable:
    """A Delta table below a folder."""
    return DeltaTable(folder.delta_address(path), version=version, storage_options=folder.delta_options)


def main_files(folder: Folder, relation: str, version: int) -> tuple[DataFile, ...]:
    """The files of main at a pinned version, with row counts and ranges from the Delta log."""
    return _main_files(folder.delta_address(relation), version, folder.options)


@lru_cache(maxsize=4096)
def _main_files(address: str, version: int, options: Options) -> tuple[DataFile, ...]:
    try:
        table = DeltaTable(address, version=version, storage_options=dict(options) or None)
        actions = table.get_add_actions(flatten=False)
    except (DeltaError, OSError) as error:
        what = f"The Delta table {address} has no readable version {version}."
        raise MissingFile(what, str(error)) from error
    return tuple(_file(row) for row in pa.table(actions).to_pylist())


def _file(row: dict[str, object]) -> DataFile:
    low = row.get("min") or {}
    high = row.get("max") or {}
    assert isinstance(low, dict)
    assert isinstance(high, dict)
    pairs = {name: json_range(low[name], high[name]) for name in low if low[name] is not None}
    ranges = {name: pair for name, pair in pairs.items() if pair is not None}
    return DataFile(str(row["path"]), int(str(row["num_records"])), int(str(row["size_bytes"])), ranges)


def _add(file: DataFile, columns: Iterable[str]) -> AddAction:
    now = int(time.time() * 1000)
    return AddAction(file.path, file.bytes, {}, now, True, delta_statistics(file, columns))


def _remove(file: DataFile) -> RemoveAction:
    now = int(time.time() * 1000)
    return RemoveAction(path=file.path, deletion_timestamp=now, data_change=True, size=file.bytes)


def delta_schema(columns: Iterable[Column]) -> Schema:
    """The Delta schema of columns whose types are Spark's."""
    fields = [
        {"name": c.name, "type": _delta_type(c.type), "nullable": c.nullable, "metadata": {}} for c in columns
    ]
    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def _delta_type(text: str) -> object:
    if text.lower() in _DELTA_NAMES:
        return _DELTA_NAMES[text.lower()]
    if text.lower().startswith("decimal"):
        return text.lower()
    return _nested(exp.DataType.build(text, dialect="spark"), text)


def _nested(kind: exp.DataType, text: str) -> object:
    inner = kind.expressions
    if kind.this is exp.DataType.Type.ARRAY:
        return {"type": "array", "elementType": _delta_type(inner[0].sql("spark")), "containsNull": True}
    if kind.this is exp.DataType.Type.MAP:
        key, value = (_delta_type(part.sql("spark")) for part in inner)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if kind.this is exp.DataType.Type.STRUCT:
        fields = [
            {
                "name": part.name,
                "type": _delta_type(part.args["kind"].sql("spark")),
                "nullable": True,
                "metadata": {},
            }
            for part in inner
        ]
        return {"type": "struct", "fields": fields}
    plain = _DELTA_NAMES.get(kind.sql("spark").lower())
    if plain:
        return plain
    raise InvalidSQL(
        f"A column of type {text} cannot be stored.",
        "Delta tables hold numbers, strings, booleans, dates, timestamps, binary, arrays, maps and structs.",
        "Cast the column to one of these types.",
    )
