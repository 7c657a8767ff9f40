"""What columns are declared to be, beside the types that Spark computes with: CHAR(n), VARCHAR(n), NOT NULL.

Spark keeps CHAR(n) beside a column of strings, and pads by it where the column is compared. What is read from
files may always be NULL as far as Spark knows; `coalesce` with any value tells it better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column

CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of a column's metadata under which Spark keeps its declared type."""


def with_char_types(frame: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """The user's frame, whose columns of strings are known to be CHAR(n) or VARCHAR(n)."""
    return _with(frame, columns, lambda value, field, column: value)


def as_declared(frame: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """The same, whose columns that are NOT NULL are known to be so."""
    return _with(frame, columns, _not_null)


def _with(
    frame: DataFrame,
    columns: Iterable[Column],
    change: Callable[[Expression, StructField, Column], Expression],
) -> DataFrame:
    declared = {shown(column.name): column for column in columns}
    if not any(column.declared or not column.nullable for column in declared.values()):
        return frame
    return frame.select(*[_shown(field, declared[field.name], change) for field in frame.schema.fields])


def _shown(
    field: StructField, column: Column, change: Callable[[Expression, StructField, Column], Expression]
) -> Expression:
    value = change(F.col(f"`{field.name.replace('`', '``')}`"), field, column)
    told = {**field.metadata, CHAR_TYPE: column.declared} if column.declared else field.metadata
    return value.alias(field.name, metadata=told) if told else value.alias(field.name)


def _not_null(value: Expression, field: StructField, column: Column) -> Expression:
    is_known = column.nullable or not field.nullable
    return value if is_known else F.coalesce(value, _some_value(field.dataType))


def _some_value(kind: DataType) -> Expression:
    """A value of a type that Spark knows not to be NULL."""
    match kind:
        case DecimalType():
            return F.lit(Decimal(0).scaleb(-kind.scale))
        case ArrayType():
            return F.array().cast(kind)
        case MapType():
            return F.create_map().cast(kind)
        case StructType():
            return F.struct(*[F.lit(None).cast(f.dataType).alias(f.name) for f in kind.fields])
        case _:
            return F.expr(_LITERALS.get(kind.simpleString(), f"CAST(0 AS {kind.simpleString()})"))


_LITERALS = {
    "string": "''",
    "binary": "X''",
    "boolean": "false",
    "date": "DATE '1970-01-01'",
    "timestamp": "TIMESTAMP '1970-01-01 00:00:00'",
    "timestamp_ntz": "TIMESTAMP_NTZ '1970-01-01 00:00:00'",
}
