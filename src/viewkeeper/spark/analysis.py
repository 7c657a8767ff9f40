"""Asking Spark about a query: its columns, its types, and its errors in Spark's own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import Named, Scalar
from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.relations import Aggregate, Fixpoint, Project, Reference, Relation
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.catalog.names import shown_columns
from viewkeeper.delta.aggregate_state import aggregate_state
from viewkeeper.errors import InvalidSQL, NotDeterministic
from viewkeeper.maintenance.recompute import stored_plan
from viewkeeper.maintenance.recursion.levels import LEVEL
from viewkeeper.maintenance.recursion.seminaive import unrolled
from viewkeeper.maintenance.strategy import Stratum, View
from viewkeeper.maintenance.typed_calls import Types, types_of
from viewkeeper.spark.calls import is_clock_read
from viewkeeper.spark.declared import as_declared
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import columns_of, slot
from viewkeeper.sql.parse import INSTEAD
from viewkeeper.sql.render import state_name
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.storage.column_types import is_held
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState


def analysed_columns(engine: SparkEngine, draft: Draft, sql: str) -> tuple[Column, ...]:
    """The columns of a query over the warehouse, without running it."""
    frames = {}
    for name in tables_read(sql):
        schema = draft.catalog.schema(name)
        frames[name] = as_declared(engine.empty(shown_columns(schema.visible)), schema.visible)
    text = spliced(sql, slot)
    if is_clock_read(engine, text, frames):
        raise NotDeterministic(
            "The query reads the clock.",
            "Spark takes 'now', 'today', 'yesterday' or 'tomorrow' in it for a date or a timestamp.",
            f"{INSTEAD} Cast it to STRING where it is a text.",
        )
    found = columns_of(engine.text(text, frames))
    return tuple(replace(_held(c), name=inner_column(c.name)) for c in found)


def summed_types(engine: SparkEngine, draft: Draft, plan: Relation) -> Types:
    """The types of what a plan sums up, without running it."""

    def ask(child: Relation, arguments: tuple[Scalar, ...]) -> tuple[str, ...]:
        named = tuple(Named(f"__{place}", one) for place, one in enumerate(arguments))
        asked = Project(child, named)
        frames = {state_name(s): engine.empty(draft.relations[s.table].columns) for s in scans(asked)}
        return tuple(column.type for column in columns_of(engine.plan(plain(asked), frames)))

    return types_of(plan, ask)


def other_schema(engine: SparkEngine, draft: Draft, view: View) -> str:
    """How the columns that Spark gives the plan of a view differ from those that it gives the text; empty
    where they do not, and where there is no plan or no answer to the text to compare. Nothing is run."""
    if view.query is None or not view.columns or any(isinstance(n, Fixpoint) for n in nodes(view.query)):
        return ""
    try:
        planned = _planned_columns(engine, draft, plain(view.query)).values()
    except InvalidSQL as error:
        return f"Spark takes its text, and not its plan ({error.code})"
    mine, theirs = ([(c.name, c.type) for c in columns] for columns in (planned, view.columns))
    differ = [f"{a[0]} {a[1]} for {b[0]} {b[1]}" for a, b in zip(mine, theirs, strict=False) if a != b]
    if len(mine) != len(theirs):
        differ = [f"{len(mine)} columns for {len(theirs)}"]
    return f"its plan would give {', '.join(differ)}" if differ else ""


StoredColumns = Mapping[str, tuple[Column, ...]]
"""The columns that each stratum of a view stores."""


def strata_columns(engine: SparkEngine, draft: Draft, view: View) -> StoredColumns:
    """What each stratum of a view stores, without running anything."""
    found: dict[str, tuple[Column, ...]] = {}
    trial = draft.copied()
    for stratum in view.strata:
        found[stratum.name] = _stored_columns(engine, trial, stratum, view)
        trial.put(stratum.name, RelationState("", found[stratum.name], 0, 0))
    return found


MAPS = "its groups are maps, which Spark cannot compare"


def kept_columns(engine: SparkEngine, draft: Draft, view: View) -> StoredColumns | str:
    """What each stratum of a view stores; or why they cannot be kept though Spark answers its text."""
    if view.query is None:
        return strata_columns(engine, draft, view)
    groups = [group for group in nodes(view.query) if isinstance(group, Aggregate) and _are_compared(group)]
    if any("map<" in c.type for group in groups for c in _key_columns(engine, draft, group)):
        return MAPS
    try:
        stored = strata_columns(engine, draft, view)
    except InvalidSQL as error:
        return f"Spark does not take the plan of its state ({error.code})"
    for column in (column for columns in stored.values() for column in columns):
        if not is_held(column.type):
            return f"its state would have a column of type {column.type}, which Delta tables cannot hold"
    hidden = [(s.state, stored[s.name]) for s in view.strata[:-1] if s.state is not None]
    if any("map<" in c.type for state, columns in hidden for c in columns if c.name in state.keys):
        return MAPS
    return stored


def _are_compared(group: Aggregate) -> bool:
    """Whether groups are looked for by their keys, and not just added up; of those in or above a recursion
    what is stored tells."""
    if any(isinstance(node, Fixpoint | Reference) for node in nodes(group)):
        return False
    state = aggregate_state(group)
    return state is None or any(part.is_extreme for part, _ in state.names)


def _key_columns(engine: SparkEngine, draft: Draft, group: Aggregate) -> Iterable[Column]:
    keys = Project(group.child, group.keys)
    return _planned_columns(engine, draft, plain(keys)).values() if group.keys else ()


def _stored_columns(engine: SparkEngine, draft: Draft, stratum: Stratum, view: View) -> tuple[Column, ...]:
    """The columns that a stratum stores: visible ones first, hidden ones as Spark types them."""
    if stratum.query is None:
        return view.columns
    if stratum.fixpoint is not None:
        found = _recursive_columns(engine, draft, stratum.fixpoint)
    else:
        found = _query_columns(engine, draft, stratum)
    if stratum is not view.top:
        return tuple(found.values())
    declared = view.columns or tuple(found[name] for name in _visible_names(view))
    shown = {column.name for column in declared}
    return (*declared, *(column for name, column in found.items() if name not in shown))


def _visible_names(view: View) -> tuple[str, ...]:
    assert view.query is not None
    return view.query.columns


def _query_columns(engine: SparkEngine, draft: Draft, stratum: Stratum) -> dict[str, Column]:
    assert stratum.query is not None
    return _planned_columns(engine, draft, plain(stored_plan(stratum, stratum.query)))


def _planned_columns(engine: SparkEngine, draft: Draft, plan: Relation) -> dict[str, Column]:
    frames = {state_name(s): engine.empty(draft.relations[s.table].columns) for s in scans(plan)}
    found = columns_of(engine.plan(plan, frames))
    return {column.name: replace(_held(column), nullable=True) for column in found}


def _recursive_columns(engine: SparkEngine, draft: Draft, fixpoint: Fixpoint) -> dict[str, Column]:
    """The types that the rules without recursion give, widened by those of one round."""
    columns = _planned_columns(engine, draft, plain(unrolled(fixpoint)))
    level = {} if fixpoint.distinct else {LEVEL: Column(LEVEL, "int")}
    return {**columns, **level}


def _held(column: Column) -> Column:
    """A column as it is stored: what has no type is a string."""
    return replace(column, type="string") if column.type == "void" else column
