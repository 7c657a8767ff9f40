"""Views compiled from their definitions: parsed, resolved, and split into stored strata."""

from __future__ import annotations

from functools import lru_cache

from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog import Catalog, ViewDefinition
from viewkeeper.maintenance.evaluator import ITERATION_LIMIT
from viewkeeper.maintenance.program import program
from viewkeeper.maintenance.strategy import Stratum, View
from viewkeeper.sql.catalog import StaticCatalog
from viewkeeper.sql.parse import parse_view

MAX_ITERATIONS = "viewkeeper.max_iterations"
"""The property of a view that limits the rounds of its recursion."""


def compiled(definition: ViewDefinition, catalog: Catalog) -> View:
    """The view as strategies see it."""
    schemas = tuple(catalog.schema(name) for name in definition.tables)
    limit = int(dict(definition.properties).get(MAX_ITERATIONS, ITERATION_LIMIT))
    return _compiled(definition.name, definition.sql, definition.columns, schemas, limit)


@lru_cache(maxsize=1024)
def _compiled(
    name: str, sql: str, columns: tuple[Column, ...], schemas: tuple[TableSchema, ...], limit: int
) -> View:
    query = parse_view(sql, StaticCatalog(schemas))
    strata = (Stratum(name, None),) if query.relation is None else program(name, query.relation)
    return View(name, sql, columns, strata, query.untranslatable, query.relation, limit=limit)


def is_set_recursion(view: View) -> bool:
    """Whether the view needs recursion that Spark's own SQL does not have: UNION, not UNION ALL."""
    return any(stratum.fixpoint is not None and stratum.fixpoint.distinct for stratum in view.strata)
