"""Rows that are equal, as numbers: what joins and groups compare.

    GROUP BY, <=>, DISTINCT    NULL equals NULL, NaN equals NaN, −0.0 equals 0.0
    exact                      the same, but −0.0 is not 0.0
    =                          NULL equals nothing

Values of any type, nested ones too, become codes: whole numbers, equal where the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]


def group_codes(columns: Iterable[pa.ChunkedArray], rows: int, exact: bool = False) -> Codes:
    """The number of each row's group; groups are numbered in the order in which they come."""
    codes = np.zeros(rows, dtype=np.int64)
    for column in columns:
        found = comparable(column, exact).dictionary_encode(null_encoding="encode")
        paired = pa.array(
            codes * max(len(found.dictionary), 1) + found.indices.to_numpy(zero_copy_only=False)
        )
        codes = paired.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def first_rows(codes: Codes) -> Codes:
    """The place of the first row of each group."""
    first = np.zeros(int(codes.max()) + 1 if len(codes) else 0, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes), dtype=np.int64)[::-1]
    return first


def match_codes(
    left: Sequence[pa.ChunkedArray],
    right: Sequence[pa.ChunkedArray],
    null_safe: Sequence[bool],
    rows: tuple[int, int],
    exact: bool = False,
) -> tuple[pa.Array, pa.Array]:
    """Codes of the rows of two sides, equal where all columns are; NULL for a row that equals none."""
    mine, theirs = (pa.array(np.zeros(number, dtype=np.int64)) for number in rows)
    for one, other, is_safe in zip(left, right, null_safe, strict=True):
        known = comparable(other, exact)
        values = pc.unique(known)
        found = (
            pc.index_in(column, value_set=values, skip_nulls=not is_safe)
            for column in (comparable(one, exact), known)
        )
        paired = [
            pc.add(pc.multiply(codes, max(len(values), 1)), indices.cast(pa.int64()))
            for codes, indices in zip((mine, theirs), found, strict=True)
        ]
        dense = pc.unique(paired[1].drop_null())
        mine, theirs = (pc.index_in(codes, value_set=dense).cast(pa.int64()) for codes in paired)
    return mine, theirs


def comparable(column: pa.ChunkedArray | pa.Array, exact: bool = False) -> pa.Array:
    """Values of a type that Arrow compares, equal where Spark finds these equal."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_floating(values.type):
        return float_order(values, exact)
    if pa.types.is_nested(values.type):
        return pa.array([None if v is None else _text(v, exact) for v in values.to_pylist()], pa.string())
    return values


def float_order(values: pa.Array, exact: bool = False) -> pa.Array:
    """Floats as whole numbers that have their order in Spark, where NaN is the greatest."""
    wide = values.cast(pa.float64())
    same = pc.if_else(pc.is_nan(wide), math.nan, wide if exact else pc.add(wide, 0.0))
    bits = same.view(pa.int64())
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, 2**63 - 1), bits)


def floats_of(order: pa.Array, kind: pa.DataType) -> pa.Array:
    """The floats that have these places in the order."""
    bits = pc.if_else(pc.less(order, 0), pc.bit_wise_xor(order, 2**63 - 1), order)
    return bits.view(pa.float64()).cast(kind, safe=False)


def _text(value: Any, exact: bool) -> str:
    """A nested value as a text, the same for equal ones; a map is the set of its entries."""
    match value:
        case dict():
            return f"({', '.join(_text(part, exact) for part in value.values())})"
        case [(_, _), *_] if all(isinstance(part, tuple) for part in value):
            return f"{{{', '.join(sorted(_text(list(part), exact) for part in value))}}}"
        case list():
            return f"[{', '.join(_text(part, exact) for part in value)}]"
        case float():
            return repr(value if exact else value + 0.0)
        case _:
            return repr(value)
