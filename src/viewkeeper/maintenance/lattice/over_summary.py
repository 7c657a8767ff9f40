"""A summary over a summary: a view over a view as a child in the lattice.

    SUM over COUNT(…) is COUNT(…)      SUM over SUM(e) is SUM(e)
    MIN over MIN(e)   is MIN(e)        MAX over MAX(e) is MAX(e)

Composed with its parent's definition such a view is a cube view over the base tables, and the edge from
the parent is found like any other; its summary-delta then needs neither the parent nor the base tables.
What counts the groups of the parent themselves has no such form and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of, literal, replace_columns
from viewkeeper.algebra.relations import Aggregate, Project, Relation
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension, source
from viewkeeper.maintenance.refused import Refused
from viewkeeper.report import Reason

_COMPOSED: dict[tuple[type[Scalar], type[Scalar]], type[Scalar]] = {
    (exp.Sum, exp.Count): exp.Count,
    (exp.Sum, exp.Sum): exp.Sum,
    (exp.Min, exp.Min): exp.Min,
    (exp.Max, exp.Max): exp.Max,
}


def over_base(view: CubeView, parent: CubeView) -> CubeView | Reason:
    """`view`, whose fact table is the summary `parent`, as a cube view over the parent's fact table."""
    try:
        return _over_base(view, parent)
    except Refused as refused:
        return refused.reason


def plan_of(view: CubeView, types: Mapping[str, str]) -> Relation:
    """The view as a plan over its own tables, aggregates in the given types: a SUM of SUM has more digits."""
    keys = set(view.key_names)

    def shown(output: Named) -> Named:
        if output.name not in types or (output.is_column and output.expr.name in keys):
            return output
        kind = exp.DataType.build(types[output.name], dialect="spark")
        return Named(output.name, exp.cast(output.expr, kind))

    aggregate = Aggregate(source(view), view.all_keys, view.all_measures)
    return Project(aggregate, tuple(shown(output) for output in view.outputs))


def _over_base(view: CubeView, parent: CubeView) -> CubeView:
    if not parent.keys:
        raise Refused("not-distributive", f"{parent.name} has one row, even over nothing")
    keys = _key_expressions(parent)
    dimensions, names = _dimensions(view, parent, keys)
    measures = tuple(Named(m.name, _composed(m.expr, parent)) for m in view.measures)
    where = {_attribute(c, names, parent) for c in view.where} | set(parent.where)
    result = replace(
        view,
        fact=parent.fact,
        counted=parent.counted,
        dimensions=dimensions,
        where=tuple(sorted(where, key=lambda condition: condition.sql())),
        keys=tuple(Named(k.name, _attribute(k.expr, names, parent)) for k in view.keys),
        measures=measures,
    )
    return result if view.keys else _null_over_nothing(result, view)


def _key_expressions(parent: CubeView) -> dict[str, Scalar]:
    """The parent's visible columns that are group-by columns, with what they are over the base."""
    keys = {key.name: key.expr for key in parent.keys}
    return {o.name: keys[o.expr.name] for o in parent.outputs if o.is_column and o.expr.name in keys}


def _attribute(expr: Scalar, names: Mapping[str, Scalar], parent: CubeView) -> Scalar:
    unknown = columns_of(expr) - set(names)
    if unknown:
        names_used = ", ".join(sorted(unknown))
        raise Refused("uses-aggregate", f"it uses {names_used} of {parent.name}, which is no group-by column")
    return replace_columns(expr, names).unnest().copy()


def _dimensions(
    view: CubeView, parent: CubeView, keys: Mapping[str, Scalar]
) -> tuple[tuple[Dimension, ...], dict[str, Scalar]]:
    """The dimensions of both views, and canonical names of the summary's columns over the base."""
    names = dict(keys)
    found = list(parent.dimensions)
    for dimension in view.dimensions:
        foreign = [_attribute(column(name), names, parent) for name in dimension.foreign]
        if not all(isinstance(expr, exp.Column) for expr in foreign):
            raise Refused("not-a-star", f"it joins {dimension.table} along an expression")
        based = replace(dimension, foreign=tuple(expr.name for expr in foreign))
        based = next((d for d in found if d.path == based.path), _declared(based, parent.fact))
        names.update({dimension.attribute(n): column(based.attribute(n)) for n in dimension.schema.names})
        if based not in found:
            found.append(based)
    return tuple(found), names


def _declared(dimension: Dimension, fact: TableSchema) -> Dimension:
    """The dimension with what the fact table declares about its foreign key."""
    declared = any(
        key.table.lower() == dimension.table.lower() and key.columns == dimension.foreign
        for key in fact.foreign_keys
    )
    required = all(n in fact.names and not fact.column(n).nullable for n in dimension.foreign)
    return replace(dimension, lossless=dimension.lossless or (declared and required))


def _composed(call: Scalar, parent: CubeView) -> Scalar:
    """An aggregate over an aggregate as one aggregate over the base."""
    inner = {measure.name: measure.expr for measure in parent.measures}
    visible = {o.name: inner[o.expr.name] for o in parent.outputs if o.is_column and o.expr.name in inner}
    argument = call.this.this if isinstance(call.this, exp.Cast) else call.this
    below = visible.get(argument.name) if isinstance(argument, exp.Column) else None
    if below is not None:
        function = _COMPOSED.get((type(call), type(below)))
        if function is not None:
            return function(this=below.this.copy())
    keys = _key_expressions(parent)
    if isinstance(call, (exp.Min, exp.Max)) and columns_of(argument) <= set(keys):
        return type(call)(this=replace_columns(argument, keys).unnest().copy())
    raise Refused(
        "not-distributive", f"{call.sql()} over the groups of {parent.name} is no aggregate over its rows"
    )


def _null_over_nothing(result: CubeView, view: CubeView) -> CubeView:
    """Without groups, SUM over no counts is NULL where COUNT over no rows is 0."""
    rows = Named("__all_rows", exp.Count(this=exp.Star()))
    some = exp.GT(this=column(rows.name), expression=literal(0))
    sums = {m.name for m in view.measures if isinstance(m.expr, exp.Sum)}
    guarded = {
        m.name: exp.Case(ifs=[exp.If(this=some.copy(), true=column(m.name))])
        for m in result.measures
        if m.name in sums and isinstance(m.expr, exp.Count)
    }
    outputs = tuple(Named(o.name, replace_columns(o.expr, guarded).unnest()) for o in result.outputs)
    return replace(result, measures=(*result.measures, rows), outputs=outputs)
