"""Plans as SQL for DuckDB, where it needs another text than Spark: the laws of all rules are tested there."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import (
    Lateral,
)
from viewkeeper.sql.renderer import Renderer
from viewkeeper.sql.select_parts import (
    SelectText,
    aliased,
    identifier,
    join_clause,
    qualified,
)


class DuckDBRenderer(Renderer):
    """Rows are made by `unnest` in a lateral join, and semi-joins are conditions."""

    has_semi_joins = False

    def _generated(self, rel: Lateral, block: SelectText, generator: Scalar, alias: str) -> SelectText:
        values = generator.this if isinstance(generator, exp.Explode) else generator
        kind = ("LEFT", "") if rel.outer else ("", "INNER")
        block.joins.append(join_clause(_unnested(values, rel.produced[0], alias), *kind, exp.true()))
        block.outputs[rel.produced[0]] = qualified(alias, rel.produced[0])
        return block

    def _copied(self, block: SelectText, count: Scalar, name: str) -> None:
        values = exp.func("range", exp.cast(count.copy(), "bigint"), dialect="duckdb")
        copies = _unnested(values, "__copy", name)
        block.joins.append(join_clause(copies, "", "INNER", exp.true()))


def _unnested(values: Scalar, name: str, alias: str) -> exp.Lateral:
    rows = exp.Select(expressions=[aliased(exp.func("unnest", values, dialect="duckdb"), name)])
    return exp.Lateral(this=rows.subquery(identifier(alias)))


def in_duckdb_names(query: exp.Query) -> exp.Query:
    """Functions of Spark that DuckDB has under another name, or answers otherwise where there are no rows."""
    query.transform(_renamed, copy=False)
    return query


def _renamed(node: exp.Expr) -> exp.Expr:
    names = {"raise_error": "error", "xxhash64": "hash"}
    if isinstance(node, exp.Rint):
        return exp.Anonymous(this="round_even", expressions=[node.this, exp.Literal.number(0)])
    if isinstance(node, exp.CountIf):
        return exp.Count(this=exp.case().when(node.this, exp.true()))
    if isinstance(node, exp.Anonymous) and node.name.lower() in names:
        return exp.Anonymous(this=names[node.name.lower()], expressions=node.expressions)
    return node
