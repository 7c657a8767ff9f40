"""Tables that the Delta project wrote for its own readers, at every version that they have.

What can be read has the rows that `deltalake` reads, where that can read it, and the difference of two
versions leads from one to the other. What cannot gets an error that names what is in the way.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from tests.following.golden import tables
from viewkeeper.algebra.schema import COUNT
from viewkeeper.errors import ViewkeeperError
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.followed import rows_in_files
from viewkeeper.spark.frames import counted
from viewkeeper.spark.read import Reader
from viewkeeper.storage.following.delta_format import DeltaFormat
from viewkeeper.storage.following.formats import Observed
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState

DELTA = DeltaFormat()

MANY = 50_000
"""Of tables of more rows only the number of rows is compared."""

IN_THE_WAY = {
    "canonicalized-paths-normal-a": "does not say what columns it has",
    "canonicalized-paths-normal-b": "does not say what columns it has",
    "canonicalized-paths-special-a": "does not say what columns it has",
    "canonicalized-paths-special-b": "does not say what columns it has",
    "checkpoint": "checkpoint/1 is missing",
    "collations-preview-table": "utf8_lcase_col is of type string collate",
    "collations-table": "utf8_lcase_col is of type string collate",
    "corrupted-last-checkpoint": "does not say what columns it has",
    "data-reader-absolute-paths-escaped-chars": "There is no metadata",
    "delete-re-add-same-file-different-transactions": "/foo is missing",
    "deltalog-commit-info": "does not say what columns it has",
    "deltalog-getChanges": "fake/path/1 is missing",
    "deltalog-invalid-protocol-version": "version 99 of the protocol",
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": "does not say what columns it has",
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": "does not say what columns it has",
    "deltalog-state-reconstruction-without-metadata": "There is no metadata",
    "deltalog-state-reconstruction-without-protocol": "does not say how it is to be read",
    "log-replay-special-characters": "special p@#h is missing",
    "log-replay-special-characters-a": "special p@#h is missing",
    "log-replay-special-characters-b": "special p@#h is missing",
    "snapshot-vacuumed": "-c000.snappy.parquet is missing",
    "spark-variant-checkpoint": "features that are not read: variantType-preview",
    "update-deleted-directory": "does not say what columns it has",
    "versions-not-contiguous": "does not say what columns it has",
}
"""The tables of which some version cannot be read, with what the error on the first of them says."""

MISREAD = ("columnmapping", "icebegCompat", "basic-decimal-table")
"""What `deltalake` reads as NULLs, for it knows no column mapping, or not at all."""


@pytest.fixture(scope="module")
def reader(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(SparkEngine(spark, Folder(str(tmp_path_factory.mktemp("golden")))))


def test_the_tables_are_all_looked_at() -> None:
    found = {path.name for path in tables()}
    assert not found or (len(found) >= 80 and found >= IN_THE_WAY.keys())


@pytest.mark.parametrize("path", tables() or [None], ids=lambda path: path.name if path else "none")
def test_every_version_is_read_right_or_told_why_not(path: Path | None, reader: Reader) -> None:
    if path is None:
        assert tables() == []
        return
    problems: list[str] = []
    before: tuple[Observed, Counter[str]] | None = None
    for version in range(DELTA.newest(str(path), ()) + 1):
        try:
            observed, found = read(reader, path, version)
        except ViewkeeperError as error:
            problems.append(str(error))
            before = None
            continue
        check_against_deltalake(path, version, observed, found)
        if before is not None and before[0].columns == observed.columns:
            assert stepped(reader, before, observed) == bag(found)
        before = observed, bag(found)
    expected = IN_THE_WAY.get(path.name)
    assert (expected is None) == (problems == [])
    assert expected is None or expected in problems[0], problems[0]


def read(reader: Reader, path: Path, version: int) -> tuple[Observed, pa.Table]:
    observed = DELTA.observed(str(path), (), version)
    files = DELTA.files(observed.followed)
    rows = sum(file.rows for file in files)
    state = RelationState("none", observed.columns, version, rows, followed=observed.followed)
    found = reader.visible(state).toArrow()
    assert found.num_rows == rows
    return observed, found


def check_against_deltalake(path: Path, version: int, observed: Observed, found: pa.Table) -> None:
    if any(part in path.name for part in MISREAD):
        return
    try:
        theirs = DeltaTable(str(path), version=version).to_pyarrow_table()
    except (DeltaError, OSError, ValueError):
        return
    assert found.num_rows == theirs.num_rows
    assert bag(found) == bag(theirs.select([column.name for column in observed.columns]))


def stepped(reader: Reader, before: tuple[Observed, Counter[str]], observed: Observed) -> Counter[str]:
    """The rows of a version by what changed since the one before it."""
    old, rows = before
    files = DELTA.difference(old.followed, observed.followed, 1).files
    state = RelationState("none", observed.columns, 0, 0, followed=observed.followed)
    found = Counter(rows)
    changes = rows_in_files(reader.engine, state, files, counted(observed.columns)).toArrow()
    counts = changes.column(COUNT).to_pylist()
    for row, count in zip(texts(changes.drop([COUNT])), counts, strict=True):
        found[row] += count
    return Counter({row: count for row, count in found.items() if count})


def bag(table: pa.Table) -> Counter[str]:
    return Counter(texts(table)) if table.num_rows <= MANY else Counter({"rows": table.num_rows})


def texts(table: pa.Table) -> list[str]:
    """Rows as texts, which tell NaN, maps and times apart by what they show."""
    columns: list[list[Any]] = [column.to_pylist() for column in table.columns]
    return [repr(row) for row in zip(*columns, strict=True)]
