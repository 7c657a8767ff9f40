"""The first rows of a DataFrame, for people: with Spark's own message where the query fails."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException

from viewkeeper.errors import InvalidSQL


def first_rows(frame: Any, limit: int) -> tuple[list[str], list[tuple[Any, ...]], bool]:
    """Names, at most `limit` rows, and whether there are more."""
    try:
        rows = frame.limit(limit + 1).collect()
    except PySparkException as error:
        raise InvalidSQL("The query failed.", message_of(error)) from error
    return list(frame.columns), [tuple(row) for row in rows[:limit]], len(rows) > limit


def message_of(error: PySparkException) -> str:
    """Spark's message without the Java stack and the logical plan that follow it."""
    text = str(error).split("JVM stacktrace")[0].split("\n\tat ")[0]
    return text.split(";\n'")[0].strip()
