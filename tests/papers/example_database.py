"""The papers' tables on DuckDB: an old state, changes, and the new state that follows."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import duckdb

from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Bound, Reference, Relation, Scan
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.sql.render import DUCKDB, render

Row: TypeAlias = tuple[Any, ...]
Changes: TypeAlias = dict[Row, int]


class Example:
    """Tables given as `link="s string, d string"`."""

    def __init__(self, **tables: str) -> None:
        self.con = duckdb.connect()
        self.columns: dict[str, tuple[Column, ...]] = {}
        for name, text in tables.items():
            fields = [field.strip().split(" ", 1) for field in text.split(", ")]
            self.columns[name] = tuple(Column(column, type_) for column, type_ in fields)

    def scan(self, table: str, *names: str) -> Scan:
        """A scan, its columns under other names where names are given."""
        own = self.columns[table]
        return Scan(
            table, tuple(Bound(n, c) for n, c in zip(names or (c.name for c in own), own, strict=True))
        )

    def load(self, table: str, old: list[Row], changes: Changes | None = None) -> None:
        changes = changes or {}
        new = Counter(old)
        for row, count in changes.items():
            new[row] += count
        self._fill(f"{table}__old", table, old)
        self._fill(table, table, [row for row, count in new.items() for _ in range(count)])
        self._fill(f"{table}__delta", table, [(*row, n) for row, n in changes.items()], f", {COUNT} bigint")

    def _fill(self, name: str, table: str, rows: list[Row], more: str = "") -> None:
        types = {"string": "varchar"}
        fields = ", ".join(f"{c.name} {types.get(c.type, c.type)}" for c in self.columns[table])
        self.con.execute(f"CREATE OR REPLACE TABLE {name} ({fields}{more})")
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            self.con.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)

    def value(self, rel: Relation) -> dict[Row, int]:
        """The signed bag that a plan denotes."""
        bag: Counter[Row] = Counter()
        for *row, count in self.rows(weighted(rel)):
            bag[tuple(row)] += count
        return {row: count for row, count in bag.items() if count}

    def rows(self, explicit: Relation) -> list[Row]:
        return self.con.execute(render(explicit, DUCKDB)).fetchall()

    def store(self, name: str, explicit: Relation) -> Reference:
        """Keeps a result as a table."""
        self.con.execute(f"CREATE OR REPLACE TABLE {name} AS {render(explicit, DUCKDB)}")
        return Reference(name, explicit.columns)


def pairs(text: str) -> dict[Row, int]:
    """`ac*2 dh` as the papers write relations of pairs: {(a, c): 2, (d, h): 1}."""
    found: dict[Row, int] = {}
    for word in text.split():
        pair, _, count = word.partition("*")
        found[tuple(pair)] = int(count or 1)
    return found
