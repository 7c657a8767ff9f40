"""Types of Spark as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from viewkeeper.algebra.schema import Column

_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(text: str) -> pa.DataType | None:
    """Arrow's type for one of Spark's; None where there is no plain counterpart."""
    if text.startswith("decimal("):
        precision, scale = text.removeprefix("decimal(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return _TYPES.get(text)


def driver_type(text: str) -> pa.DataType | None:
    """The type of values on the driver, where they pass to it and back unchanged."""
    return None if text.startswith("timestamp") else arrow_type(text)


def empty_table(columns: Iterable[Column]) -> pa.Table:
    """No rows of these columns; those without a plain Arrow type are of none."""
    return pa.table({column.name: pa.array([], arrow_type(column.type) or pa.null()) for column in columns})
