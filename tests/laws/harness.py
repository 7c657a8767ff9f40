"""Both sides of a law on DuckDB: one connection, tables refilled for every case."""

from __future__ import annotations

import atexit
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import duckdb

from tests.laws.databases import TABLES, Bag, Change, History, Row, applied
from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Bound, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.sql.render import DUCKDB, render

COUNTED = "__counted"


def scan(table: str, counted: bool = False, **names: str) -> Scan:
    """A scan of a test table; `names` gives columns other names."""
    bound = tuple(Bound(names.get(column.name, column.name), column) for column in TABLES[table])
    return Scan(table, bound, State.NEW, counted)


@cache
def connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 1})
    atexit.register(connection.cache_clear)
    for table, columns in TABLES.items():
        fields = ", ".join(f"{c.name} {'varchar' if c.type == 'string' else c.type}" for c in columns)
        for state in ("", "__old"):
            con.execute(f"CREATE TABLE {table}{state} ({fields})")
        con.execute(f"CREATE TABLE {table}__delta ({fields}, {COUNT} bigint)")
        before = f"SELECT *, CAST(1 AS bigint) AS {COUNT} FROM {table}__old"
        con.execute(f"CREATE VIEW {table}__old{COUNTED} AS {before}")
        con.execute(f"CREATE VIEW {table}{COUNTED} AS {before} UNION ALL SELECT * FROM {table}__delta")
    return con


_filled: dict[str, str] = {}
"""What each table holds, as text: most of them are the same in the next case."""


def load(rows: dict[str, tuple[Row, ...]], changes: Iterable[Change]) -> dict[str, tuple[Row, ...]]:
    """Fills OLD, DELTA and NEW; NEW's counted form is OLD and the delta, unconsolidated."""
    after = dict(rows)
    entries: dict[str, list[tuple[Row, int]]] = {table: [] for table in TABLES}
    for change in changes:
        entries[change.table] += change.entries
        after[change.table] = tuple(applied(list(rows[change.table]), change.entries))
    for table in TABLES:
        _fill(f"{table}__old", rows[table])
        _fill(table, after[table])
        _fill(f"{table}__delta", [(*row, count) for row, count in entries[table]])
    return after


def start(history: History) -> frozenset[str]:
    """Loads the first batch; gives the tables that changed."""
    load(history.rows, history.batches[0])
    return frozenset(change.table for change in history.batches[0])


def _fill(name: str, rows: Iterable[Row]) -> None:
    values = ", ".join(f"({', '.join(_literal(value) for value in row)})" for row in rows)
    if _filled.get(name, "") != values:
        insert = f"; INSERT INTO {name} VALUES {values}" if values else ""
        connection().execute(f"TRUNCATE {name}{insert}")
        _filled[name] = values


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(value)
    return f"'{value}'"


def sql_of(explicit: Relation) -> str:
    """The text of an explicit plan, its common subexpressions written once."""
    steps, result = shared(explicit)
    tables = ", ".join(f"{step.name} AS MATERIALIZED ({_text(step.plan)})" for step in steps)
    return f"WITH {tables} {_text(result)}" if steps else _text(result)


def _text(rel: Relation) -> str:
    return render(rel, DUCKDB, pretty=False)


def rows_of(explicit: Relation) -> list[Row]:
    return connection().execute(sql_of(explicit)).fetchall()


def store(name: str, explicit: Relation) -> Reference:
    """Keeps the result of an explicit plan as a table; what refers to it is counted no more."""
    connection().execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql_of(explicit)}")
    return Reference(name, explicit.columns)


def value(rel: Relation) -> Bag:
    """The signed bag that a plan denotes."""
    return explicit_value(weighted(rel))


def explicit_value(explicit: Relation) -> Bag:
    """The signed bag that an explicit plan denotes, whose last column is the count."""
    bag: Bag = Counter()
    for *row, count in rows_of(explicit):
        bag[tuple(_comparable(v) for v in row)] += count
    return nonzero(bag)


def nonzero(bag: Bag) -> Bag:
    return Counter({row: count for row, count in bag.items() if count})


def difference(left: Bag, right: Bag) -> Bag:
    result = Counter(left)
    result.subtract(right)
    return nonzero(result)


def _comparable(item: Any) -> Any:
    if isinstance(item, float):
        return "NaN" if math.isnan(item) else round(item, 7) + 0.0
    if isinstance(item, dict):
        return tuple(map(_comparable, item.values()))
    return tuple(map(_comparable, item)) if isinstance(item, list) else item
