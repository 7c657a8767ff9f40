"""Casts between types, where Arrow gives what Spark does; others raise `NeedsSpark`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.arrow.decimals import to_decimal
from viewkeeper.errors import NeedsSpark


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in another type; one that does not fit is Spark's to tell."""
    of = values.type
    if of == kind:
        return values
    if pa.types.is_null(of):
        return pa.nulls(len(values), kind)
    if pa.types.is_decimal(kind) and (_is_exact(of) or pa.types.is_string(of)):
        return to_decimal(values, kind)
    if pa.types.is_floating(kind) and pa.types.is_decimal(of):
        return pa.array([None if one is None else float(one) for one in values.to_pylist()], kind)
    if pa.types.is_integer(kind) and pa.types.is_floating(of):
        return pc.trunc(values).cast(kind)
    if pa.types.is_integer(kind) and pa.types.is_decimal(of):
        return pa.array([None if one is None else int(one) for one in values.to_pylist()], kind)
    if _is_plain(of, kind):
        return values.cast(kind, safe=not pa.types.is_floating(kind))
    raise NeedsSpark(f"Only Spark casts {of} to {kind}.")


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _is_plain(of: pa.DataType, kind: pa.DataType) -> bool:
    """Whether the cast of Arrow is Spark's."""
    if pa.types.is_integer(kind):
        return bool(pa.types.is_integer(of) or pa.types.is_boolean(of))
    if pa.types.is_floating(kind):
        return bool(pa.types.is_integer(of) or pa.types.is_floating(of))
    if pa.types.is_string(kind):
        is_whole = pa.types.is_decimal(of) and of.scale == 0
        return bool(pa.types.is_integer(of) or pa.types.is_boolean(of) or pa.types.is_date(of) or is_whole)
    return bool(pa.types.is_date(kind) and pa.types.is_string(of))
