"""Rows of DataFrames as Python values, for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame


def rows(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    """The bag of a small DataFrame's rows."""
    return Counter(tuple(row) for row in frame.collect())


def bag(items: Iterable[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(items)
