"""Files as frames, and frames as files; few rows pass between them on the driver."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary, WeakSet

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from viewkeeper.algebra.schema import Column
from viewkeeper.engine import port
from viewkeeper.engine.port import Place
from viewkeeper.engine.rows import Held
from viewkeeper.engine.types import driver_type
from viewkeeper.errors import MissingFile
from viewkeeper.spark.access import FileAccess, access_to
from viewkeeper.spark.arrow import has_plain_types, parquet_bytes, parquet_table
from viewkeeper.spark.failures import as_ours
from viewkeeper.spark.frames import Answer, columns_of, ddl, empty_frame, quoted
from viewkeeper.spark.layer_frames import placed, placed_rows
from viewkeeper.spark.narrowing import Needed
from viewkeeper.spark.work import Work
from viewkeeper.storage.footers import data_file, described_files
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.relation import DataFile

Pairs = tuple[tuple[str, str], ...]

RESULTS = "results"
"""Folder of intermediate results; nothing names them after the refresh."""


Origin = tuple[str, tuple[Column, ...], tuple[DataFile, ...]]
"""The relation, columns and files that a frame was opened for."""


class Files(Work):
    """The files of one warehouse."""

    def __init__(self, spark: SparkSession, folder: Folder) -> None:
        super().__init__(spark, folder)
        self._checked: set[str] = set()
        self._in_one_task: WeakKeyDictionary[DataFrame, int] = WeakKeyDictionary()  # joins that are in it
        self._few: WeakSet[DataFrame] = WeakSet()
        self._local: WeakKeyDictionary[Held, DataFrame] = WeakKeyDictionary()
        self._origins: WeakKeyDictionary[DataFrame, Origin] = WeakKeyDictionary()
        self._opened = lru_cache(self.limits.opened)(self._open)
        self._read = lru_cache(self.limits.opened)(self._read_by_spark)

    def files(self, relation: str, files: Iterable[DataFile], columns: Sequence[Column]) -> DataFrame:
        """The rows of some Parquet files, with the given columns; no job, no inference."""
        files = tuple(files)
        if not files:
            return self.empty(columns)
        self._check_sizes(relation, files)
        frame = self._opened(relation, tuple(columns), files)
        if not self.access.narrows:
            self._origins[frame] = relation, tuple(columns), files
        return self._of_few(frame, files)

    def _of_few(self, frame: DataFrame, files: Sequence[DataFile]) -> DataFrame:
        """The rows of files, in one partition where these hold few."""
        one = self.in_one_task(frame, sum(file.rows for file in files))
        if frame in self._origins:
            self._origins[one] = self._origins[frame]
        return one

    def narrowed(self, frame: DataFrame, needed: Needed) -> DataFrame:
        """The frame as far as a plan needs it: other columns are NULL, other files left out."""
        if frame not in self._origins:
            return frame
        relation, columns, files = self._origins[frame]
        some = tuple(column for column in columns if column.name in needed.columns) or columns[:1]
        wanted = tuple(file for file in files if needed.may_be_in(file, columns))
        if not wanted:
            return self.empty(columns)
        if len(some) == len(columns) and len(wanted) == len(files):
            return frame
        narrow = self._of_few(self._opened(relation, some, wanted), wanted)
        kept = {column.name for column in some}
        values = (quoted(c.name) if c.name in kept else f"CAST(NULL AS {c.type})" for c in columns)
        named = (f"{value} AS {quoted(c.name)}" for value, c in zip(values, columns, strict=True))
        return narrow.selectExpr(*named)

    def at_addresses(self, form: str, schema: str, paths: tuple[str, ...], options: Pairs = ()) -> DataFrame:
        """The rows of files at some addresses: of Parquet, with columns by their names there; no job."""
        return self._read(form, schema, paths, options)

    def _read_by_spark(self, form: str, schema: str, paths: tuple[str, ...], options: Pairs) -> DataFrame:
        with self.settings(), as_ours():
            reader = self.spark.read.format(form).options(**dict(options))
            return reader.schema(schema).load(list(paths))

    def _open(self, relation: str, columns: tuple[Column, ...], files: tuple[DataFile, ...]) -> DataFrame:
        with self.settings(), as_ours():
            return self.access.read(relation, columns, files)

    @cached_property
    def access(self) -> FileAccess:
        """How the session reads and writes the files of the warehouse."""
        return access_to(self.spark, self.folder)

    def open(
        self, relation: str, files: Iterable[DataFile], columns: Sequence[Column], most: int | None = None
    ) -> Answer:
        """The rows of some files; those of few are held while intermediate results are kept.

        `most`: so many are few.
        """
        files, most = tuple(files), self.limits.changes_held if most is None else most
        if not self._keeping or not 0 < sum(file.rows for file in files) <= most:
            return self.files(relation, files, columns)
        place = (relation, ddl(columns), *(file.path for file in files))
        with self._lock:
            if place not in self._held:
                table = self.driver_table(relation, files, columns)
                self._held[place] = None if table is None else Held(table, tuple(columns))
            held = self._held[place]
        return self.files(relation, files, columns) if held is None else held

    def driver_table(
        self, relation: str, files: Sequence[DataFile], columns: Sequence[Column]
    ) -> pa.Table | None:
        """The rows of some files; None where Arrow might not read them as Spark does, or others own them."""
        if any(file.part is not None for file in files):
            return None
        self._check_sizes(relation, files)
        try:
            return parquet_table([self.folder.read(join(relation, f.path)) for f in files], columns)
        except pa.ArrowException:
            return None

    def are_there(self, relation: str, files: Iterable[DataFile]) -> bool:
        return all(self.folder.size(join(relation, file.path)) is not None for file in files)

    def _check_sizes(self, relation: str, files: Sequence[DataFile]) -> None:
        """Spark takes a file of no bytes for one of no rows; the log knows better."""
        for file in files:
            path = join(relation, file.path)
            if path in self._checked:
                continue
            size = self.folder.size(path)
            if size != file.bytes:
                raise MissingFile(
                    f"The data file {self.folder.address(path)} is missing or damaged.",
                    f"It should have {file.bytes} bytes and has {size if size is not None else 'none'}.",
                    "Restore the file from a backup, or read an earlier version.",
                )
            if not self.folder.is_local:
                self._checked.add(path)

    def empty(self, columns: Sequence[Column]) -> DataFrame:
        return empty_frame(self.spark, columns)

    def write(
        self, rows: Answer, relation: str, about: int | None = None, at: Place = port.FIRST
    ) -> tuple[DataFile, ...]:
        """Writes rows, with their place, below a relation's folder; one action, or none where they are held.
        Nothing names the files yet.

        `about`: about as many as there are, where that is known. It takes a second action where there are
        many more.
        """
        batch, most = join("data", uuid.uuid4().hex), self.limits.written_by_driver
        if isinstance(rows, Held):
            return self._written(placed_rows(rows.table, at), relation, join(batch, "part-0.parquet"))
        if about is not None and about <= most and has_plain_types(columns_of(rows)):
            table = self.collected(rows, most + 1)
            if table.num_rows <= most:
                return self._written(placed_rows(table, at), relation, join(batch, "part-0.parquet"))
        return self._written_by_spark(placed(rows, at) if at else rows, relation, batch, about)

    def write_table(self, table: pa.Table, relation: str) -> tuple[DataFile, ...]:
        """Writes rows that are on the driver below a relation's folder; no action."""
        return self._written(table, relation, join("data", uuid.uuid4().hex, "part-0.parquet"))

    def _written(self, table: pa.Table, relation: str, name: str) -> tuple[DataFile, ...]:
        if not table.num_rows:
            return ()
        content = parquet_bytes(table, self.spark.version)
        self.folder.create(join(relation, name), content)
        return (data_file(name, len(content), pq.read_metadata(pa.BufferReader(content))),)

    def _written_by_spark(
        self, frame: DataFrame, relation: str, batch: str, rows: int | None
    ) -> tuple[DataFile, ...]:
        if rows is not None and rows <= self.limits.one_file:
            frame = frame.coalesce(1)
        self.count_action()
        with self.settings(), as_ours():
            written = self.access.write(frame, join(relation, batch))
        return described_files(self.folder, relation, written)

    def write_result(self, rows: Answer, about: int | None = None) -> tuple[DataFile, ...]:
        """Writes an intermediate result, which is gone when no refresh runs any more; one action, or none
        where it is held."""
        return self._noted(self.write(rows, RESULTS, about))

    def stored(self, held: Held) -> DataFrame:
        """The frame of an intermediate result that is held, read from a file; no action."""
        frame = self.files(RESULTS, self.write_result(held), held.columns)
        self._local[held] = frame = self.sought(frame, held.rows)
        return frame

    def _noted(self, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
        with self._lock:
            self._results += sorted({join(RESULTS, file.path.rpartition("/")[0]) for file in files})
        return files

    def written_out(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame from files that hold them until the refresh is done; one action."""
        return self.files(RESULTS, self.write_result(frame), columns_of(frame))

    def frame(self, rows: Answer) -> DataFrame:
        """Rows as Spark takes them; no action."""
        if not isinstance(rows, Held):
            return rows
        with self._lock:
            if rows not in self._local:
                is_plain = all(driver_type(column.type) is not None for column in rows.columns)
                self._local[rows] = self.local(rows.table, rows.columns) if is_plain else self.stored(rows)
            return self._local[rows]

    def local(self, table: pa.Table, columns: Sequence[Column]) -> DataFrame:
        """A DataFrame of rows that are on the driver; no action. Spark would stop at an empty chunk."""
        with self.settings():
            frame = self.spark.createDataFrame(table.combine_chunks(), ddl(columns))
        return self.sought(self.in_one_task(frame, table.num_rows), table.num_rows)

    def sought(self, frame: DataFrame, rows: int) -> DataFrame:
        """The frame, which is hashed where it is looked up if it has few rows."""
        if rows <= self.limits.hashed:
            self._few.add(frame)
        return frame

    def in_one_task(self, frame: DataFrame, rows: int) -> DataFrame:
        """The frame as one partition where it has few rows: joins and aggregates over it need no shuffle."""
        return self.in_one(frame) if rows <= self.limits.one_task else frame

    def in_one(self, frame: DataFrame) -> DataFrame:
        """The frame as one partition."""
        if frame in self._in_one_task:
            return frame
        one = frame.coalesce(1)
        self._in_one_task[one] = self._in_one_task.get(frame, 0)
        return one
