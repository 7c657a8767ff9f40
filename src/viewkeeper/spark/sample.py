"""Samples of rows by what they are about, so that two bags that should be equal have equal samples."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from viewkeeper.spark.canonical_values import is_plain


def can_be_hashed(kind: DataType) -> bool:
    """Whether equal values of a type have equal hashes, whatever the rounding: no floats, no collations."""
    return is_plain(kind)


def bucket(frame: DataFrame, places: Sequence[int], buckets: int, number: int) -> DataFrame:
    """The rows whose values at some places hash to one of several buckets; Spark pushes that down."""
    if buckets == 1:
        return frame
    names = frame.columns
    numbered = frame.toDF(*(f"c{place}" for place in range(len(names))))
    hashed = F.pmod(F.xxhash64(*(F.col(f"c{place}") for place in places)), F.lit(buckets))
    return numbered.where(hashed == number).toDF(*names)
