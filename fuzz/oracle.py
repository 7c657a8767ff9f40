"""What plain Spark answers to the texts of the views, over the model of the tables.

Nothing of Viewkeeper is used here. Recursion by UNION, which Spark cannot run, is evaluated naively: all
relations start empty and are computed from each other until nothing changes, by DuckDB where the types of
the nodes mean the same there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from fuzz import fixpoint
from fuzz.bags import Bag, bag_of
from fuzz.case import Settings, View, mentions
from fuzz.model import Model
from fuzz.schemas import Row, Table

ROUNDS = 60

RAISED = (PySparkException, Py4JJavaError, ValueError, OverflowError)
"""What Spark raises, also where it does so while it broadcasts, and Python for dates beyond the year 9999."""


@dataclass(frozen=True)
class Answer:
    """The columns and rows that a text means, or why Spark raises instead."""

    columns: tuple[tuple[str, str], ...] = ()
    rows: Bag | None = None
    error: str = ""


def table_text(table: Table, rows: Iterable[Row]) -> str:
    """A query that gives these rows with the types of the table."""
    types = [_cast_type(column.type) for column in table.columns]
    lines = [
        "(" + ", ".join(f"CAST({value} AS {kind})" for value, kind in zip(row, types)) + ")" for row in rows
    ]
    if not lines:
        nothing = ", ".join(f"CAST(NULL AS {t}) AS {c.name}" for t, c in zip(types, table.columns))
        return f"SELECT {nothing} WHERE false"
    return f"SELECT * FROM VALUES {', '.join(lines)} AS t({', '.join(table.names)})"


def _cast_type(kind: str) -> str:
    """CHAR and VARCHAR are no types of expressions: their values are strings, padded already."""
    return re.sub(r"^(var)?char\(\d+\)$", "string", kind)


BASE = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
"""What texts of values are read under: a row is the same row in every session."""

FAST = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""One task is enough for a few rows, and to broadcast them takes longer than to sort them."""


def session_of(spark: SparkSession, settings: Settings = ()) -> SparkSession:
    """A session for questions only: it has its own names and its own settings."""
    session = spark.newSession()
    for name, value in {**FAST, **dict(settings)}.items():
        session.conf.set(name, value)
    return session


