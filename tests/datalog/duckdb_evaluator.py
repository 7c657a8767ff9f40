"""The evaluator over DuckDB: plans are rendered to SQL, as they are for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb

from tests.datalog.interpreter import Bag
from viewkeeper.algebra.counts import consolidated, plain, weighted
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.recursion.port import Derivation
from viewkeeper.sql.render import DUCKDB, render


class DuckDatabase:
    """Tables of integers; a delta table has the column `__count`."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET threads = 1")

    def create(self, name: str, columns: tuple[str, ...], bag: Bag, counted: bool = False) -> None:
        names = (*columns, "__count") if counted else columns
        typed = ", ".join(f"{column} BIGINT" for column in names)
        self.connection.execute(f'CREATE OR REPLACE TABLE "{name}" ({typed})')
        rows = [row for row, n in bag.items() for _ in range(n)]
        if counted:
            rows = [(*row, n) for row, n in bag.items()]
        if rows:
            places = ", ".join("?" for _ in names)
            self.connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)

    def value(self, rel: Relation) -> Bag:
        rows = self.connection.execute(self._sql(consolidated(weighted(rel)))).fetchall()
        return {row[:-1]: row[-1] for row in rows}

    def evaluate(self, plans: Mapping[str, Derivation]) -> Mapping[str, int]:
        results = {}
        for name, derivation in plans.items():
            rel = derivation.relation
            explicit = consolidated(weighted(rel)) if derivation.signed else plain(rel)
            self.connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS {self._sql(explicit)}')
            found = self.connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()
            results[name] = found[0] if found else 0
        return results

    def append(self, name: str, more: str) -> None:
        self.connection.execute(f'CREATE TABLE IF NOT EXISTS "{name}" AS FROM "{more}" LIMIT 0')
        self.connection.execute(f'INSERT INTO "{name}" FROM "{more}"')

    def move(self, name: str, to: str) -> None:
        self.connection.execute(f'CREATE OR REPLACE TABLE "{to}" AS FROM "{name}"')
        self.connection.execute(f'DROP TABLE "{name}"')

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self.connection.execute(f'DROP TABLE IF EXISTS "{name}"')

    def _sql(self, explicit: Relation) -> str:
        return render(explicit, DUCKDB, pretty=False)
