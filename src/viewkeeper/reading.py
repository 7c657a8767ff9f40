"""Reading a warehouse without Spark: rows of tables and views, and what changed in them, as Arrow tables.

    viewkeeper.read("warehouse/", "region_sales").to_pandas()
    viewkeeper.changes("warehouse/", "region_sales", since=12).to_arrow()

Main and layers of one committed version are merged by the formulas that Spark's readers go by. What Arrow
cannot merge exactly as Spark does raises `NeedsSpark`, which says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from viewkeeper.algebra.expressions import Scalar, column
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.arrow.plans import rows as plan_rows
from viewkeeper.arrow.states import States
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import InvalidSQL, NeedsSpark, NotFound, UnknownColumn
from viewkeeper.storage.commits import WarehouseLog, states_between
from viewkeeper.storage.feed import feed_columns, feed_of
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import RelationState
from viewkeeper.storage.stores import options_of

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars


@dataclass(frozen=True)
class Rows:
    """Rows that were read. Arrow, pandas, polars and DuckDB take them from `__arrow_c_stream__` as well."""

    table: pa.Table
    version: int

    def to_arrow(self) -> pa.Table:
        return self.table

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """A DataFrame of pandas; options are those of `pyarrow.Table.to_pandas`."""
        frame: pandas.DataFrame = self.table.to_pandas(**options)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A DataFrame of polars."""
        frame: polars.DataFrame = _library("polars").from_arrow(self.table)
        return frame

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """A relation of DuckDB, in a connection of its own unless one is given."""
        library = _library("duckdb")
        relation: duckdb.DuckDBPyRelation = (connection or library.connect()).from_arrow(self.table)
        return relation

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def read(
    path: str,
    name: str,
    version: int | None = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Rows:
    """The rows of a table or view as last published, or at an earlier version.

    `where` is a condition of Spark SQL over its columns: comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL and
    arithmetic. Files that cannot hold such rows are not read. `storage_options` open an object store.
    """
    log = opened(path, storage_options)
    entry = log.latest() if version is None else log.entry(version)
    schema = entry.catalog.schema(name)
    state = entry.relations[schema.name]
    chosen = [_column(schema, one) for one in columns] if columns is not None else list(schema.names)
    condition = None if where is None else _condition(schema, where)
    found = _read(schema, lambda: States(log.folder).rows(state, chosen, condition))
    return Rows(_shown(found, state, chosen), entry.version)


def changes(
    path: str,
    name: str,
    since: int,
    until: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Rows:
    """The rows of a table or view that were inserted, deleted and updated between two versions."""
    log = opened(path, storage_options)
    before, after, version = states_between(log, name, since, until)
    schema = log.entry(version).catalog.schema(name)

    def feed() -> pa.Table:
        return plan_rows(feed_of(after), {"changes": States(log.folder).signed(before, after)})

    found = _read(schema, feed)
    visible = [stored_type(one.type) for one in schema.columns]
    kinds = [pa.string(), *(kind for kind in visible for _ in ("old", "new"))]
    fields = list(zip(feed_columns(after), kinds, strict=True))
    return Rows(pa.table([c.cast(k) for c, k in zip(found.columns, kinds)], pa.schema(fields)), version)


def opened(path: str, storage_options: Mapping[str, str] | None = None) -> WarehouseLog:
    """The log of a warehouse that is there."""
    log = WarehouseLog(Folder(str(path), create=False, options=options_of(storage_options)))
    if not log.versions():
        raise NotFound(
            f"There is no warehouse at {path}.",
            hint="Give the path that it was made at; viewkeeper.open makes one.",
        )
    return log


def _read(schema: TableSchema, rows: Any) -> pa.Table:
    try:
        return rows()
    except NeedsSpark as error:
        raise NeedsSpark(
            f"{shown(schema.name)} cannot be read exactly without Spark: {error.what}",
            error.detail,
            "Read it with viewkeeper.open(path).table(name), or fold its layers with viewkeeper compact.",
            table=schema.name,
        ) from error


def _shown(table: pa.Table, state: RelationState, names: Sequence[str]) -> pa.Table:
    """The columns under the user's names, NOT NULL where they are declared so."""
    stored = {one.name: one for one in state.columns}
    fields = [pa.field(shown(n), stored_type(stored[n].type), stored[n].nullable) for n in names]
    return pa.table([table[name] for name in names], schema=pa.schema(fields))


def _column(schema: TableSchema, name: str) -> str:
    for one in schema.columns:
        if shown(one.name).lower() == name.lower():
            return one.name
    known = ", ".join(shown(one.name) for one in schema.columns)
    raise UnknownColumn(
        f"{shown(schema.name)} has no column {name}.", hint=f"It has {known}.", table=schema.name
    )


def _condition(schema: TableSchema, text: str) -> Scalar:
    """A condition over the columns as they are called inside; dates that are compared are dates."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidSQL(f"The condition {text!r} cannot be parsed.", str(error)) from error
    if tree.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        raise InvalidSQL(f"The condition {text!r} is not one over the columns of a row.")
    dates = {one.name for one in schema.columns if one.type == "date"}

    def resolved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            return column(_column(schema, node.name))
        if isinstance(node, exp.Literal) and node.is_string and _is_beside_date(node, schema, dates):
            return exp.convert(_iso(node.name))
        return node

    return tree.transform(resolved)


def _is_beside_date(text: exp.Literal, schema: TableSchema, dates: set[str]) -> bool:
    beside = text.parent.iter_expressions() if text.parent is not None else ()
    return any(isinstance(one, exp.Column) and _column(schema, one.name) in dates for one in beside)


def _iso(text: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError as error:
        raise InvalidSQL(f"{text!r} is no date.", hint="Write it as '2026-01-31'.") from error


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise NotFound(f"{name} is not installed.", hint=f"pip install {name}") from error


__all__ = ["Rows", "changes", "opened", "read"]
