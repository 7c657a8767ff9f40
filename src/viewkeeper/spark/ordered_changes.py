"""Changes in any order, applied to a table of a draft, with the memory of what came before
(`algebra/merge/change_order.py`)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import DataFrame
from sqlglot import exp

from viewkeeper.algebra.build import projected, restricted_to
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Named, column, not_, same
from viewkeeper.algebra.inner_names import inner_column, shown
from viewkeeper.algebra.merge.change_order import DELETED, SEEN, ChangeOrder, order_columns
from viewkeeper.algebra.merge.net_effect import RowCheck
from viewkeeper.algebra.relations import Filter, Negate, Reference, Relation, UnionAll
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.errors import InvalidOption
from viewkeeper.spark.change_rows import Reading
from viewkeeper.spark.debezium import WRONG
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import columns_of
from viewkeeper.spark.maps import comparable, restored
from viewkeeper.spark.read import Reader
from viewkeeper.spark.row_checks import run_checks
from viewkeeper.spark.stage import StagedTransaction
from viewkeeper.spark.stored_relations import new_relation
from viewkeeper.sql.render import state_name
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import DataFile

ORDER = "viewkeeper.order"
"""The property of a memory that names the order it was kept for."""


def memory_name(table: str) -> str:
    """The hidden table that keeps deletions, and the order of changes that the table itself does not hold."""
    return f"__changes__{table}"


@dataclass(frozen=True)
class Written:
    """Rows in files that hold them until all is done."""

    frame: DataFrame
    files: tuple[DataFile, ...]

    @staticmethod
    def of(engine: SparkEngine, frame: DataFrame) -> Written:
        files = engine.write_result(frame)
        return Written(engine.files(RESULTS, files, columns_of(frame)), files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class OrderedChanges:
    """The changes of one table, read once and found to mean something."""

    table: str
    written: Written
    columns: tuple[str, ...]
    by: ChangeOrder
    reading: Reading

    @staticmethod
    def read(
        engine: SparkEngine, draft: Draft, table: str, frame: DataFrame, reading: Reading
    ) -> OrderedChanges:
        """Evaluates the changes once; raises where some cannot be read, or mean nothing."""
        schema = draft.catalog.tables[table]
        rows = comparable(reading.rows(frame, schema), schema.columns)
        columns = tuple(name for name in rows.columns if name != WRONG)
        own = OrderedChanges(
            table,
            Written.of(engine, rows),
            columns,
            ChangeOrder(schema.key, order_columns(len(reading.order))),
            reading,
        )
        own._check(engine, tuple(rows.columns))
        return own

    def _check(self, engine: SparkEngine, columns: tuple[str, ...]) -> None:
        checks = self.by.checks(self.table, self._changes)
        if WRONG in columns:
            is_wrong = not_(exp.Is(this=column(WRONG), expression=exp.null()))
            wrong = restricted_to(Filter(Reference("changes", columns), is_wrong), (WRONG,))
            checks.insert(0, RowCheck("malformed", self.table, wrong))
        if self.written.rows:
            run_checks(engine, checks, {"changes": self.written.frame})

    @property
    def _changes(self) -> Relation:
        return Reference("changes", self.columns)

    def stage(self, engine: SparkEngine, draft: Draft) -> None:
        """Applies the changes that nothing newer is known of to the draft."""
        if not self.written.rows:
            return
        schema = draft.catalog.tables[self.table]
        memory = self._memory(engine, draft, schema)
        frames: dict[str, DataFrame] = {"changes": self.written.frame}
        stored = _stored(engine, draft, schema, frames)
        known = self._known(engine, draft, schema, stored, memory, frames)
        plan = self.by.newer(self.by.latest(self._changes), known)
        newer = Written.of(engine, engine.plan(plan, frames))
        frames["newer"] = newer.frame
        changes = Reference("newer", self.columns)

        if not newer.rows:
            return
        stage = StagedTransaction(engine, draft)

        def change(of: TableSchema, gone: Relation, came: Relation, number: int | None) -> None:
            net = weighted(UnionAll((Negate(gone), restricted_to(came, gone.columns))))
            rows = restored(engine.plan(net, frames), of.columns)
            stage.change(of.name, rows, number, check=of is schema)

        rows = self.by.replaced(stored, changes), self.by.replacing(stored, changes)
        change(schema, *rows, 2 * newer.rows)
        if memory is not None:
            now, keep = int(time.time()), self.reading.retention
            forgotten = self.by.forgotten(known[0], changes, None if keep is None else now - keep)
            learned = self.by.remembered(changes, now, self.reading.is_held_by(schema))
            change(memory, forgotten, learned, None)
        stage.finish()

    def _known(
        self,
        engine: SparkEngine,
        draft: Draft,
        schema: TableSchema,
        stored: Relation,
        memory: TableSchema | None,
        frames: dict[str, DataFrame],
    ) -> list[Relation]:
        """What is remembered of keys, and what rows of the table tell."""
        if memory is None:
            return []
        found: list[Relation] = [_stored(engine, draft, memory, frames)]
        if self.reading.is_held_by(schema):
            held = zip(self.by.order, self.reading.order, strict=True)
            ranks = (Named(own, column(schema.column(inner_column(name)).name)) for own, name in held)
            found.append(projected(stored, (*same(schema.key), *ranks)))
        return found

    def _memory(self, engine: SparkEngine, draft: Draft, schema: TableSchema) -> TableSchema | None:
        """The memory of the table; it is made with the first changes that have an order."""
        name, order = memory_name(schema.name), ", ".join(self.reading.order)
        known = draft.catalog.tables.get(name)
        if known is not None and known.property(ORDER) != order:
            raise InvalidOption(
                f"Changes of {shown(schema.name)} cannot be ordered by {order or 'nothing'}.",
                f"Earlier ones were ordered by {known.property(ORDER)}, and are compared with these.",
                "Order them as before, or load the table anew.",
            )
        if known is not None or not order:
            return known
        kinds = {one.name: one.type for one in columns_of(self.written.frame)}
        columns = (
            *(schema.column(name) for name in schema.key),
            *(Column(name, kinds[name], nullable=False) for name in self.by.order),
            Column(DELETED, "boolean", nullable=False),
            Column(SEEN, "bigint", nullable=False),
        )
        made = TableSchema(name, columns, schema.key, properties=((ORDER, order),))
        draft.catalog = draft.catalog.with_table(made)
        draft.put(name, new_relation(engine, name, columns, draft.version, schema.key))
        return made


def _stored(
    engine: SparkEngine, draft: Draft, schema: TableSchema, frames: dict[str, DataFrame]
) -> Reference:
    """A table of the draft as a leaf of plans."""
    source = Reader(engine).bag(draft.relations[schema.name])
    leaf = Reference(f"stored_{len(frames)}", schema.names, source.counted)
    frames[state_name(leaf)] = comparable(source.frame, schema.columns)
    return leaf
