"""Comparing two DataFrames as bags, both ways, with a tolerance for floating point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.schema import COUNT
from viewkeeper.spark.engine import Engine

DIGITS = 9
"""Floats are compared to this many significant digits: sums may differ by rounding."""

SHOWN = 20


@dataclass(frozen=True)
class Difference:
    """The rows that only one side has, with how many more copies it has."""

    only_left: tuple[dict[str, Any], ...]
    only_right: tuple[dict[str, Any], ...]
    tolerance: float | None

    def __bool__(self) -> bool:
        return bool(self.only_left or self.only_right)


def compare(engine: Engine, left: DataFrame, right: DataFrame, limit: int = SHOWN) -> Difference:
    """Bag difference both ways as one Spark action; no more than `limit` rows reach the driver."""
    names = left.columns
    floats = [name for name, kind in left.dtypes if kind in ("double", "float")]
    both = _signed(left, names, 1).unionByName(_signed(right, names, -1))
    rounded = both.select(*[_comparable(name, name in floats) for name in names], F.col(COUNT))
    counted = rounded.groupBy(*names).agg(F.sum(COUNT).alias(COUNT)).where(F.col(COUNT) != 0)
    rows = [row.asDict(recursive=True) for row in engine.rows(counted, limit)]
    extra = tuple({**row} for row in rows if row[COUNT] > 0)
    missing = tuple({**row, COUNT: -row[COUNT]} for row in rows if row[COUNT] < 0)
    return Difference(extra, missing, 10.0**-DIGITS if floats else None)


def _signed(frame: DataFrame, names: list[str], sign: int) -> DataFrame:
    renamed = frame.toDF(*names)
    return renamed.withColumn(COUNT, F.lit(sign).cast("bigint"))


def _comparable(name: str, is_float: bool) -> Expression:
    value = F.col(f"`{name}`")
    return _significant(value).alias(name) if is_float else value


def _significant(value: Expression) -> Expression:
    """The value as text with nine significant digits; zero and what is not finite as they are."""
    text = F.format_string(f"%.{DIGITS - 1}e", value.cast("double"))
    plain = (value == 0) | F.isnan(value) | (F.abs(value) == float("inf"))
    return F.when(plain, (value.cast("double") + 0.0).cast("string")).otherwise(text)


def same_rows(engine: Engine, left: DataFrame, right: DataFrame) -> bool:
    return not compare(engine, left, right, limit=1)
