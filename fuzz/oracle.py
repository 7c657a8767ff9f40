"""What plain Spark answers to the texts of the views, over the model of the tables.

Nothing of Viewkeeper is used here. Recursion by UNION, which Spark cannot run, is evaluated naively: all
relations start empty and are computed from each other until nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from fuzz.bags import Bag, bag_of
from fuzz.case import View
from fuzz.model import Model
from fuzz.schemas import Row, Table

ROUNDS = 60


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


def session_of(spark: SparkSession, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session for questions only: it has its own names and its own settings."""
    session = spark.newSession()
    for name, value in {**FAST, **(settings or {})}.items():
        session.conf.set(name, value)
    return session


FAST = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
}


def show_tables(session: SparkSession, model: Model, shuffled: Random | None = None) -> None:
    """Makes the tables of the model visible to a session, if asked in another order of rows."""
    for name, table in model.tables.items():
        rows = list(model.rows[name])
        if shuffled:
            shuffled.shuffle(rows)
        session.sql(table_text(table, rows)).createOrReplaceTempView(name)


def answers(
    session: SparkSession, model: Model, views: Iterable[View], shuffled: Random | None = None
) -> dict[str, Answer]:
    """The answer to every view; a view that reads another reads that one's text."""
    show_tables(session, model, shuffled)
    frames: dict[str, DataFrame | Answer] = {}
    for view in views:
        frames |= _frames(session, view)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(frames, pool.map(_answer, frames.values())))


def _frames(session: SparkSession, view: View) -> dict[str, DataFrame | Answer]:
    try:
        if view.equations:
            return _least_fixpoint(session, view)
        frame = session.sql(view.text)
        frame.createOrReplaceTempView(view.name)
        return {view.name: frame}
    except PySparkException as error:
        for name in view.predicates:
            session.catalog.dropTempView(name)
        return dict.fromkeys(view.predicates, Answer(error=str(error).split("\n")[0]))


def _answer(frame: DataFrame | Answer) -> Answer:
    if isinstance(frame, Answer):
        return frame
    try:
        return Answer(columns_of(frame.schema), bag_of(frame.collect()))
    except PySparkException as error:
        return Answer(error=str(error).split("\n")[0])


def columns_of(schema: StructType) -> tuple[tuple[str, str], ...]:
    """Names and types, CHAR and VARCHAR as the strings that Spark computes with."""
    kinds = ((field.name, field.dataType.simpleString()) for field in schema.fields)
    return tuple((name, re.sub(r"^(var)?char\(\d+\)$", "string", kind)) for name, kind in kinds)


def _least_fixpoint(session: SparkSession, view: View) -> dict[str, DataFrame | Answer]:
    """Sets that grow until the equations hold; the view's text, if it has one, is asked over them."""
    names = [name for name, _ in view.equations]
    found: dict[str, set[Any]] = {name: set() for name in names}
    schemas = _schemas(session, view)
    for _ in range(ROUNDS):
        for name in names:
            session.createDataFrame(list(found[name]), schemas[name]).createOrReplaceTempView(name)
        after = {name: {tuple(row) for row in session.sql(text).collect()} for name, text in view.equations}
        if after == found:
            break
        found = after
    frames = {name: session.table(name) for name in names}
    if view.language == "datalog":
        return dict(frames)
    body = session.sql(BODY.sub("", view.text))
    rows, schema = body.collect(), body.schema
    session.createDataFrame(rows, schema).createOrReplaceTempView(view.name)
    return {view.name: session.table(view.name)}


BODY = re.compile(r"^.*/\* body \*/", re.S)
"""A recursive text marks where its last SELECT starts, so that the naive evaluation can ask just that."""


def _schemas(session: SparkSession, view: View) -> dict[str, StructType]:
    """Types of relations that are defined by each other: an equation's first branch says them."""
    schemas: dict[str, StructType] = {}
    for name, text in view.equations:
        schemas[name] = session.sql(re.split(r"\bUNION\b", text)[0]).schema
        session.createDataFrame([], schemas[name]).createOrReplaceTempView(name)
    return schemas
