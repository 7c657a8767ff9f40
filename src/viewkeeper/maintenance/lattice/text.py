"""A cube view as the text of a query, in the names that users gave.

SELECT stores.city, SUM(pos.qty) AS sum_qty
FROM pos JOIN stores ON pos.storeID = stores.storeID
GROUP BY stores.city
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.expressions import Scalar, columns_of, conjunction, equal, replace_columns
from viewkeeper.algebra.inner_names import shown
from viewkeeper.maintenance.lattice.cube_view import CubeView, column_of
from viewkeeper.sql.select_parts import identifier, qualified


def select_text(view: CubeView) -> str:
    """The query that a view is, with its visible columns."""
    aliases = _aliases(view)
    names = _columns(view, aliases)
    values = {item.name: _plain(view, item.expr) for item in (*view.all_keys, *view.all_measures)}
    outputs = (
        exp.alias_(_named(replace_columns(o.expr, values).unnest(), names), identifier(shown(o.name)))
        for o in view.outputs
    )
    query = exp.select(*outputs).from_(_table(view.fact.name, aliases[""]))
    for dimension in view.dimensions:
        on = conjunction(equal(names[theirs], names[mine]) for theirs, mine in dimension.on)
        query = query.join(_table(dimension.table, aliases[dimension.path]), on=on)
    if view.where:
        query = query.where(*(_named(condition, names) for condition in view.where))
    keys = [_named(_plain(view, key.expr), names) for key in view.keys]
    return (query.group_by(*keys) if keys else query).sql("spark", pretty=True)


def _aliases(view: CubeView) -> dict[str, str]:
    """What each table is called, by its path; a table in two roles gets two names."""
    found = {"": view.fact.name}
    for dimension in view.dimensions:
        found[dimension.path] = fresh(dimension.table, found.values())
    return found


def _table(name: str, alias: str) -> exp.Expr:
    table = exp.Table(this=identifier(shown(name)))
    return table if alias == name else exp.alias_(table, identifier(shown(alias)), table=True)


def _columns(view: CubeView, aliases: dict[str, str]) -> dict[str, Scalar]:
    """The columns by their canonical names."""

    def of(path: str, name: str) -> Scalar:
        return qualified(shown(aliases[path]), shown(name))

    found = {name: of("", name) for name in view.fact.names}
    for dimension in view.dimensions:
        found |= {dimension.attribute(n): of(dimension.path, n) for n in dimension.schema.names}
    return found


def _named(expr: Scalar, names: dict[str, Scalar]) -> Scalar:
    return replace_columns(expr, {name: names[name] for name in columns_of(expr)}).unnest()


def _plain(view: CubeView, expr: Scalar) -> Scalar:
    """Without casts to the type that a column has."""

    def bare(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Column):
            return node
        stored = column_of(view, node.this.name)
        is_same = stored is not None and exp.DataType.build(stored.type, dialect="spark") == node.to
        return node.this if is_same else node

    return expr.copy().transform(bare)
