"""Frames and their columns, and the text of plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pyspark.sql import DataFrame, SparkSession

from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.relations import Join, Relation
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.engine.rows import Held
from viewkeeper.spark.declared import CHAR_TYPE
from viewkeeper.sql.render import SPARK, render, state_name

Answer = DataFrame | Held
"""Rows wherever they are."""


def empty_frame(spark: SparkSession, columns: Sequence[Column]) -> DataFrame:
    """No rows of these columns, as a constant that the optimizer sees through."""
    nulls = ", ".join(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns)
    return spark.sql(f"SELECT {nulls} WHERE false")


def ddl(columns: Sequence[Column]) -> str:
    """The columns as Spark's DDL text; files may hold more columns than asked for."""
    return ", ".join(f"{quoted(c.name)} {c.type}" for c in columns)


def quoted(name: str) -> str:
    """Any name as Spark's SQL takes it."""
    return f"`{name.replace('`', '``')}`"


def counted(columns: Iterable[Column]) -> tuple[Column, ...]:
    return (*columns, Column(COUNT, "bigint", nullable=False))


def columns_of(frame: DataFrame) -> tuple[Column, ...]:
    return tuple(
        Column(f.name, f.dataType.simpleString(), f.nullable, f.metadata.get(CHAR_TYPE, ""))
        for f in frame.schema.fields
    )


def types_of(rows: Answer) -> dict[str, str]:
    columns = rows.columns if isinstance(rows, Held) else columns_of(rows)
    return {column.name: column.type for column in columns}


@lru_cache(maxsize=1024)
def text_of(
    rel: Relation, in_place: frozenset[Join] = frozenset(), by_hash: frozenset[Join] = frozenset()
) -> str:
    """The SQL of a plan with explicit counts, in which slots stand for its leaves. The next refresh of a view
    mostly has the same plans."""
    return render(
        rel, SPARK, lambda leaf: slot(state_name(leaf)), pretty=False, in_place=in_place, hashed=by_hash
    )


def slot(name: str) -> str:
    """A name that no user's SQL holds, to be replaced by a DataFrame."""
    return f"vkslot_{inner_column(name)}_"
