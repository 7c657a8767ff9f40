"""Frames in the form of layers: the columns that are stored, their types, and their place in the order."""

from __future__ import annotations

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.storage.layers import REPLACES, SEQUENCE
from viewkeeper.storage.relation import RelationState


def layer_columns(state: RelationState, names: list[str]) -> tuple[Column, ...]:
    """The stored columns that a layer has, and its counts if it has any."""
    columns = tuple(column for column in state.columns if column.name in names)
    return (*columns, Column(COUNT, "bigint", nullable=False)) if COUNT in names else columns


def placed(sequence: int, replaces: bool) -> dict[str, Expression]:
    return {SEQUENCE: F.lit(sequence).cast("bigint"), REPLACES: F.lit(replaces)}


def cast_to(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """The frame with these columns, in order, by position where the names agree."""
    types = dict(frame.dtypes)
    texts = [
        f"`{c.name}`" if types.get(c.name) == c.type else f"CAST(`{c.name}` AS {c.type}) AS `{c.name}`"
        for c in columns
    ]
    return frame.selectExpr(*texts)
