"""The columns of an Iceberg table: what Spark calls their types. Files know them by number, whatever their
names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import Unsupported
from viewkeeper.storage.following.state import SourceField

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

_PLAIN = {
    "int": "int",
    "long": "bigint",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    **{name: name for name in ("boolean", "float", "double", "date", "string", "binary")},
}


def schema_of(schema: Schema, table: str) -> tuple[tuple[Column, ...], tuple[SourceField, ...]]:
    """The columns of a table as its users see them, and as its files hold them."""
    pairs = [_column(field, table) for field in schema.fields]
    return tuple(column for column, _ in pairs), tuple(field for _, field in pairs)


def _column(field: Any, table: str) -> tuple[Column, SourceField]:
    """A file that lacks a column may have another one of its name: then that is not it."""
    if getattr(field, "initial_default", None) is not None:
        raise _not_read(f"a default of {field.initial_default!r}", field.name, table)
    name, kind = inner_column(field.name), type_of(field.field_type, field.name, table)
    column = Column(name, kind, not field.required)
    in_files = _in_files(field.field_type, field.name, table)
    return column, SourceField(name, f"__absent_{field.field_id}", in_files, number=field.field_id)


def type_of(kind: Any, column: str, table: str) -> str:
    """Spark's simple text for a type."""
    return _written(kind, column, table, "{name}:{type}", ("array<{}>", "map<{},{}>", "struct<{}>"), ",")


def _in_files(kind: Any, column: str, table: str) -> str:
    """Spark's DDL for a type."""
    forms = ("ARRAY<{}>", "MAP<{}, {}>", "STRUCT<{}>")
    return _written(kind, column, table, "`{name}`: {type}", forms, ", ")


def _written(kind: Any, column: str, table: str, part: str, forms: tuple[str, str, str], between: str) -> str:
    from pyiceberg.types import DecimalType, ListType, MapType, StructType

    def inner(one: Any) -> str:
        return _written(one, column, table, part, forms, between)

    match kind:
        case DecimalType():
            return f"decimal({kind.precision},{kind.scale})"
        case ListType():
            return forms[0].format(inner(kind.element_type))
        case MapType():
            return forms[1].format(inner(kind.key_type), inner(kind.value_type))
        case StructType():
            parts = (part.format(name=own.name, type=inner(own.field_type)) for own in kind.fields)
            return forms[2].format(between.join(parts))
        case _ if str(kind) in _PLAIN:
            return _PLAIN[str(kind)]
        case _:
            raise _not_read(f"the type {kind}", column, table)


def _not_read(what: str, column: str, table: str) -> Unsupported:
    return Unsupported(
        f"The Iceberg table {table} cannot be followed.",
        f"Its column {column} has {what}, which is not read.",
        "Drop the column from the table, or cast it there.",
        columns=(column,),
    )
