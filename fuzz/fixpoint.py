"""Least fixpoints in DuckDB: many small rounds, each of which would be several actions in Spark.

Only columns of types whose values are equal there exactly where they are in Spark are shown to DuckDB; what
needs others is left to Spark.
"""

from __future__ import annotations

from typing import Any

import duckdb
from pyspark.sql import SparkSession

from fuzz.case import View, mentions
from fuzz.model import Model

Sets = dict[str, set[Any]]

ROUNDS = 60
KINDS = {"int": "INTEGER", "bigint": "BIGINT", "string": "VARCHAR", "date": "DATE"}


def grown(session: SparkSession, model: Model, view: View) -> Sets | None:
    """The relations of the equations of a view; None where DuckDB cannot say."""
    names = [name for name, _ in view.equations]
    with duckdb.connect() as db:
        try:
            for name in model.tables:
                if mentions(view, name):
                    _copied(db, session, model, name)
            return _rounds(db, view, names)
        except (duckdb.Error, KeyError):
            return None


def _copied(db: duckdb.DuckDBPyConnection, session: SparkSession, model: Model, name: str) -> None:
    columns = [c for c in model.tables[name].columns if c.type in KINDS]
    db.execute(f"CREATE TABLE {name} ({', '.join(f'{c.name} {KINDS[c.type]}' for c in columns)})")
    rows = session.table(name).select(*(c.name for c in columns)).collect()
    if rows:
        holes = ", ".join("?" * len(columns))
        db.executemany(f"INSERT INTO {name} VALUES ({holes})", [tuple(row) for row in rows])


def _rounds(db: duckdb.DuckDBPyConnection, view: View, names: list[str]) -> Sets:
    """All relations start empty and are computed from each other until nothing changes."""
    for name, text in view.equations:
        first = text.split(" UNION ")[0]
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM ({first}) LIMIT 0")
    found: Sets = {name: set() for name in names}
    for _ in range(ROUNDS):
        after = {name: set(db.execute(text).fetchall()) for name, text in view.equations}
        if after == found:
            break
        found = after
        for name, rows in found.items():
            db.execute(f"DELETE FROM {name}")
            if rows:
                holes = ", ".join("?" * len(next(iter(rows))))
                db.executemany(f"INSERT INTO {name} VALUES ({holes})", list(rows))
    return found
