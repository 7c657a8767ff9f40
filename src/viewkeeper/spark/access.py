"""Where files of a warehouse are read and written: by Spark itself, or by Arrow in Spark's tasks.

| the warehouse is                                                  | files are read and written by        |
|-------------------------------------------------------------------|--------------------------------------|
| on a disk, or in a store for which the session has a connector    | Spark's own readers and writers      |
| in a store for which it has none                                  | Arrow and obstore, in `mapInArrow`   |

Whether a connector reads this store is tried once: it must see a file that obstore has just put there.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from viewkeeper.algebra.schema import Column
from viewkeeper.arrow.types import stored_type
from viewkeeper.spark.failures import FAILURES
from viewkeeper.spark.frames import ddl, quoted
from viewkeeper.spark.tasks import ReadTask, WriteTask, read_files, write_files
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.relation import DataFile
from viewkeeper.storage.stores import hadoop_options

BYTES_OF_TASK = 32 * 1024 * 1024
"""Files of so many bytes are read by one task, one after the other."""

_MISSING_CONNECTOR = re.compile(r"No FileSystem for scheme|ClassNotFoundException|Class \S+ not found")


class FileAccess(Protocol):
    """How a session reads and writes the files of one folder."""

    @property
    def told(self) -> str:
        """What `explain` says of it; nothing where there is nothing to choose."""

    @property
    def narrows(self) -> bool:
        """Whether Spark finds out itself which columns and files a plan needs."""

    def read(self, relation: str, columns: Sequence[Column], files: Sequence[DataFile]) -> DataFrame:
        """The rows of some Parquet files of a relation; no job."""

    def write(self, frame: DataFrame, path: str) -> list[tuple[str, int]]:
        """Writes a frame as Parquet files below a path; one action. Their paths and sizes."""


@dataclass(frozen=True)
class SparkAccess:
    """Spark's own readers and writers."""

    spark: SparkSession
    folder: Folder
    told: str = ""
    narrows: bool = True

    def read(self, relation: str, columns: Sequence[Column], files: Sequence[DataFile]) -> DataFrame:
        reader = self.spark.read.options(**hadoop_options(self.folder.options))
        addresses = [self.folder.address(join(relation, file.path)) for file in files]
        return reader.schema(ddl(columns)).parquet(*addresses)

    def write(self, frame: DataFrame, path: str) -> list[tuple[str, int]]:
        writer = frame.write.options(**hadoop_options(self.folder.options))
        writer.mode("append").parquet(self.folder.address(path))
        return sorted((p, s) for p, s in self.folder.listed(path) if p.endswith(".parquet"))


@dataclass(frozen=True)
class ArrowAccess:
    """Arrow and obstore in Python tasks: `viewkeeper` and its storage options are all that executors need."""

    spark: SparkSession
    folder: Folder
    told: str = ""
    narrows: bool = False

    def read(self, relation: str, columns: Sequence[Column], files: Sequence[DataFile]) -> DataFrame:
        """Spark takes the rows for as many as there are, so that it sends no large input around as small."""
        tasks = _tasks(relation, files)
        rows = max(1, ceil(sum(file.rows for file in files) / len(tasks)))
        schema = _schema(columns)
        reading = ReadTask(self.folder.url, self.folder.options, schema, tasks, rows)
        numbers = self.spark.range(0, rows * len(tasks), 1, len(tasks)).where(f"id % {rows} = 0")
        return numbers.mapInArrow(lambda asked: read_files(reading, asked), ddl(columns))

    def write(self, frame: DataFrame, path: str) -> list[tuple[str, int]]:
        """A task that fails may leave files behind; those that are told are of tasks that did not."""
        writing = WriteTask(self.folder.url, self.folder.options, path, self.spark.version)
        written = frame.mapInArrow(lambda rows: write_files(writing, rows), "path STRING, bytes BIGINT")
        return sorted((row.path, row.bytes) for row in written.collect())


def _schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, stored_type(column.type)) for column in columns])


def _tasks(relation: str, files: Sequence[DataFile]) -> tuple[tuple[str, ...], ...]:
    """Files by the tasks that read them."""
    tasks: list[list[str]] = [[]]
    size = 0
    for file in files:
        if tasks[-1] and size + file.bytes > BYTES_OF_TASK:
            tasks.append([])
            size = 0
        tasks[-1].append(join(relation, file.path))
        size += file.bytes
    return tuple(map(tuple, tasks))


def access_to(spark: SparkSession, folder: Folder) -> FileAccess:
    """How a session reads and writes the files of a folder."""
    if folder.is_local:
        return SparkAccess(spark, folder)
    why = why_not_by_spark(spark, folder)
    if not why:
        return SparkAccess(spark, folder, f"Spark's connector reads and writes {folder.url}")
    return ArrowAccess(spark, folder, f"Arrow reads and writes {folder.url} in Python tasks: {why}")


def why_not_by_spark(spark: SparkSession, folder: Folder) -> str:
    """Why a session cannot read a store by itself; empty where it can."""
    probe = f"probe-{uuid.uuid4()}"
    folder.replace(probe, b"")
    try:
        reader = spark.read.options(**hadoop_options(folder.options)).schema(f"{quoted('x')} INT")
        reader.parquet(folder.address(probe)).columns  # noqa: B018 - Spark looks for the file
    except FAILURES as error:
        if _MISSING_CONNECTOR.search(str(error)):
            return f"the session has no connector for {folder.address('').partition(':')[0]}"
        return f"the session's connector cannot read it ({str(error).splitlines()[0][:200]})"
    finally:
        folder.delete([probe])
    return ""
