"""Applies the changes of a transaction: stage, write the net effect, check it, append it.

Two Spark actions whatever the number of operations: one writes the net effect of every changed
table, one runs all checks over what was written, with the base files pruned by its ranges. Rows that
are inserted, or deleted as a whole, and given as a list are on the driver already: it writes them. Lists of
keys to be deleted or updated are looked up (`spark/few_keys.py`), and all else is done on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper import errors
from viewkeeper.algebra.build import union_all
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.merge import net_effect as rules
from viewkeeper.algebra.relations import Distinct, Negate, Reference, Relation
from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.algebra.zeros import float_columns
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.collected import PendingChange
from viewkeeper.engine.rows import Held
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.few_keys import rows_of_few_keys
from viewkeeper.spark.frames import Answer, counted
from viewkeeper.spark.inputs import fitted, has_one_zero, listed_rows, to_frame
from viewkeeper.spark.layer_frames import placed_rows
from viewkeeper.spark.maps import comparable, entry_columns, restored
from viewkeeper.spark.read import Reader
from viewkeeper.spark.row_checks import run_checks
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.footers import Wanted
from viewkeeper.storage.relation import DataFile, RelationState


@dataclass
class Staged:
    """The changes of one table so far, as signed rows not yet consolidated."""

    schema: TableSchema
    state: RelationState
    parts: list[Answer] = field(default_factory=list)
    """What each change adds, as signed rows."""
    near: Held | None = None
    """The table's rows of all keys that the transaction names, where the driver has looked them up."""
    net: Held | None = None
    """What was written, where the driver has it."""
    only_inserts: bool = True
    updates: set[str] | None = field(default_factory=set)
    """The columns that updates may have changed; None where rows were inserted or deleted as well."""
    checked: bool = True
    rows: int | None = 0
    files: tuple[DataFile, ...] = ()

    def union(self, engine: SparkEngine) -> Answer:
        """The signed rows, on the driver where all of them are."""
        held = [part.table for part in self.parts if isinstance(part, Held)]
        if len(held) < len(self.parts):
            return reduce(DataFrame.unionByName, map(engine.frame, self.parts))
        alike = [table.cast(held[0].schema) for table in held]
        return Held(pa.concat_tables(alike), counted(self.schema.columns))

    def updates_only(self, columns: Iterable[str] | None) -> None:
        """What was just staged updates these columns, or is something else than an update."""
        self.updates = None if columns is None or self.updates is None else self.updates | set(columns)

    def add(self, part: Answer, rows: int | None) -> None:
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
        self.frames: dict[str, Answer] = {}

    def apply(self, changes: Sequence[PendingChange]) -> None:
        """Writes and checks everything, then appends the layers to the draft."""
        given = [(change, self._given(change)) for change in changes]
        for name in self.tables:
            self._look_up(name, [(change, rows) for change, rows in given if change.table == name])
        for change, rows in given:
            self._stage(change, rows)
        self.finish()

    def change(self, table: str, signed: Answer, rows: int | None, check: bool = True) -> None:
        """Stages changes with their counts: rows with all columns, just as the table holds them."""
        staged = self._staged(table)
        staged.checked = staged.checked and check
        staged.only_inserts = False
        staged.updates_only(None)
        staged.add(signed, rows)

    def finish(self) -> None:
        """Writes and checks what is staged, then appends the layers to the draft."""
        for staged in self.tables.values():
            staged.files = self._write(staged)
        copies_left = self.check()
        for name, staged in self.tables.items():
            updates = None if staged.updates is None else tuple(sorted(staged.updates))
            whole = staged.checked and name not in copies_left
            self.draft.append(name, staged.files, updates=updates, last_copies=whole)

    def _given(self, change: PendingChange) -> Answer:
        """The rows of a change: of a list, with columns of the table, on the driver where they can be."""
        schema, data = self._staged(change.table).schema, change.rows
        columns = schema.columns
        if change.kind == "delete" and schema.key and _looks_like_keys(data, schema):
            columns = tuple(schema.column(name) for name in schema.key)
        if isinstance(data, list):
            is_insert = change.kind == "insert"
            held = listed_rows(self.engine.spark, data, columns, schema.name, padded=is_insert)
            if held is not None:
                return held
        return to_frame(self.engine.spark, data(self.draft.base) if callable(data) else data, columns)

    def _staged(self, table: str) -> Staged:
        if table not in self.tables:
            schema = self.draft.catalog.tables[table]
            self.tables[table] = Staged(schema, self.draft.relations[table])
        return self.tables[table]

    def _look_up(self, table: str, changes: Sequence[tuple[PendingChange, Answer]]) -> None:
        """Fetches the rows of all keys that the changes of a table name, where all are on the driver. Of rows
        that are only inserted, the checks ask the same at no greater cost."""
        staged = self.tables[table]
        key, lists = staged.schema.key, [rows for _, rows in changes if isinstance(rows, Held)]
        names_keys = all(set(key) <= set(rows.types) for rows in lists)
        if not key or not names_keys or len(lists) < len(changes) or _only_inserts(changes):
            return
        if any(rows.rows for rows in lists):
            tables = [rows.table for rows in lists]
            staged.near = rows_of_few_keys(self.engine, staged.state, staged.schema, tables)

    def _stage(self, change: PendingChange, given: Answer) -> None:
        staged = self._staged(change.table)
        staged.checked = staged.checked and change.check
        rows = given.rows if isinstance(given, Held) else _at_most(change, staged.state)
        if change.kind != "update":
            staged.updates_only(change.updates)
        match change.kind:
            case "insert":
                staged.add(_signed(_fit(given, staged.schema.columns, staged.schema), 1), rows)
            case "delete":
                self._stage_delete(staged, given, rows, are_stored=callable(change.rows))
            case "update":
                self._stage_update(staged, given, rows)

    def _stage_delete(self, staged: Staged, given: Answer, rows: int | None, *, are_stored: bool) -> None:
        """Deletes keys or whole rows; `are_stored`: they are rows of the table, just as it holds them."""
        schema, names = staged.schema, _names(given)
        staged.only_inserts = False
        if schema.key and names == {name.lower() for name in schema.key}:
            keys = _fit(given, [schema.column(name) for name in schema.key], schema)
            asked = Reference(self.remember(keys, f"keys_{schema.name}", schema), schema.key)
            current = self._current(staged)
            self.checks.append(rules.missing_keys(schema.name, current, Distinct(asked)))
            old = Negate(rules.rows_of_keys(current, asked))
            staged.add(self._rows(schema, weighted(old)), rows)
            return
        if names != {name.lower() for name in schema.names}:
            raise errors.WrongType(
                f"A deletion from {schema.name} takes whole rows{' or keys' if schema.key else ''}.",
                f"Given: {', '.join(_columns(given))}. Wanted: {', '.join(schema.names)}"
                + (f", or {', '.join(schema.key)}." if schema.key else "."),
                table=schema.name,
            )
        fit = _fit(given, schema.columns, schema)
        is_one_of_several = not (are_stored or (isinstance(fit, Held) and has_one_zero(fit.table)))
        if is_one_of_several and (floats := float_columns(entry_columns(schema.columns))):
            asked = Reference(self.remember(fit, f"given_{schema.name}", schema), schema.names)
            fit = self._rows(schema, rules.stored_rows(self._current(staged), asked, floats))
        staged.add(_signed(fit, -1), rows)

    def _stage_update(self, staged: Staged, given: Answer, rows: int | None) -> None:
        schema, names = staged.schema, _names(given)
        missing = [name for name in schema.key if name.lower() not in names]
        if not schema.key or missing:
            raise errors.InvalidChange(
                f"An update of {schema.name} names rows by primary key.",
                f"The rows lack {', '.join(missing)}." if schema.key else "The table has none.",
                "Use DELETE and INSERT, or wh.sql('UPDATE …').",
                table=schema.name,
            )
        staged.only_inserts = False
        columns = [column for column in schema.columns if column.name.lower() in names]
        staged.updates_only(column.name for column in columns if column.name not in schema.key)
        number = self.remember(_fit(given, columns, schema), f"updates_{schema.name}", schema)
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
        state = self._before(staged, f"state_{staged.schema.name}")
        if not staged.parts:
            return state
        name = self.remember(staged.union(self.engine), f"staged_{staged.schema.name}", staged.schema)
        before = Reference(name, staged.schema.names, counted=True)
        return union_all((state, before), staged.schema.names)

    def _before(self, staged: Staged, wish: str, ranges: Wanted | None = None) -> Reference:
        """The table as it was; of one whose keys were looked up, the rows that they name."""
        schema = staged.schema
        if staged.near is not None:
            return Reference(self.remember(staged.near, wish, schema), schema.names, counted=True)
        source = self.reader.bag(staged.state, ranges)
        return Reference(self.remember(source.frame, wish, schema), schema.names, source.counted)

    def _rows(self, schema: TableSchema, plan: Relation) -> Answer:
        """Rows of a table by a plan over what is remembered."""
        rows = self.engine.answer(plan, self.frames)
        return rows if isinstance(rows, Held) else restored(rows, schema.columns)

    def remember(self, rows: Answer, wish: str, table: TableSchema) -> str:
        """A name for rows of a table in the checks, where they are compared."""
        name = f"{wish}_{len(self.frames)}"
        self.frames[name] = rows if isinstance(rows, Held) else comparable(rows, table.columns)
        return name

    def _write(self, staged: Staged) -> tuple[DataFile, ...]:
        """Writes the net effect on a table; what is only inserted is its own."""
        rows = staged.union(self.engine)
        if isinstance(rows, Held) and rows.rows > self.engine.limits.written_by_driver:
            rows = self.engine.frame(rows)
        if not staged.only_inserts:
            leaf = Reference("staged", staged.schema.names, counted=True)
            rows = self.engine.answer(rules.net_effect(leaf), {"staged": rows})
        staged.net = rows if isinstance(rows, Held) else None
        return self.engine.write(rows, staged.state.folder, staged.rows)

    def check(self) -> set[str]:
        """One action for all checks, none where nothing can be wrong; the tables with copies left."""
        nets = {name: self._net(staged) for name, staged in self.tables.items()}
        asked = [check for check in self.checks if self.tables[check.table].checked]
        for name, staged in self.tables.items():
            if staged.checked and staged.files:
                asked += self._table_checks(staged, nets[name])
                asked += self._reference_checks(staged, nets)
        return run_checks(self.engine, asked, self.frames)

    def _net(self, staged: Staged) -> Relation:
        written = staged.net or self.reader.layer_files(staged.state, staged.files)
        name = self.remember(written, f"net_{staged.schema.name}", staged.schema)
        return Reference(name, staged.schema.names, counted=True)

    def _table_checks(self, staged: Staged, net: Relation) -> list[rules.RowCheck]:
        schema, state = staged.schema, net
        if schema.key or not staged.only_inserts:
            ranges = _ranges(staged.files, schema.key or schema.names)
            state = self._before(staged, f"before_{schema.name}", ranges)
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
    run_checks(engine, asked, stage.frames)


def _only_inserts(changes: Sequence[tuple[PendingChange, Answer]]) -> bool:
    return all(change.kind == "insert" for change, _ in changes)


def _columns(given: Answer) -> list[str]:
    """The columns of given rows, by their users' names."""
    return list(map(shown, given.types)) if isinstance(given, Held) else list(given.columns)


def _names(given: Answer) -> set[str]:
    """The columns of given rows by their names in the table, which do not depend on case."""
    return {inner_column(name).lower() for name in _columns(given)}


def _fit(given: Answer, columns: Sequence[Column], schema: TableSchema) -> Answer:
    """Given rows with these columns of a table."""
    return given.select(columns) if isinstance(given, Held) else fitted(given, columns, schema.name)


def _signed(rows: Answer, count: int) -> Answer:
    if isinstance(rows, Held):
        return Held(placed_rows(rows.table, {COUNT: count}), counted(rows.columns))
    return rows.withColumn(COUNT, F.lit(count).cast("bigint"))


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
