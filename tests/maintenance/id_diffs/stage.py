"""Runs Δ-scripts on DuckDB: tables before and after, the view and its caches, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import duckdb

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Relation, Scan, State
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.algebra.walk import rewrite
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, Script, Step
from viewkeeper.sql.render import DUCKDB, render

Row = tuple[Any, ...]
Rows = Mapping[str, Iterable[Row]]


class Stage:
    """One DuckDB connection with the tables of `schemas` at OLD, NEW and DELTA."""

    def __init__(self, schemas: Iterable[TableSchema]) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.run("PRAGMA disable_optimizer")  # plans over five rows are not worth optimizing
        self.schemas = {schema.name: schema for schema in schemas}
        for schema in self.schemas.values():
            fields = ", ".join(f'"{c.name}" {_type(c.type)}' for c in schema.columns)
            for state in ("", "__old"):
                self.run(f"CREATE TABLE {schema.name}{state} ({fields})")
            self.run(f"CREATE TABLE {schema.name}__delta ({fields}, __count bigint)")

    def run(self, *statements: str) -> None:
        if statements:
            self.connection.execute(";\n".join(statements))

    def load(self, before: Rows, after: Rows, noise: Rows | None = None) -> None:
        """Fills the tables; `noise` are rows that came and went between the two states."""
        statements = []
        for table in self.schemas:
            old, new = list(before.get(table, ())), list(after.get(table, ()))
            gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
            delta = [(*row, -1) for row in gone] + [(*row, 1) for row in come]
            delta += [(*row, sign) for row in (noise or {}).get(table, ()) for sign in (1, -1)]
            statements += [*_fill(f"{table}__old", old), *_fill(table, new), *_fill(f"{table}__delta", delta)]
        self.run(*statements)

    def populate(self, script: Script) -> None:
        """The view and its caches as they are before the change; at NEW they start as at OLD."""
        for stored in script.stored:
            sql = _sql(plain(at(stored.plan, State.OLD)))
            self.run(
                f"CREATE OR REPLACE TABLE {stored.name}__old AS {sql}",
                f"CREATE OR REPLACE TABLE {stored.name} AS FROM {stored.name}__old",
            )

    def execute(self, script: Script, order: Callable[[list[Apply]], list[Apply]] = list) -> None:
        """The steps; `order` may change the order of diffs that are applied to one relation together."""
        statements: list[str] = []
        for group in _grouped(script.steps):
            if isinstance(group, ComputeDiff):
                statements.append(f"CREATE OR REPLACE TEMP TABLE {group.name} AS {_sql(group.executable)}")
            else:
                for step in order(group):
                    statements += apply_sql(step, self._columns(script, step.target))
        self.run(*statements)

    def _columns(self, script: Script, target: str) -> tuple[str, ...]:
        return next(stored.plan.columns for stored in script.stored if stored.name == target)

    def sql(self, plan: Relation) -> str:
        return _sql(plain(plan))

    def text(self, source: str | Relation, columns: Sequence[str] | None = None) -> str:
        return f"SELECT {_list(columns)} FROM {source}" if isinstance(source, str) else self.sql(source)

    def rows(self, source: str | Relation, columns: Sequence[str] | None = None) -> Counter[Row]:
        return Counter(self.connection.execute(self.text(source, columns)).fetchall())


def at(plan: Relation, state: State) -> Relation:
    return rewrite(plan, lambda node: replace(node, at=state) if isinstance(node, Scan) else node)


def apply_sql(step: Apply, columns: tuple[str, ...]) -> list[str]:
    """APPLY as katsis15 writes it in section 2; an insertion replaces the row of the same IDs."""
    target, diff = step.target, step.diff.name
    match = " AND ".join(f'"{target}"."{key}" IS NOT DISTINCT FROM d."{key}"' for key in step.key) or "TRUE"
    delete = f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {diff} d WHERE {match})"
    match step.diff.schema.kind:
        case DiffKind.DELETE:
            return [delete]
        case DiffKind.INSERT:
            return [delete, f"INSERT INTO {target} SELECT {_list(columns)} FROM {diff}"]
        case DiffKind.UPDATE:
            sets = ", ".join(f'"{name}" = d."{name}"' for name in step.sets)
            return [f"UPDATE {target} SET {sets} FROM {diff} d WHERE {match}"]
        case DiffKind.MOVE:
            total = {n: f'(COALESCE("{target}"."{n}", 0) + d."{n}")' for n in step.sets}
            counts = dict(step.diff.schema.counts)
            new = {n: f"CASE WHEN {total[counts[n]]} = 0 THEN NULL ELSE {total[n]} END" for n in counts}
            sets = ", ".join(f'"{name}" = {new.get(name, total[name])}' for name in step.sets)
            return [f"UPDATE {target} SET {sets} FROM {diff} d WHERE {match}"]


def _grouped(steps: Iterable[Step]) -> list[ComputeDiff | list[Apply]]:
    groups: list[ComputeDiff | list[Apply]] = []
    for step in steps:
        if isinstance(step, ComputeDiff):
            groups.append(step)
        elif groups and isinstance(groups[-1], list) and groups[-1][0].target == step.target:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _fill(table: str, rows: list[Row]) -> list[str]:
    values = ", ".join(f"({', '.join(_literal(value) for value in row)})" for row in rows)
    return [f"DELETE FROM {table}"] + ([f"INSERT INTO {table} VALUES {values}"] if rows else [])


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _list(columns: Sequence[str] | None) -> str:
    return "*" if columns is None else ", ".join(f'"{name}"' for name in columns) or "1"


@lru_cache(maxsize=512)
def _sql(plan: Relation) -> str:
    return render(plan, DUCKDB, pretty=False)


def _type(name: str) -> str:
    return "varchar" if name == "string" else name
