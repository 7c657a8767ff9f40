"""Tables and views as a data source of any Spark 4 session.

    spark.read.format("viewkeeper").option("table", "region_sales").load("warehouse/")
    spark.readStream.format("viewkeeper").options(table="region_sales", changes="true").load("warehouse/")

A batch reads one committed version, in one task, by Arrow; the option `where` and, with `pushdown`, the
filters of the query are tested there. A stream gives the change feed from version to version, so that each
change is processed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import StructType
from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column, not_
from viewkeeper.algebra.inner_names import shown
from viewkeeper.errors import InvalidOption
from viewkeeper.reading import Rows, changes, opened, read
from viewkeeper.spark.frames import quoted
from viewkeeper.storage.feed import CHANGE

STORAGE = "storage."

_COMPARISONS: dict[type[Filter], type[exp.Binary]] = {
    EqualTo: exp.EQ,
    EqualNullSafe: exp.NullSafeEQ,
    GreaterThan: exp.GT,
    GreaterThanOrEqual: exp.GTE,
    LessThan: exp.LT,
    LessThanOrEqual: exp.LTE,
}


class ViewkeeperSource(DataSource):
    """Options: `path`, `table`, `version`, `where`, `pushdown`; or `changes`, with `since` and `until`.

    `storage.NAME` is the option NAME of an object store.
    """

    @classmethod
    def name(cls) -> str:
        return "viewkeeper"

    def schema(self) -> str:
        log = opened(self._needed("path"), self._storage)
        version = self._number("until" if self._is_feed else "version")
        entry = log.latest() if version is None else log.entry(version)
        columns = [(shown(c.name), c.type) for c in entry.catalog.schema(self._needed("table")).columns]
        if self._is_feed:
            columns = [(f"{side}_{name}", kind) for name, kind in columns for side in ("old", "new")]
            columns.insert(0, (CHANGE, "string"))
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        path, table = self._needed("path"), self._needed("table")
        if not self._is_feed:
            version = self._number("version")
            pinned = opened(path, self._storage).latest().version if version is None else version
            kind = PushingReader if self._is("pushdown") else TableReader
            return kind(path, table, pinned, self.options.get("where"), self._storage)
        since, until = self._number("since"), self._number("until")
        if since is None:
            raise InvalidOption("The changes of a table need the option since.", hint="Give a version.")
        return FeedReader(path, table, since, until, self._storage)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if not self._is_feed:
            raise InvalidOption(
                "A stream reads the changes of a table or view.", hint='Add .option("changes", "true").'
            )
        return FeedStream(self._needed("path"), self._needed("table"), self._number("since"), self._storage)

    @property
    def _storage(self) -> dict[str, str]:
        """The options that open an object store."""
        given = ((name.lower(), value) for name, value in self.options.items())
        return {name.removeprefix(STORAGE): value for name, value in given if name.startswith(STORAGE)}

    @property
    def _is_feed(self) -> bool:
        return self._is("changes")

    def _is(self, option: str) -> bool:
        return str(self.options.get(option, "false")).lower() == "true"

    def _needed(self, option: str) -> str:
        if option not in self.options:
            hint = "Give the warehouse to load()." if option == "path" else 'Add .option("table", NAME).'
            raise InvalidOption(f"The data source viewkeeper needs the option {option}.", hint=hint)
        return str(self.options[option])

    def _number(self, option: str) -> int | None:
        text = self.options.get(option)
        if text is not None and not str(text).isdecimal():
            raise InvalidOption(f"{option} cannot be {text!r}.", hint="It is a version of the warehouse.")
        return None if text is None else int(text)


class TableReader(DataSourceReader):
    """One version of a table or view."""

    def __init__(
        self, path: str, table: str, version: int, where: str | None, storage: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.table, self.version, self.where, self.storage = path, table, version, where, storage

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        options = self.storage
        yield from batches_of(
            read(self.path, self.table, self.version, where=self.where, storage_options=options)
        )


class PushingReader(TableReader):
    """The same with the filters of the query. Spark refuses one that takes filters unless its setting
    `spark.sql.python.filterPushdown.enabled` is true, which it is not by default."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes the filters that Arrow tests, and hands the others back."""
        taken = []
        for one in filters:
            condition = condition_of(one)
            if condition is None:
                yield one
            else:
                taken.append(condition)
        texts = [one.sql(dialect="spark") for one in taken] + ([self.where] if self.where else [])
        self.where = " AND ".join(f"({text})" for text in texts) or None


class FeedReader(DataSourceReader):
    """What changed in a table or view between two versions."""

    def __init__(
        self, path: str, table: str, since: int, until: int | None, storage: Mapping[str, str]
    ) -> None:
        self.path, self.table, self.since, self.until, self.storage = path, table, since, until, storage

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from batches_of(changes(self.path, self.table, self.since, self.until, self.storage))


@dataclass
class Versions(InputPartition):
    """The versions that a part of a stream goes through."""

    since: int
    until: int


class FeedStream(DataSourceStreamReader):
    """What changes in a table or view, from `since` on or from now on; an offset is a version."""

    def __init__(self, path: str, table: str, since: int | None, storage: Mapping[str, str]) -> None:
        self.path, self.table, self.since, self.storage = path, table, since, storage

    def initialOffset(self) -> dict[str, int]:
        return {"version": self._newest() if self.since is None else self.since}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"version": self._newest()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Versions(start["version"], end["version"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Versions)
        if partition.since < partition.until:
            ends = partition.since, partition.until
            yield from batches_of(changes(self.path, self.table, *ends, self.storage))

    def _newest(self) -> int:
        return opened(self.path, self.storage).latest().version


def batches_of(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows in the schema that Spark was told, where every column may be NULL."""
    table = rows.to_arrow()
    nullable = pa.schema([field.with_nullable(True) for field in table.schema])
    yield from table.cast(nullable).to_batches()


def condition_of(one: Filter) -> Scalar | None:
    """A filter as a condition of SQL; None where Arrow might test it in another way."""
    if isinstance(one, Not):
        inner = condition_of(one.child)
        return None if inner is None else not_(inner)
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    if len(attribute) != 1:
        return None
    named = column(attribute[0])
    match one:
        case IsNull() | IsNotNull():
            is_null = exp.Is(this=named, expression=exp.null())
            return is_null if isinstance(one, IsNull) else not_(is_null)
        case In():
            values = [_constant(value) for value in one.value]
            known = [value for value in values if value is not None]
            return exp.In(this=named, expressions=known) if values and len(known) == len(values) else None
        case _ if type(one) in _COMPARISONS:
            constant = _constant(getattr(one, "value", None))
            return None if constant is None else _COMPARISONS[type(one)](this=named, expression=constant)
        case _:
            return None


def _constant(value: Any) -> Scalar | None:
    """A constant in the type that it has in Spark."""
    match value:
        case bool() | int() | str():
            return exp.convert(value)
        case date() if not isinstance(value, datetime):
            return exp.cast(exp.Literal.string(value.isoformat()), "date")
        case _:
            return None
