"""A warehouse, and its tables as lists of rows beside it: plain Spark answers the views' texts over these.

Nothing of Viewkeeper reads the lists, so that an error of its tables cannot hide one of its views. Floats
compare by their bits: −0.0 is not 0.0, and NaN is itself.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

import viewkeeper as vk

Row = tuple[Any, ...]


def comparable(value: Any) -> Any:
    """A value that is equal to another exactly where Spark shows the same."""
    if isinstance(value, float):
        return "NaN" if value != value else ("float", struct.pack(">d", value))
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value


def bag(frame: DataFrame) -> Counter[Any]:
    return Counter(comparable(tuple(row)) for row in frame.collect())


@dataclass
class Mirrored:
    """Tables and views of a warehouse, with what plain Spark needs to know about them."""

    warehouse: vk.Warehouse
    columns: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)

    def table(self, name: str, columns: str, rows: Iterable[Row] = (), key: str = "") -> None:
        constraint = f", PRIMARY KEY ({key})" if key else ""
        self.warehouse.sql(f"CREATE TABLE {name} ({columns}{constraint})")
        self.columns[name], self.rows[name] = columns, []
        self.change(name, insert=list(rows))

    def view(self, name: str, query: str, policy: str = "incremental", strategy: str = "auto") -> None:
        self.warehouse.create_view(name, query, policy=policy, strategy=strategy)
        self.views[name] = query

    def change(self, table: str, insert: Sequence[Row] = (), delete: Sequence[Row] = ()) -> None:
        """One transaction; of the rows that are deleted, one copy each."""
        for row in delete:
            places = [comparable(known) for known in self.rows[table]]
            del self.rows[table][places.index(comparable(row))]
        self.rows[table] += insert
        with self.warehouse.transaction() as transaction:
            if delete:
                transaction.delete(table, list(delete))
            if insert:
                transaction.insert(table, list(insert))

    def answers(self, queries: Iterable[str]) -> dict[str, Counter[Any]]:
        """What plain Spark says to queries over the lists."""
        with self._shown():
            return {query: bag(self.warehouse.spark.sql(query)) for query in queries}

    @contextmanager
    def _shown(self) -> Iterator[None]:
        spark, names = self.warehouse.spark, [*self.rows, *self.views]
        for name, rows in self.rows.items():
            spark.createDataFrame(rows, self.columns[name]).createOrReplaceTempView(name)
        for name, query in self.views.items():
            spark.sql(query).createOrReplaceTempView(name)
        try:
            yield
        finally:
            for name in names:
                spark.catalog.dropTempView(name)

    def wrong(self) -> Mapping[str, tuple[Counter[Any], Counter[Any]]]:
        """The tables and views that differ from plain Spark's answer: rows too many, and rows missing."""
        found = {}
        answers: dict[str, Counter[Any]] = {}
        with self._shown():
            for name in (*self.rows, *self.views):
                text = self.views.get(name, name)
                if text not in answers:
                    answers[text] = bag(self.warehouse.spark.table(name))
                stored, wanted = bag(self.warehouse.table(name)), answers[text]
                if stored != wanted:
                    found[name] = stored - wanted, wanted - stored
        return found

    def refreshed(self, policy: str | None = None) -> Mapping[str, tuple[Counter[Any], Counter[Any]]]:
        """What is wrong after a refresh."""
        self.warehouse.refresh(policy=policy)
        return self.wrong()
