"""Frames in the form of layers: the columns that are stored, their types, and their place in the order."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.merge.layers import REPLACES, SEQUENCE
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.engine.port import Place
from viewkeeper.storage.relation import RelationState


def layer_columns(state: RelationState, names: list[str]) -> tuple[Column, ...]:
    """The stored columns that a layer has, and its counts if it has any."""
    columns = tuple(column for column in state.columns if column.name in names)
    return (*columns, Column(COUNT, "bigint", nullable=False)) if COUNT in names else columns


def place(sequence: int, replaces: bool | None = None) -> Place:
    """The place of a layer in the order of layers, and, of one that merges by key, whether it replaces."""
    return {SEQUENCE: sequence} if replaces is None else {SEQUENCE: sequence, REPLACES: replaces}


def placed(frame: DataFrame, at: Place) -> DataFrame:
    """A frame with its place. Spark writes numbers into the code that it compiles for a plan: with another
    number in each refresh, nothing that was compiled would serve again."""
    return frame.withColumns({name: F.lit(value).cast(_type(value)) for name, value in at.items()})


def placed_rows(table: pa.Table, at: Place) -> pa.Table:
    """Rows on the driver with their place."""
    for name, value in at.items():
        kind = pa.bool_() if isinstance(value, bool) else pa.int64()
        table = table.append_column(name, pa.repeat(pa.scalar(value, kind), table.num_rows))
    return table


def _type(value: int | bool) -> str:
    return "boolean" if isinstance(value, bool) else "bigint"


def cast_to(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """The frame with these columns, in order, by position where the names agree."""
    types = dict(frame.dtypes)
    texts = [
        f"`{c.name}`" if types.get(c.name) == c.type else f"CAST(`{c.name}` AS {c.type}) AS `{c.name}`"
        for c in columns
    ]
    return frame.selectExpr(*texts)