@contextmanager
def told(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """A session that has other settings for a while."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, known in before.items():
            session.conf.unset(name) if known is None else session.conf.set(name, known)


def show_table(session: SparkSession, table: Table, rows: Iterable[Row]) -> None:
    """Makes the rows of a table visible to a session under its name."""
    with told(session, BASE):
        session.sql(table_text(table, rows)).createOrReplaceTempView(table.name)


def show_tables(session: SparkSession, model: Model) -> None:
    for name, table in model.tables.items():
        show_table(session, table, model.rows[name])


class Oracle:
    """Answers to views, each under the settings of its view. What was answered once over the same rows is
    known; a view that reads others reads their texts, which have its settings."""

    def __init__(self, spark: SparkSession, settings: Settings = (), shuffled: Random | None = None) -> None:
        self.spark, self.settings, self.shuffled = spark, settings, shuffled
        self._sessions: dict[Settings, SparkSession] = {}
        self._shown: dict[tuple[Settings, str], Any] = {}
        self._frames: dict[tuple[Settings, str], DataFrame | Answer] = {}
        self._known: dict[tuple[str, Any], Answer] = {}

    def answers(self, model: Model, views: Iterable[View]) -> dict[str, Answer]:
        """The answer to every view, those that are read before those that read them."""
        keys: dict[str, Any] = {name: (name, tuple(rows)) for name, rows in model.rows.items()}
        asked = {}
        for view in views:
            settings = tuple({**dict(self.settings), **dict(view.settings)}.items())
            read = tuple(key for name, key in keys.items() if mentions(view, name))
            key = hash((view.text, view.equations, settings, read))
            if any((name, key) not in self._known for name in view.predicates):
                asked |= self._framed(model, view, settings, key, views, keys)
            keys |= dict.fromkeys(view.predicates, key)
        with ThreadPoolExecutor(3) as pool:
            for (name, key), answer in zip(asked, pool.map(_answer, asked.values())):
                self._known[name, key] = answer
        return {name: self._known[name, keys[name]] for view in views for name in view.predicates}

    def _framed(
        self,
        model: Model,
        view: View,
        settings: Settings,
        key: Any,
        views: Iterable[View],
        keys: Mapping[str, Any],
    ) -> dict[tuple[str, Any], DataFrame | Answer]:
        """The query of a view in the session of its settings, which first sees all that it reads."""
        session = self._session(settings)
        for name, table in model.tables.items():
            if mentions(view, name) and self._shown.get((settings, name)) != keys[name]:
                rows = list(model.rows[name])
                if self.shuffled:
                    self.shuffled.shuffle(rows)
                show_table(session, table, rows)
                self._shown[settings, name] = keys[name]
        for other in views:
            if other is not view and any(mentions(view, n) for n in other.predicates):
                self._framed(model, other, settings, keys[other.predicates[0]], views, keys)
        if self._shown.get((settings, view.name)) != key:
            for name, frame in _frames(session, model, view).items():
                self._frames[settings, name] = frame
            self._shown[settings, view.name] = key
        return {(name, key): self._frames[settings, name] for name in view.predicates}

    def _session(self, settings: Settings) -> SparkSession:
        if settings not in self._sessions:
            self._sessions[settings] = session_of(self.spark, settings)
        return self._sessions[settings]


def _frames(session: SparkSession, model: Model, view: View) -> dict[str, DataFrame | Answer]:
    try:
        if view.equations:
            return _least_fixpoint(session, model, view)
        frame = session.sql(view.text)
        frame.createOrReplaceTempView(view.name)
        return {view.name: frame}
    except RAISED as error:
        for name in view.predicates:
            session.catalog.dropTempView(name)
        return dict.fromkeys(view.predicates, Answer(error=str(error).split("\n")[0]))


def _answer(frame: DataFrame | Answer) -> Answer:
    if isinstance(frame, Answer):
        return frame
    try:
        return Answer(columns_of(frame.schema), bag_of(frame.collect()))
    except RAISED as error:
        return Answer(error=str(error).split("\n")[0])


def columns_of(schema: StructType) -> tuple[tuple[str, str], ...]:
    """Names and types, CHAR and VARCHAR as the strings that Spark computes with."""
    kinds = ((field.name, field.dataType.simpleString()) for field in schema.fields)
    return tuple((name, re.sub(r"^(var)?char\(\d+\)$", "string", kind)) for name, kind in kinds)


def _least_fixpoint(session: SparkSession, model: Model, view: View) -> dict[str, DataFrame | Answer]:
    """Sets that grow until the equations hold; the view's text, if it has one, is asked over them."""
    schemas = _schemas(session, view)
    found = fixpoint.grown(session, model, view) or _grown(session, view, schemas)
    for name, rows in found.items():
        _show_rows(session, name, rows, schemas[name])
    if view.language == "datalog":
        return {name: session.table(name) for name in found}
    frame = session.sql(BODY.sub("", view.text))
    frame.createOrReplaceTempView(view.name)
    return {view.name: frame}


def _grown(session: SparkSession, view: View, schemas: Mapping[str, StructType]) -> fixpoint.Sets:
    """All relations computed from each other by Spark, until nothing changes."""
    found: fixpoint.Sets = {name: set() for name in schemas}
    for _ in range(ROUNDS):
        after = {name: {tuple(row) for row in session.sql(text).collect()} for name, text in view.equations}
        if after == found:
            break
        found = after
        for name, rows in found.items():
            _show_rows(session, name, rows, schemas[name])
    return found


def _show_rows(session: SparkSession, name: str, rows: Iterable[Any], schema: StructType) -> None:
    columns = list(zip(*rows)) or [()] * len(schema)
    kinds = to_arrow_schema(schema)
    arrays = [pa.array(values, kind.type) for values, kind in zip(columns, kinds)]
    frame = session.createDataFrame(pa.Table.from_arrays(arrays, schema=kinds), schema)
    frame.createOrReplaceTempView(name)


BODY = re.compile(r"^.*/\* body \*/", re.S)
"""A recursive text marks where its last SELECT starts, so that the naive evaluation can ask just that."""


def _schemas(session: SparkSession, view: View) -> dict[str, StructType]:
    """Types of relations that are defined by each other: an equation's first branch says them, but not what
    may be NULL."""
    schemas: dict[str, StructType] = {}
    for name, text in view.equations:
        first = session.sql(re.split(r"\bUNION\b", text)[0]).schema
        schemas[name] = StructType([StructField(field.name, field.dataType) for field in first.fields])
        _show_rows(session, name, [], schemas[name])
    return schemas
