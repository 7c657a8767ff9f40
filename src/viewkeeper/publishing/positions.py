"""Where rows that are gone stand in the files of a published table.

Files are asked whose ranges have room for such a row, and of these only the columns by which rows are
compared: the key, or all where there is none. Of equal rows as many are taken as are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.arrow.equality import Codes, first_rows, group_codes, match_codes
from viewkeeper.errors import StorageError
from viewkeeper.publishing.files import ends_of, places_left, read_columns
from viewkeeper.publishing.table import PublishedFile
from viewkeeper.storage.objects import Folder


@dataclass(frozen=True)
class Touched:
    """A file, and which of its rows count after a change."""

    file: PublishedFile
    left: npt.NDArray[np.bool_]


def touched_files(
    folder: Folder, table: str, files: Sequence[PublishedFile], gone: pa.Table, by: Sequence[str]
) -> list[Touched]:
    """The files that hold the rows that are gone, each without them."""
    if not gone.num_rows:
        return []
    wanted = gone.select(list(by))
    codes = group_codes(wanted.columns, wanted.num_rows, exact=True)
    first = first_rows(codes)
    missing = np.bincount(codes, minlength=len(first))
    rows = wanted.take(pa.array(first))
    found = []
    for file in files:
        if missing.any() and _may_hold(file, rows):
            left = places_left(folder, table, file)
            places = _places(read_columns(folder, table, file, rows.schema), rows, left, missing)
            if len(places):
                left[places] = False
                found.append(Touched(file, left))
    if missing.any():
        raise StorageError(
            f"The published table {folder.delta_address(table)} lacks {int(missing.sum())} rows of its view.",
            "Another program has changed it.",
            "Unpublish the view, which removes the table, and publish it again.",
        )
    return found


def _places(
    rows: pa.Table, gone: pa.Table, left: npt.NDArray[np.bool_], missing: Codes
) -> npt.NDArray[np.int64]:
    """The places of the rows of a file that are taken; `missing` are then so many fewer."""
    safe = [True] * gone.num_columns
    codes, own = match_codes(rows.columns, gone.columns, safe, (rows.num_rows, gone.num_rows), exact=True)
    of_gone = np.empty(gone.num_rows, dtype=np.int64)
    of_gone[own.to_numpy(zero_copy_only=False)] = np.arange(gone.num_rows)
    is_match = codes.is_valid().to_numpy(zero_copy_only=False) & left
    places = np.flatnonzero(is_match)
    which = of_gone[codes.take(pa.array(places)).to_numpy(zero_copy_only=False).astype(np.int64)]
    order = np.argsort(which, kind="stable")
    which, places = which[order], places[order]
    rank = np.arange(len(which)) - np.searchsorted(which, which, side="left")
    taken = rank < missing[which]
    np.subtract.at(missing, which[taken], 1)
    found: npt.NDArray[np.int64] = places[taken]
    return found


def _may_hold(file: PublishedFile, rows: pa.Table) -> bool:
    """Whether some row that is gone may be in a file, by the ends of its columns."""
    known = dict(file.partition)
    return all(
        pc.any(pc.fill_null(pc.equal(rows[name].cast(pa.string()), known[name]), False)).as_py()
        if known.get(name) is not None
        else _overlaps(file.ranges.get(name), ends_of(rows[name]), rows[name])
        for name in rows.column_names
    )


def _overlaps(known: tuple[Any, Any] | None, wanted: tuple[Any, Any] | None, column: pa.ChunkedArray) -> bool:
    if known is None or wanted is None or column.null_count:
        return True
    return not (known[1] < wanted[0] or known[0] > wanted[1])
