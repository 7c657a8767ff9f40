"""Filling a new table: the rows go straight into main, as a plain Parquet write would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import UnknownColumn
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import columns_of
from viewkeeper.spark.inputs import fitted, to_frame
from viewkeeper.spark.stage import check_loaded
from viewkeeper.spark.stored_relations import folder_for, new_relation, ordered
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState


@dataclass(frozen=True)
class Loaded:
    schema: TableSchema
    state: RelationState


def loaded_table(
    engine: SparkEngine,
    draft: Draft,
    schema: TableSchema | str,
    rows: Any,
    key: tuple[str, ...],
    check: bool,
    checked: Callable[[TableSchema, Catalog], TableSchema],
) -> Loaded:
    """Checks the schema, writes the rows, checks them as any insertion is checked."""
    number = len(rows) if isinstance(rows, list) else None
    if isinstance(schema, str):
        frame = to_frame(engine.spark, [] if rows is None else rows)
        schema = TableSchema(schema, _columns(columns_of(frame)), _known(key, columns_of(frame), schema))
        rows = frame
    schema = checked(schema, draft.catalog)
    folder = folder_for(schema.name)
    if rows is None:
        return Loaded(schema, _relation(engine, draft, schema, folder, ()))
    frame = fitted(to_frame(engine.spark, rows, schema.columns), schema.columns, schema.name)
    frame = ordered(frame, _clustering(schema))
    files = engine.write(frame, folder, number)
    state = _relation(engine, draft, schema, folder, files)
    if check:
        check_loaded(engine, draft, schema, state)
    return Loaded(schema, state)


def _relation(
    engine: SparkEngine, draft: Draft, schema: TableSchema, folder: str, files: Any
) -> RelationState:
    return new_relation(
        engine, schema.name, schema.columns, draft.version, schema.key, files=files, folder=folder
    )


def _columns(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(replace(c, type="string" if c.type == "void" else c.type, nullable=True) for c in columns)


def _known(key: tuple[str, ...], columns: tuple[Column, ...], table: str) -> tuple[str, ...]:
    names = {column.name.lower(): column.name for column in columns}
    unknown = [name for name in key if name.lower() not in names]
    if unknown:
        raise UnknownColumn(
            f"The key of {table} names {', '.join(unknown)}, which the rows do not have.",
            f"They have {', '.join(names.values())}.",
            table=table,
            columns=unknown,
        )
    return tuple(names[name.lower()] for name in key)


def _clustering(schema: TableSchema) -> tuple[str, ...]:
    text = schema.property("viewkeeper.cluster_by") or ""
    names = (name.strip() for name in text.split(",") if name.strip())
    return tuple(name if name in schema.names else inner_column(name) for name in names)
