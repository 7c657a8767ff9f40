"""Runs SQL text over files: reads, writes, and counts the Spark actions that it takes."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from viewkeeper import limits
from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.relations import Join, Relation
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.errors import MissingFile
from viewkeeper.planning.physical import (
    Facts,
    Fragment,
    Input,
    KnownTypes,
    Physical,
    lowered,
)
from viewkeeper.spark.arrow import has_plain_types, parquet_bytes, parquet_table
from viewkeeper.spark.declared import CHAR_TYPE
from viewkeeper.spark.failures import FAILURES, translated
from viewkeeper.spark.layer_frames import Place, placed, placed_rows
from viewkeeper.spark.session import settings
from viewkeeper.sql.render import SPARK, render, state_name
from viewkeeper.storage.footers import data_file, written_files
from viewkeeper.storage.objects import Folder, join
from viewkeeper.storage.overlay import has_plain_equality, one_layer
from viewkeeper.storage.relation import DataFile

RESULTS = "results"
"""Folder of intermediate results; nothing names them after the refresh."""


UNKNOWN = Input()


class Engine:
    """One Spark session at work for one warehouse."""

    def __init__(self, spark: SparkSession, folder: Folder) -> None:
        self.spark = spark
        self.folder = folder
        self.limits = limits.LIMITS
        self.actions = 0
        self._checked: set[str] = set()
        self._lock = threading.RLock()
        self._results: list[str] = []
        self._keeping = 0
        self._netting = 0
        self._settings = ExitStack()
        self._is_set = False
        self._held: dict[tuple[str, ...], DataFrame | None] = {}
        self._laid: dict[tuple[str, ...], pa.Table | None] = {}
        self._in_one_task: WeakKeyDictionary[DataFrame, int] = WeakKeyDictionary()  # joins that are in it
        self._few: WeakSet[DataFrame] = WeakSet()
        self._local: WeakKeyDictionary[DataFrame, pa.Table] = WeakKeyDictionary()
        self._opened = lru_cache(self.limits.opened)(self._open)

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """While this lasts, intermediate results stay: views that are refreshed side by side share them.

        So do the engine's settings: they are set once, with the first plan, and not for every plan.
        """
        with self._lock:
            self._keeping += 1
        try:
            yield
        finally:
            with self._lock:
                self._keeping -= 1
                results = [] if self._keeping else self._results
                if not self._keeping:
                    self._results, self._held, self._laid, self._is_set = [], {}, {}, False
                    self._settings.close()
            self.folder.delete([path for batch in results for path, _ in self.folder.listed(batch)])

    @contextmanager
    def netting(self) -> Iterator[None]:
        """While this lasts, no expression is evaluated for a row that came and went: what is read is net."""
        with self._lock:
            self._netting += 1
        try:
            yield
        finally:
            with self._lock:
                self._netting -= 1

    @property
    def is_netting(self) -> bool:
        return self._netting > 0

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Actions in here are not counted: those of checks are not a refresh's own."""
        before = self.actions
        try:
            yield
        finally:
            with self._lock:
                self.actions = before

    def settings(self) -> AbstractContextManager[None]:
        """The engine's settings, for a plan; while results are kept, they stay for those that follow."""
        with self._lock:
            if self._keeping and not self._is_set:
                self._settings.enter_context(settings(self.spark))
                self._is_set = True
        return settings(self.spark)

    def files(self, relation: str, files: Iterable[DataFile], columns: Sequence[Column]) -> DataFrame:
        """The rows of some Parquet files, with the given columns; no job, no inference."""
        files = tuple(files)
        if not files:
            return self.empty(columns)
        self._check_sizes(relation, files)
        paths = tuple(self.folder.address(join(relation, file.path)) for file in files)
        return self.in_one_task(self._opened(ddl(columns), paths), sum(file.rows for file in files))

    def parquet(self, schema: str, paths: tuple[str, ...]) -> DataFrame:
        """The rows of Parquet files at some addresses, with columns by their names there; no job."""
        return self._opened(schema, paths)

    def _open(self, schema: str, paths: tuple[str, ...]) -> DataFrame:
        with self.settings():
            try:
                return self.spark.read.schema(schema).parquet(*paths)
            except FAILURES as error:
                raise translated(error) from error

    def few(self, relation: str, files: Iterable[DataFile], columns: Sequence[Column]) -> DataFrame:
        """The rows of some files; few are read once while intermediate results are kept, and Spark is handed
        them with every plan that uses them."""
        files = tuple(files)
        if not self._keeping or not 0 < sum(file.rows for file in files) <= self.limits.changes_held:
            return self.files(relation, files, columns)
        place = (relation, ddl(columns), *(file.path for file in files))
        with self._lock:
            if place not in self._held:
                self._held[place] = self._driver_rows(relation, files, columns)
            held = self._held[place]
        return self.files(relation, files, columns) if held is None else held

    def few_rows(
        self, relation: str, files: Sequence[DataFile], columns: Sequence[Column]
    ) -> pa.Table | None:
        """The rows of some files on the driver, where they are few and of types that compare there as in
        Spark."""
        if not 0 < sum(file.rows for file in files) <= self.limits.changes_held:
            return None
        table = self.driver_table(relation, files, columns)
        return table if table is not None and has_plain_equality(table.schema) else None

    def laid(
        self,
        relation: str,
        layers: Sequence[Sequence[DataFile]],
        columns: Sequence[Column],
        key: Sequence[str],
    ) -> pa.Table | None:
        """Layers of a bag as one layer, made by the driver once while intermediate results are kept; None
        where it cannot."""
        if not self._keeping:
            return None
        place = (relation, ddl(columns), *key, *(file.path for files in layers for file in files))
        with self._lock:
            if place not in self._laid:
                tables = [self.driver_table(relation, files, columns) for files in layers]
                known = [table for table in tables if table is not None and has_plain_equality(table.schema)]
                whole = known and len(known) == len(tables)
                self._laid[place] = one_layer(known, key) if whole else None
            return self._laid[place]

    def _driver_rows(
        self, relation: str, files: Sequence[DataFile], columns: Sequence[Column]
    ) -> DataFrame | None:
        table = self.driver_table(relation, files, columns)
        return None if table is None else self.local(table, columns)

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

    def plan(self, rel: Relation, frames: Mapping[str, DataFrame], is_part: bool = False) -> DataFrame:
        """A plan with explicit counts; `frames` holds its leaves by the names that SQL gives them."""
        inputs = {name: self.input(frame) for name, frame in frames.items()}
        facts = Facts(inputs, types=self.types(frames), limits=self.limits)
        return self.run(lowered(rel, facts, is_part), frames)

    def types(self, frames: Mapping[str, DataFrame]) -> KnownTypes:
        """The types of what plans over these frames have; Spark is asked for them, by no action."""
        return KnownTypes(
            lambda leaf: _types(frames[state_name(leaf)]),
            lambda rel: _types(self.text(text_of(rel), frames)),
        )

    def input(self, frame: DataFrame, known: Input = UNKNOWN) -> Input:
        """What is known of a frame: what the caller knows, and how it was made."""
        return replace(known, joins=self._in_one_task.get(frame), is_few=known.is_few or frame in self._few)

    def run(self, physical: Physical, frames: Mapping[str, DataFrame]) -> DataFrame:
        """The frame of a physical plan; an action for each fragment that is written out."""
        known = {name: self.in_one(f) if name in physical.one_task else f for name, f in frames.items()}
        for fragment in physical.fragments:
            known[fragment.name] = self._fragment(fragment, known)
        return known[physical.result.name]

    def _fragment(self, fragment: Fragment, frames: Mapping[str, DataFrame]) -> DataFrame:
        in_place = fragment.merged | fragment.hashed
        frame = self.text(text_of(fragment.plan, in_place, fragment.hashed), frames)
        if fragment.joins is not None:
            self._in_one_task[frame] = fragment.joins
        if fragment.materialize:
            frame = self.written_out(frame)
        return F.broadcast(frame) if fragment.broadcast else frame

    def written_out(self, frame: DataFrame) -> DataFrame:
        """The rows of a frame from files that hold them until the refresh is done; one action."""
        return self.files(RESULTS, self.write_result(frame), columns_of(frame))

    def text(self, sql: str, frames: Mapping[str, DataFrame]) -> DataFrame:
        """SQL in which `slot(name)` stands for the DataFrame of that name; no view stays behind."""
        text = sql.replace("{", "{{").replace("}", "}}")
        used: dict[str, Any] = {}
        for name, frame in frames.items():
            mark = slot(name)
            if mark in text:
                text = re.sub(rf"\b{mark}\b", f"{{{mark}}}", text)
                used[mark] = frame
        with self.settings():
            try:
                return self.spark.sql(text, **used)
            except (AnalysisException, ParseException) as error:
                raise translated(error) from error

    def write(
        self, frame: DataFrame, relation: str, rows: int | None = None, at: Place = MappingProxyType({})
    ) -> tuple[DataFile, ...]:
        """Writes a DataFrame, with its place, below a relation's folder; one action. Nothing names the files
        yet.

        `rows` are about as many as it has, where that is known. It takes a second action where there are
        many more.
        """
        batch, most = join("data", uuid.uuid4().hex), self.limits.written_by_driver
        if rows is not None and rows <= most and has_plain_types(columns_of(frame)):
            table = self.collected(frame, most + 1)
            if table.num_rows <= most:
                return self._written(placed_rows(table, at), relation, join(batch, "part-0.parquet"))
        return self._written_by_spark(placed(frame, at) if at else frame, relation, batch, rows)

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
        with self.settings():
            try:
                frame.write.mode("append").parquet(self.folder.address(join(relation, batch)))
            except FAILURES as error:
                raise translated(error) from error
        return written_files(self.folder, relation, batch)

    def write_result(self, frame: DataFrame, rows: int | None = None) -> tuple[DataFile, ...]:
        """Writes an intermediate result, which is gone when no refresh runs any more; one action."""
        return self._noted(self.write(frame, RESULTS, rows))

    def kept(self, table: pa.Table, columns: Sequence[Column]) -> DataFrame:
        """The frame of an intermediate result that the driver holds; no action."""
        return self.held(self.files(RESULTS, self.keep_result(table), columns), table)

    def keep_result(self, table: pa.Table) -> tuple[DataFile, ...]:
        """Writes an intermediate result that is on the driver already; no action."""
        return self._noted(self.write_table(table, RESULTS))

    def _noted(self, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
        with self._lock:
            self._results += sorted({join(RESULTS, file.path.rpartition("/")[0]) for file in files})
        return files

    def rows(self, frame: DataFrame, limit: int) -> list[Row]:
        """At most `limit` rows on the driver; one action."""
        self.count_action()
        with self.settings():
            try:
                return frame.limit(limit).collect()
            except FAILURES as error:
                raise translated(error) from error

    def collected(self, frame: DataFrame, limit: int) -> pa.Table:
        """At most `limit` rows as an Arrow table on the driver; one action."""
        return self.fetched(frame.limit(limit))

    def fetched(self, frame: DataFrame) -> pa.Table:
        """All rows as an Arrow table on the driver; one action."""
        self.count_action()
        with self.settings():
            try:
                table = frame.toArrow()
            except FAILURES as error:
                raise translated(error) from error
        return pa.table(table.columns, names=table.column_names)

    def local(self, table: pa.Table, columns: Sequence[Column]) -> DataFrame:
        """A DataFrame of rows that are on the driver; no action. Spark would stop at an empty chunk."""
        with self.settings():
            frame = self.spark.createDataFrame(table.combine_chunks(), ddl(columns))
        return self.held(self.in_one_task(frame, table.num_rows), table)

    def held(self, frame: DataFrame, table: pa.Table) -> DataFrame:
        """The frame of rows that the driver holds."""
        self._local[frame] = table
        return self.sought(frame, table.num_rows)

    def local_rows(self, frame: DataFrame) -> pa.Table | None:
        """The rows of a frame that the driver holds; None where it does not."""
        return self._local.get(frame)

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

    def count_action(self) -> None:
        with self._lock:
            self.actions += 1


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


def counted(columns: Sequence[Column]) -> tuple[Column, ...]:
    return (*columns, Column(COUNT, "bigint", nullable=False))


def columns_of(frame: DataFrame) -> tuple[Column, ...]:
    return tuple(
        Column(f.name, f.dataType.simpleString(), f.nullable, f.metadata.get(CHAR_TYPE, ""))
        for f in frame.schema.fields
    )


def _types(frame: DataFrame) -> dict[str, str]:
    return {column.name: column.type for column in columns_of(frame)}


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
