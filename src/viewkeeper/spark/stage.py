"""Applies the changes of a transaction: stage, write the net effect, check it, append it.

Two Spark actions whatever the number of operations: one writes the net effect of every changed
table, one runs all checks over what was written, with the base files pruned by its ranges. Rows that
are inserted, or deleted as a whole, and given as a list are on the driver already: it writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from viewkeeper import errors
from viewkeeper.algebra.build import union_all
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.merge import net_effect as rules
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.algebra.schema import COUNT, TableSchema
from viewkeeper.algebra.zeros import float_columns
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.collected import PendingChange
from viewkeeper.engine.rows import Held
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import Answer, counted
from viewkeeper.spark.inputs import fitted, has_one_zero, listed_rows, to_frame
from viewkeeper.spark.layer_frames import placed_rows
from viewkeeper.spark.maps import comparable, entry_columns, restored
from viewkeeper.spark.read import Reader
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import DataFile, RelationState

_ERRORS: dict[str, tuple[type[errors.InvalidChange], str]] = {
    "missing": (errors.MissingRows, "These rows of {} do not exist."),
    "duplicate": (errors.DuplicateKey, "These keys of {} would occur twice."),
    "reference": (errors.BrokenForeignKey, "These foreign keys of {} refer to no row."),
    "null": (errors.NullNotAllowed, "These rows of {} have NULL where none may be."),
}


@dataclass
class Staged:
    """The changes of one table so far, as signed rows not yet consolidated."""

    schema: TableSchema
    state: RelationState
    parts: list[DataFrame | pa.Table] = field(default_factory=list)
    """What each change adds; Arrow tables are rows on the driver."""
    only_inserts: bool = True
    updates: set[str] | None = field(default_factory=set)
    """The columns that updates may have changed; None where rows were inserted or deleted as well."""
    checked: bool = True
    rows: int | None = 0
    files: tuple[DataFile, ...] = ()

    def union(self, spark: SparkSession) -> DataFrame:
        frames = (spark.createDataFrame(p) if isinstance(p, pa.Table) else p for p in self.parts)
        return reduce(DataFrame.unionByName, frames)

    def held(self, most: int) -> Held | None:
        """The signed rows, where all of them are on the driver, and at most `most`."""
        tables = [part for part in self.parts if isinstance(part, pa.Table)]
        if not tables or len(tables) < len(self.parts) or sum(t.num_rows for t in tables) > most:
            return None
        return Held(pa.concat_tables(tables), counted(self.schema.columns))

    def updates_only(self, columns: Iterable[str] | None) -> None:
        """What was just staged updates these columns, or is something else than an update."""
        self.updates = None if columns is None or self.updates is None else self.updates | set(columns)

    def add(self, part: DataFrame | pa.Table, rows: int | None) -> None:
        self.parts.append(part)
        self.rows = None if rows is None or self.rows is None else self.rows + rows


class StagedTransaction:
    """All changed tables of one transaction."""

    def __init__(self, engine: SparkEngine, draft: Draft) -> None:
        self.engine = engine
        self.reader = Reader(engine)
        self.draft = draft
        self.tables: dict[str, Staged] = {}
        self.checks: list[rules.RowCheck] = []
        self.frames: dict[str, DataFrame] = {}

    def apply(self, changes: Sequence[PendingChange]) -> None:
        """Writes and checks everything, then appends the layers to the draft."""
        for change in changes:
            self._stage(change)
        for staged in self.tables.values():
            staged.files = self._write(staged)
        copies_left = self.check()
        for name, staged in self.tables.items():
            updates = None if staged.updates is None else tuple(sorted(staged.updates))
            whole = staged.checked and name not in copies_left
            self.draft.append(name, staged.files, updates=updates, last_copies=whole)

    def _stage(self, change: PendingChange) -> None:
        staged = self._staged(change)
        staged.checked = staged.checked and change.check
        if change.kind != "update":
            staged.updates_only(change.updates)
        if self._stage_list(staged, change):
            return
        frame, rows = self._frame(change, staged)
        match change.kind:
            case "insert":
                fit = fitted(frame, staged.schema.columns, staged.schema.name)
                staged.add(fit.withColumn(COUNT, F.lit(1).cast("bigint")), rows)
            case "delete":
                self._stage_delete(staged, frame, rows, are_stored=callable(change.rows))
            case "update":
                self._stage_update(staged, frame, rows)

    def _staged(self, change: PendingChange) -> Staged:
        if change.table not in self.tables:
            schema = self.draft.catalog.tables[change.table]
            self.tables[change.table] = Staged(schema, self.draft.relations[change.table])
        return self.tables[change.table]

    def _stage_list(self, staged: Staged, change: PendingChange) -> bool:
        """Keeps whole rows that are given as a list on the driver; whether it could."""
        data, schema = change.rows, staged.schema
        if not isinstance(data, list) or not data or change.kind == "update":
            return False
        is_insert = change.kind == "insert"
        if not is_insert and (isinstance(data[0], Mapping) or _looks_like_keys(data, schema)):
            return False
        rows = listed_rows(self.engine.spark, data, schema.columns, schema.name)
        if rows is None or not (is_insert or has_one_zero(rows)):
            return False
        staged.only_inserts = staged.only_inserts and is_insert
        staged.add(placed_rows(rows, {COUNT: 1 if is_insert else -1}), len(data))
        return True

    def _frame(self, change: PendingChange, staged: Staged) -> tuple[DataFrame, int | None]:
        data = change.rows(self.draft.base) if callable(change.rows) else change.rows
        rows = len(data) if isinstance(data, list) else _at_most(change, staged.state)
        schema, columns = staged.schema, staged.schema.columns
        if change.kind == "delete" and schema.key and _looks_like_keys(data, schema):
            columns = tuple(schema.column(name) for name in schema.key)
        return to_frame(self.engine.spark, data, columns), rows

    def _stage_delete(self, staged: Staged, frame: DataFrame, rows: int | None, *, are_stored: bool) -> None:
        """Deletes keys or whole rows; `are_stored`: they are rows of the table, just as it holds them."""
        schema = staged.schema
        names = {inner_column(name).lower() for name in frame.columns}
        staged.only_inserts = False
        if schema.key and names == {name.lower() for name in schema.key}:
            keys = fitted(frame, [schema.column(name) for name in schema.key], schema.name).distinct()
            number = self.remember(keys, f"keys_{schema.name}", schema)
            asked = Reference(number, schema.key)
            current = self._current(staged)
            self.checks.append(rules.missing_keys(schema.name, current, asked))
            old = self._rows(schema, weighted(rules.rows_of_keys(current, asked)))
            staged.add(old.withColumn(COUNT, -F.col(COUNT)), rows)
            return
        if names != {name.lower() for name in schema.names}:
            raise errors.WrongType(
                f"A deletion from {schema.name} takes whole rows{' or keys' if schema.key else ''}.",
                f"Given: {', '.join(frame.columns)}. Wanted: {', '.join(schema.names)}"
                + (f", or {', '.join(schema.key)}." if schema.key else "."),
                table=schema.name,
            )
        fit = fitted(frame, schema.columns, schema.name)
        if floats := {} if are_stored else float_columns(entry_columns(schema.columns)):
            given = Reference(self.remember(fit, f"given_{schema.name}", schema), schema.names)
            fit = self._rows(schema, rules.stored_rows(self._current(staged), given, floats))
        staged.add(fit.withColumn(COUNT, F.lit(-1).cast("bigint")), rows)

    def _stage_update(self, staged: Staged, frame: DataFrame, rows: int | None) -> None:
        schema = staged.schema
        given = {inner_column(name).lower() for name in frame.columns}
        missing = [name for name in schema.key if name.lower() not in given]
        if not schema.key or missing:
            raise errors.InvalidChange(
                f"An update of {schema.name} names rows by primary key.",
                f"The rows lack {', '.join(missing)}." if schema.key else "The table has none.",
                "Use DELETE and INSERT, or wh.sql('UPDATE …').",
                table=schema.name,
            )
        staged.only_inserts = False
        columns = [column for column in schema.columns if column.name.lower() in given]
        staged.updates_only(column.name for column in columns if column.name not in schema.key)
        number = self.remember(fitted(frame, columns, schema.name), f"updates_{schema.name}", schema)
        updates = Reference(number, tuple(column.name for column in columns))
        current = self._current(staged)
        keys = Reference(number, schema.key)
        self.checks += [
            rules.missing_keys(schema.name, current, keys),
            rules.repeated_keys(schema.name, keys),
        ]
        changed = weighted(rules.updated_rows(current, updates, schema.key))
        staged.add(self._rows(schema, changed), None if rows is None else 2 * rows)

    def _current(self, staged: Staged) -> Relation:
        """The table as it stands after the operations staged so far."""
        name = staged.schema.name
        source = self.reader.bag(staged.state)
        own = self.remember(source.frame, f"state_{name}", staged.schema)
        state = Reference(own, staged.schema.names, source.counted)
        if not staged.parts:
            return state
        union = staged.union(self.engine.spark)
        before = Reference(self.remember(union, f"staged_{name}", staged.schema), staged.schema.names, True)
        return union_all((state, before), staged.schema.names)

    def _rows(self, schema: TableSchema, plan: Relation) -> DataFrame:
        """Rows of a table by a plan over what is remembered."""
        return restored(self.engine.plan(plan, self.frames), schema.columns)

    def remember(self, frame: DataFrame, wish: str, table: TableSchema) -> str:
        """A name for rows of a table in the checks, where they are compared."""
        name = f"{wish}_{len(self.frames)}"
        self.frames[name] = comparable(frame, table.columns)
        return name

    def _write(self, staged: Staged) -> tuple[DataFile, ...]:
        """Writes the net effect on a table; what is only inserted is its own."""
        given = staged.held(self.engine.limits.written_by_driver)
        rows: Answer = staged.union(self.engine.spark) if given is None else given
        if not staged.only_inserts:
            leaf = Reference("staged", staged.schema.names, counted=True)
            rows = self.engine.answer(rules.net_effect(leaf), {"staged": rows})
        return self.engine.write(rows, staged.state.folder, staged.rows)

    def check(self) -> set[str]:
        """One action for all checks, none where nothing can be wrong; the tables with copies left."""
        nets = {name: self._net(staged) for name, staged in self.tables.items()}
        asked = [check for check in self.checks if self.tables[check.table].checked]
        for name, staged in self.tables.items():
            if staged.checked and staged.files:
                asked += self._table_checks(staged, nets[name])
                asked += self._reference_checks(staged, nets)
        return self.run(asked)

    def run(self, asked: Sequence[rules.RowCheck]) -> set[str]:
        """Raises the first check that finds wrong rows; returns the tables with copies left."""
        if not asked:
            return set()
        rows = self.engine.rows(self.engine.plan(rules.as_one_query(asked), self.frames), 1000)
        found: dict[int, list[str]] = {}
        for number, row in rows:
            found.setdefault(number, []).append(row)
        for number, check in enumerate(asked):
            if number in found and check.kind != rules.COPIES_LEFT:
                raise _error(check, [_shown(json.loads(row)) for row in found[number]])
        return {asked[number].table for number in found}

    def _net(self, staged: Staged) -> Relation:
        frame = self.reader.layer_files(staged.state, staged.files)
        name = self.remember(frame, f"net_{staged.schema.name}", staged.schema)
        return Reference(name, staged.schema.names, counted=True)

    def _table_checks(self, staged: Staged, net: Relation) -> list[rules.RowCheck]:
        schema = staged.schema
        needs_state = schema.key or not staged.only_inserts
        state: Relation = net
        if needs_state:
            ranges = _ranges(staged.files, schema.key or schema.names)
            source = self.reader.bag(staged.state, ranges)
            name = self.remember(source.frame, f"before_{schema.name}", schema)
            state = Reference(name, schema.names, source.counted)
        return rules.state_checks(schema, state, net, not staged.only_inserts)

    def _reference_checks(self, staged: Staged, nets: dict[str, Relation]) -> list[rules.RowCheck]:
        catalog, schema = self.draft.catalog, staged.schema
        found = [
            rules.reference_check(schema, key, nets[schema.name], self.after(key.table, nets))
            for key in schema.foreign_keys
        ]
        if not staged.only_inserts:
            found += [
                rules.orphan_check(
                    child, key, self.after(child.name, nets), nets[schema.name], self.after(schema.name, nets)
                )
                for child, key in _references_to(catalog, schema.name)
            ]
        return found

    def after(self, table: str, nets: dict[str, Relation]) -> Relation:
        """A table as the transaction leaves it."""
        schema = self.draft.catalog.tables[table]
        source = self.reader.bag(self.draft.relations[table])
        name = self.remember(source.frame, f"after_{table}", schema)
        state = Reference(name, schema.names, source.counted)
        return union_all((state, nets[table]), schema.names) if table in nets else state


def check_followed(
    engine: SparkEngine,
    draft: Draft,
    before: Mapping[str, RelationState],
    changed: Mapping[str, tuple[DataFile, ...]],
) -> None:
    """Checks what happened to followed tables as if it were a transaction over their states before."""
    earlier = draft.copied()
    earlier.relations = dict(before)
    stage = StagedTransaction(engine, earlier)
    for name, files in changed.items():
        inserts = all(file.ranges.get(COUNT, (-1, 0))[0] > 0 for file in files)
        own = Staged(draft.catalog.tables[name], before[name], only_inserts=inserts, files=files)
        stage.tables[name] = own
    stage.check()


def check_loaded(engine: SparkEngine, draft: Draft, schema: TableSchema, state: RelationState) -> None:
    """Checks the rows that a new table was filled with, as if they had been inserted."""
    stage = StagedTransaction(engine, draft)
    own = stage.remember(Reader(engine).rows(state).frame, f"net_{schema.name}", schema)
    loaded = Reference(own, schema.names)
    asked = rules.load_checks(schema, loaded)
    for key in schema.foreign_keys:
        parents = loaded if key.table == schema.name else stage.after(key.table, {})
        asked.append(rules.load_reference_check(schema, key, loaded, parents))
    stage.run(asked)


def _at_most(change: PendingChange, state: RelationState) -> int | None:
    """How many rows a change has that is not a list: no more are deleted or updated than are there."""
    if change.number is not None or change.kind == "insert":
        return change.number
    return state.stored_rows


def _looks_like_keys(data: Any, schema: TableSchema) -> bool:
    """Whether rows given as a list hold keys only."""
    if not isinstance(data, list) or not data:
        return False
    first = data[0]
    if isinstance(first, dict):
        return {inner_column(name).lower() for name in first} == {name.lower() for name in schema.key}
    width = len(first) if isinstance(first, (tuple, list)) else 1
    return width == len(schema.key) != len(schema.columns)


def _references_to(catalog: Catalog, table: str) -> list[tuple[TableSchema, Any]]:
    return [(t, key) for t in catalog.tables.values() for key in t.foreign_keys if key.table == table]


def _ranges(files: Sequence[DataFile], columns: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """The least and greatest value of each column without NULLs, where all files tell them."""
    found = {}
    for name in columns:
        pairs = [None if name in file.nulls else file.ranges.get(name) for file in files]
        known = [pair for pair in pairs if pair is not None]
        if known and len(known) == len(pairs):
            found[name] = (min(low for low, _ in known), max(high for _, high in known))
    return found


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {shown(name): value for name, value in row.items()}


def _error(check: rules.RowCheck, rows: list[dict[str, Any]]) -> errors.InvalidChange:
    kind, what = _ERRORS[check.kind]
    shown = "\n".join(f"  {row}" for row in rows)
    return kind(
        what.format(check.table),
        f"{check.detail}\n{shown}".strip("\n"),
        "Nothing was applied. Correct the rows and try again.",
        table=check.table,
        rows=rows,
    )
