"""Algebra to SQL text, for Spark (the product) and DuckDB (the tests' oracle).

A plan becomes as few SELECT blocks as its meaning allows: filters, projections and inner joins of
one block are written into it; what cannot be (an aggregate below a join, say) becomes a subquery.

    Filter(Project(Scan t, a+1 AS b), b > 3)
      → SELECT t.a + 1 AS b FROM t WHERE t.a + 1 > 3

The plan must have explicit counts (`algebra.counts`); signed nodes have no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import (
    Form,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.sql.duckdb import DuckDBRenderer, in_duckdb_names
from viewkeeper.sql.renderer import Renderer
from viewkeeper.sql.select_parts import (
    tidy,
)

SPARK = "spark"
DUCKDB = "duckdb"


def state_name(leaf: Scan | Reference) -> str:
    """How a leaf is called in SQL: `pos`, `pos__old`, `pos__delta`, `pos__counted` where it is read with its
    counts, or a reference's own name."""
    if isinstance(leaf, Reference):
        return leaf.name
    name = relation_name(leaf)
    return f"{name}__counted" if leaf.form is Form.SIGNED else name


def relation_name(scan: Scan) -> str:
    """What a scan reads, whatever its form: `pos`, `pos__old`, `pos__delta`."""
    return scan.table if scan.at is State.NEW else f"{scan.table}__{scan.at.value}"


def render(
    rel: Relation,
    dialect: str = SPARK,
    name_of: Callable[[Scan | Reference], str] = state_name,
    pretty: bool = True,
    in_place: Container[Relation] = (),
    hashed: Container[Relation] = (),
) -> str:
    """The SQL text of a plan with explicit counts; joins that are `in_place` send neither input anywhere, and
    are sorted, or their right input is `hashed`."""
    if dialect == DUCKDB:
        query = in_duckdb_names(DuckDBRenderer(name_of, in_place, hashed).query(rel))
    else:
        query = Renderer(name_of, in_place, hashed).query(rel)
    return query.sql(dialect=dialect, pretty=pretty, copy=False)


def render_expression(expr: Scalar, dialect: str = SPARK) -> str:
    return tidy(expr).sql(dialect=dialect)
