"""What a rule yields: a diff of its operator's output, and the query that computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Relation
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema, delete_schema, insert_schema
from viewkeeper.maintenance.id_diffs.ids import Subview


@dataclass(frozen=True)
class Propagated:
    schema: DiffSchema
    query: Relation


def inserted(view: Subview, rows: Relation) -> Propagated:
    """Whole rows of the output."""
    schema = insert_schema(view.name, view.ids, view.attributes)
    return Propagated(schema, in_order(rows, schema))


def deleted(view: Subview, rows: Relation) -> Propagated:
    """Rows of the output named by all of their IDs."""
    schema = delete_schema(view.name, view.ids)
    return Propagated(schema, in_order(rows, schema))


def passed(
    view: Subview, schema: DiffSchema, rows: Relation, ids: Mapping[str, str] | None = None
) -> Propagated:
    """The same diff for the output; `ids` gives IDs that have another name there."""
    names = ids or {}
    new = replace(schema, relation=view.name, ids=tuple(names.get(name, name) for name in schema.ids))
    if schema.kind is DiffKind.INSERT:
        return inserted(view, rows)
    pairs = zip(new.columns, schema.columns, strict=True)
    return Propagated(new, projected(rows, (Named(name, column(old)) for name, old in pairs)))


def in_order(rows: Relation, schema: DiffSchema) -> Relation:
    return projected(rows, (Named(name, column(name)) for name in schema.columns))
