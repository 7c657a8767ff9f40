"""Maps where rows are compared: Spark neither orders, hashes nor equates them.

For the while of a comparison a map is the sorted array of its entries, which is the same for equal maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.schema import Column


def map_columns(columns: Iterable[Column]) -> dict[str, str]:
    """The columns that are maps, with their types."""
    return {column.name: column.type for column in columns if column.type.startswith("map<")}


def has_map_inside(kind: str) -> bool:
    """Whether a type has maps in it that are not the whole of it."""
    return "map<" in kind.removeprefix("map<")


def entry_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns with the types that they have while they are compared."""
    return tuple(replace(c, type=_entries(c.type)) if c.type.startswith("map<") else c for c in columns)


def _entries(kind: str) -> str:
    """map<string,int> → array<struct<key:string,value:int>>"""
    inner, depth = kind[len("map<") : -1], 0
    for place, character in enumerate(inner):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            return f"array<struct<key:{inner[:place]},value:{inner[place + 1 :]}>>"
    raise AssertionError(f"{kind} is no map")


def comparable(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with entries in the place of maps."""
    return _changed(frame, columns, lambda value, _: F.array_sort(F.map_entries(value)))


def restored(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with maps again."""
    return _changed(frame, columns, lambda value, kind: F.map_from_entries(value).cast(kind))


def _changed(
    frame: DataFrame, columns: Sequence[Column], change: Callable[[Expression, str], Expression]
) -> DataFrame:
    """The frame with another value for each map that it has."""
    maps = map_columns(columns)
    own = set(frame.columns) if maps else set()
    values = {name: change(F.col(f"`{name}`"), kind) for name, kind in maps.items() if name in own}
    return frame.withColumns(values) if values else frame
