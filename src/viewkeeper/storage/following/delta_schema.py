"""The columns of a Delta table: what Spark calls their types, and how its files hold them.

Under column mapping files call columns, and the parts of structs, by physical names that never change; in the
mode `id` they are found by number (`spark/followed.py` looks the names of these up in each file).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import StorageError, Unsupported
from viewkeeper.storage.following.state import SourceField

MODE = "delta.columnMapping.mode"
_PHYSICAL, _NUMBER = "delta.columnMapping.physicalName", "delta.columnMapping.id"
_CHAR, _COLLATIONS = "__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS"
_PLAIN = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    **{name: name for name in ("float", "double", "string", "boolean", "binary", "date", "timestamp")},
    "timestamp_ntz": "timestamp_ntz",
}

Json = Mapping[str, Any]


def schema_of(metadata: Json, address: str) -> tuple[tuple[Column, ...], tuple[SourceField, ...]]:
    """The columns of a table as its users see them, and as its files hold them."""
    try:
        fields = json.loads(metadata.get("schemaString") or "null")["fields"]
    except (ValueError, TypeError, KeyError) as error:
        what = f"The log of the Delta table {address} does not say what columns it has."
        raise StorageError(what, str(error)) from error
    mode = _setting(metadata, MODE) or "none"
    partition = {name.lower() for name in metadata.get("partitionColumns") or ()}
    pairs = [_column(field, mode, field["name"].lower() in partition, address) for field in fields]
    return tuple(column for column, _ in pairs), tuple(field for _, field in pairs)


def _setting(metadata: Json, name: str) -> str | None:
    found = metadata.get("configuration") or {}
    return dict(found).get(name)


def _column(data: Json, mode: str, is_partition: bool, address: str) -> tuple[Column, SourceField]:
    name, told = inner_column(data["name"]), data.get("metadata") or {}
    if told.get(_COLLATIONS):
        raise _not_read(f"{data['type']} collate", shown(name), address)
    kind = _type(data["type"], shown(name), address)
    physical, in_files = _physical_name(data, mode), _in_files(data["type"], mode)
    declared = str(told.get(_CHAR, "")) if kind == "string" else ""
    column = Column(name, kind, data.get("nullable", True), declared)
    number = told.get(_NUMBER) if mode == "id" else None
    is_cast = mode != "none" and isinstance(data["type"], dict)
    return column, SourceField(name, physical, in_files, is_cast, is_partition, number)


def _physical_name(data: Json, mode: str) -> str:
    told = data.get("metadata") or {}
    return str(data["name"] if mode == "none" else told.get(_PHYSICAL, data["name"]))


def _type(kind: str | Json, column: str, address: str) -> str:
    """Spark's simple text for a type."""
    if isinstance(kind, str):
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind.startswith("decimal"):
            return kind.replace(" ", "")
        raise _not_read(kind, column, address)
    match kind["type"]:
        case "array":
            return f"array<{_type(kind['elementType'], column, address)}>"
        case "map":
            return (
                f"map<{_type(kind['keyType'], column, address)},{_type(kind['valueType'], column, address)}>"
            )
        case "struct":
            parts = (f"{part['name']}:{_type(part['type'], column, address)}" for part in kind["fields"])
            return f"struct<{','.join(parts)}>"
        case other:
            raise _not_read(str(other), column, address)


def _in_files(kind: str | Json, mode: str) -> str:
    """Spark's DDL for a type, with the names that files have."""
    if isinstance(kind, str):
        return _PLAIN.get(kind, kind)
    match kind["type"]:
        case "array":
            return f"ARRAY<{_in_files(kind['elementType'], mode)}>"
        case "map":
            return f"MAP<{_in_files(kind['keyType'], mode)}, {_in_files(kind['valueType'], mode)}>"
        case _:
            parts = (
                f"`{_physical_name(part, mode).replace('`', '``')}`: {_in_files(part['type'], mode)}"
                for part in kind["fields"]
            )
            return f"STRUCT<{', '.join(parts)}>"


def _not_read(kind: str, column: str, address: str) -> Unsupported:
    return Unsupported(
        f"The Delta table {address} cannot be followed.",
        f"Its column {column} is of type {kind}, which is not read.",
        "Name the other columns when following it, or cast the column in the table.",
        columns=(column,),
    )
