"""What a failing Spark job raises, as our errors: they name the file, or the place in the user's SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from viewkeeper.errors import InvalidSQL, MissingFile, ViewkeeperError, WrongType
from viewkeeper.spark.char_types import raised_too_long

FAILURES = (PySparkException, Py4JError)
"""Spark's own error, or the JVM's as it is."""

_ABOUT_VALUES = ("CAST_", "NUMERIC_", "ARITHMETIC_", "CANNOT_PARSE")

_FILE = r"((?:file:)?/[^\s'\"]+?\.parquet)"
_GONE = r"(?:does not exist|is not a Parquet file|not found|FileNotFound|PATH_NOT_FOUND|FAILED_READ_FILE)"
_MISSING = re.compile(rf"{_FILE}.*{_GONE}|{_GONE}.*?{_FILE}", re.S)


@contextmanager
def as_ours() -> Iterator[None]:
    """What Spark raises in here is raised as ours."""
    try:
        yield
    except FAILURES as error:
        raise translated(error) from error


def translated(error: Exception) -> ViewkeeperError:
    """Spark's error as ours: it names the file or the place in the user's SQL."""
    text = str(error)
    missing = _MISSING.search(text)
    if missing:
        path = missing.group(1) or missing.group(2)
        return MissingFile(
            f"The data file {path} is missing or damaged.",
            text.splitlines()[0],
            "Restore the file from a backup, or read an earlier version.",
        )
    if "No module named 'viewkeeper'" in text:
        return ViewkeeperError(
            "The Python of Spark's executors has no viewkeeper.",
            "Where Spark has no connector for an object store, its tasks read and write files with it.",
            "Install viewkeeper there, or set PYSPARK_PYTHON to a Python that has it before Spark starts.",
        )
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition == "USER_RAISED_EXCEPTION" and (found := raised_too_long(text)):
        return found
    if isinstance(error, (AnalysisException, ParseException)):
        return InvalidSQL("Spark does not accept this SQL.", text.strip(), code=condition)
    if condition and (_is_about_values(error) or condition.startswith(_ABOUT_VALUES)):
        return WrongType("A value does not fit.", _first_lines(text), code=condition)
    return ViewkeeperError("Spark could not run the job.", _first_lines(text), code=condition)


def _is_about_values(error: Exception) -> bool:
    """Whether an error is what SQL calls a data exception: a value that an expression cannot take."""
    return isinstance(error, PySparkException) and (error.getSqlState() or "").startswith("22")


def _first_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[:6])
