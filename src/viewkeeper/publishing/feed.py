"""What a commit says to readers of a table's change data feed: rows, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.arrow.equality import match_codes

Marks = npt.NDArray[np.bool_]

KIND = "_change_type"
FOLDER = "_change_data/cdc-"


def change_rows(came: pa.Table, went: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows of a change with their kinds: a key that went and came is updated."""
    updated = _both(came, went, key)
    kinds = (("insert", "update_postimage"), ("delete", "update_preimage"))
    sides = zip((came, went), updated, kinds, strict=True)
    told = [rows.append_column(KIND, pa.array(np.where(both, *names[::-1]))) for rows, both, names in sides]
    return pa.concat_tables(told)


def _both(came: pa.Table, went: pa.Table, key: Sequence[str]) -> list[Marks]:
    """Of the rows of each side, whether their key is on the other one; nowhere without a key."""
    rows = came.num_rows, went.num_rows
    if not key:
        return [np.zeros(number, dtype=np.bool_) for number in rows]
    mine, theirs = (table.select(list(key)).columns for table in (came, went))
    codes = match_codes(mine, theirs, [True] * len(key), rows, exact=True)
    return [_among(own, other) for own, other in zip(codes, reversed(codes), strict=True)]


def _among(own: pa.Array, other: pa.Array) -> Marks:
    found: Marks = pc.is_in(own, value_set=other.drop_null()).to_numpy(zero_copy_only=False)
    return found


__all__ = ["FOLDER", "KIND", "change_rows"]
