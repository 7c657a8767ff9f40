"""Asking Spark about a query: its columns, its types, and its errors in Spark's own words."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.schema import Column, is_hidden
from viewkeeper.algebra.walk import scans
from viewkeeper.draft import Draft
from viewkeeper.maintenance.recompute import recomputed
from viewkeeper.maintenance.strategy import Stratum, View
from viewkeeper.spark.engine import Engine, columns_of, slot
from viewkeeper.sql.render import state_name
from viewkeeper.sql.splice import spliced, tables_read


def analysed_columns(engine: Engine, draft: Draft, sql: str) -> tuple[Column, ...]:
    """The columns of a query over the warehouse, without running it."""
    frames = {}
    for name in tables_read(sql):
        schema = draft.catalog.schema(name)
        frames[name] = engine.empty([c for c in schema.columns if not is_hidden(c.name)])
    frame = engine.text(spliced(sql, slot), frames)
    return tuple(_storable(column) for column in columns_of(frame))


def stored_columns(engine: Engine, draft: Draft, stratum: Stratum, view: View) -> tuple[Column, ...]:
    """The columns that a stratum stores: visible ones first, hidden ones as Spark types them."""
    if stratum.query is None:
        return view.columns
    step = recomputed(stratum, view.sql, frozenset())
    assert step.plan is not None
    frames = {}
    for scan in scans(step.plan):
        frames[state_name(scan)] = engine.empty(draft.relations[scan.table].columns)
    found = {column.name: _storable(column) for column in columns_of(engine.plan(step.plan, frames))}
    declared = {column.name: column for column in view.columns} if stratum is view.top else {}
    return (*declared.values(), *(column for name, column in found.items() if name not in declared))


def _storable(column: Column) -> Column:
    """Every stored column may be NULL as far as Delta is concerned; NULL literals are strings."""
    kind = "string" if column.type == "void" else column.type
    return replace(column, type=kind, nullable=True)
