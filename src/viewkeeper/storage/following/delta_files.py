"""The files of a Delta table as parts of a relation: how many rows, with which values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from viewkeeper.algebra.schema import COUNT
from viewkeeper.storage.deletion_vectors import DeletionVector
from viewkeeper.storage.following.delta_actions import Added
from viewkeeper.storage.following.places import footer
from viewkeeper.storage.following.state import FilePart, SourceField
from viewkeeper.storage.footers import json_range
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile

_EXACT = ("tinyint", "smallint", "int", "bigint", "string", "date")
"""Types whose statistics in the log are values that sort as in Spark."""


def rows_held(folder: Folder, file: Added) -> int:
    """The rows of a file, deleted ones included: the log tells, or else the file."""
    known = _statistics(file).get("numRecords")
    return int(known) if known is not None else int(footer(folder, file.path, file.size).num_rows)


def data_file(
    file: Added,
    fields: Iterable[SourceField],
    held: int,
    sign: int = 1,
    commit: int | None = None,
) -> DataFile:
    """All rows of a file that count, with what the log tells of their values."""
    rows = held - (file.vector.rows if file.vector else 0)
    ranges, nulls = _told(file, tuple(fields))
    part = FilePart(sign, held, file.partition, without=file.vector, commit=commit)
    return DataFile(file.path, rows, file.size, {**ranges, COUNT: (sign, sign)}, nulls, part)


def some_rows(whole: DataFile, within: DeletionVector, without: DeletionVector | None, rows: int) -> DataFile:
    """The rows of a file that one deletion vector names and another one does not."""
    assert whole.part is not None
    return replace(whole, rows=rows, part=replace(whole.part, within=within, without=without))


def _statistics(file: Added) -> Mapping[str, Any]:
    try:
        found = json.loads(file.stats) if file.stats else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _told(file: Added, fields: tuple[SourceField, ...]) -> tuple[dict[str, tuple[Any, Any]], frozenset[str]]:
    """Least and greatest values by column, and the columns that have NULLs, or may have."""
    told, values = _statistics(file), dict(file.partition)
    low, high, missing = (told.get(name) or {} for name in ("minValues", "maxValues", "nullCount"))
    ranges, nulls = {}, set()
    for one in fields:
        if one.partition:
            pair = _range(one, values.get(one.physical), values.get(one.physical))
            has_nulls = values.get(one.physical) is None
        else:
            pair = _range(one, low.get(one.physical), high.get(one.physical))
            has_nulls = missing.get(one.physical) != 0
        if pair is not None:
            ranges[one.name] = pair
        if has_nulls:
            nulls.add(one.name)
    return ranges, frozenset(nulls)


def _range(field: SourceField, low: Any, high: Any) -> tuple[Any, Any] | None:
    if low is None or high is None or field.type not in _EXACT:
        return None
    if field.type not in ("string", "date"):
        try:
            return int(low), int(high)
        except (TypeError, ValueError):
            return None
    return json_range(low, high) if isinstance(low, str) and isinstance(high, str) else None
