"""Rows on the driver, from Python values or from DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from viewkeeper.algebra.schema import Column
from viewkeeper.engine.rows import Held
from viewkeeper.engine.types import arrow_type


def held_rows(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Held:
    """Rows of these columns."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(each, arrow_type(c.type)) for each, c in zip(values, columns, strict=True)]
    return Held(pa.table(arrays, names=[c.name for c in columns]), tuple(columns))


def fetched(con: duckdb.DuckDBPyConnection, sql: str, columns: Sequence[Column]) -> Held:
    """What DuckDB answers, in these types."""
    found = con.sql(sql).to_arrow_table()
    arrays = [found[column.name].cast(arrow_type(column.type)) for column in columns]
    return Held(pa.table(arrays, names=[column.name for column in columns]), tuple(columns))


def bag(held: Held) -> Counter[tuple[Any, ...]]:
    """The rows with the number of their copies."""
    return Counter(zip(*(held.table[name].to_pylist() for name in held.table.column_names), strict=True))
