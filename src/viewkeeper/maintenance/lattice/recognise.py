"""Which plans are generalized cube views: mumick97 section 3.2.

    γ(σ(fact ⋈ dimension₁ ⋈ … ⋈ dimensionₙ)),  each join equating a dimension's whole key

`cube_view` gives the canonical form or the reason why there is none. `cube_views` also takes the
bag union that CUBE, ROLLUP and GROUPING SETS stand for, as several nodes of one view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.algebra.build import named_like
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjuncts,
    rename_columns,
    replace_columns,
    same,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.measures import distributive
from viewkeeper.maintenance.lattice.star import Occurrence, Star, star
from viewkeeper.maintenance.refused import Refused
from viewkeeper.report import Reason


def cube_view(rel: Relation, schemas: Mapping[str, TableSchema], name: str = "") -> CubeView | Reason:
    """The canonical form of a plan that is a generalized cube view, or why it is none."""
    try:
        return _cube_view(rel, schemas, name)
    except Refused as refused:
        return refused.reason


def cube_views(
    rel: Relation, schemas: Mapping[str, TableSchema], name: str = ""
) -> tuple[CubeView, ...] | Reason:
    """The nodes of a view: one, or one per grouping set."""
    parts = _grouping_sets(rel)
    if len(parts) == 1:
        one = cube_view(rel, schemas, name)
        return one if isinstance(one, Reason) else (one,)
    nodes: list[CubeView] = []
    for number, part in enumerate(parts, start=1):
        node = cube_view(part, schemas, f"{name}#{number}")
        if isinstance(node, Reason):
            return node
        nodes.append(node)
    return tuple(nodes)


def _grouping_sets(rel: Relation) -> tuple[Relation, ...]:
    """The inputs of a bag union, each below the projections that stand above the union."""
    match rel:
        case UnionAll():
            return tuple(named_like(part, rel.columns) for part in rel.inputs)
        case Project():
            return tuple(Project(part, rel.outputs) for part in _grouping_sets(rel.child))
        case _:
            return (rel,)


@dataclass
class _Block:
    """A SELECT block taken apart: its scans, its conditions, and what each column is."""

    scans: list[Occurrence]
    conditions: list[Scalar]
    columns: dict[str, Scalar]

    def over(self, expr: Scalar) -> Scalar:
        return _tidy(replace_columns(expr, self.columns))


def _cube_view(rel: Relation, schemas: Mapping[str, TableSchema], name: str) -> CubeView:
    outputs, aggregate = _outputs_above(rel)
    block = _block(aggregate.child, schemas, [])
    found = star(block.scans, block.conditions)
    names = _stored_names(aggregate, outputs)
    keys = tuple(Named(names[k.name], found.canonical(block.over(k.expr))) for k in aggregate.keys)
    measures = tuple(
        Named(names[m.name], distributive(found.canonical(block.over(m.expr)))) for m in aggregate.aggregates
    )
    shown = tuple(Named(o.name, rename_columns(o.expr, names)) for o in outputs)
    where = _where(found, block)
    return CubeView(name, found.fact, found.dimensions, where, keys, measures, shown, counted=found.counted)


def _stored_names(aggregate: Aggregate, outputs: tuple[Named, ...]) -> dict[str, str]:
    """A key that is shown is stored under the name by which it is shown; the rest is hidden."""
    shown = {o.expr.name: o.name for o in reversed(outputs) if o.is_column}
    keys = {name: shown.get(name, f"__key_{name}") for name in aggregate.key_names}
    measures = {item.name: f"__measure_{item.name}" for item in aggregate.aggregates}
    return keys | measures


def _where(found: Star, block: _Block) -> tuple[Scalar, ...]:
    """The conditions that are not the joins themselves, each once, in a fixed order."""
    rest = {found.canonical(c) for c in block.conditions if not found.is_join_condition(c)}
    return tuple(sorted(rest, key=lambda condition: condition.sql()))


def _outputs_above(rel: Relation) -> tuple[tuple[Named, ...], Aggregate]:
    """The visible columns over those of the aggregate that a view ends in."""
    match rel:
        case Aggregate():
            return same(rel.columns), rel
        case Distinct():
            return same(rel.columns), Aggregate(rel.child, same(rel.columns), ())
        case Project():
            below, aggregate = _outputs_above(rel.child)
            names = {output.name: output.expr for output in below}
            outputs = tuple(Named(o.name, _tidy(replace_columns(o.expr, names))) for o in rel.outputs)
            return outputs, aggregate
        case Filter():
            raise Refused("having", "its groups are filtered after aggregation (HAVING)")
        case _:
            raise Refused("no-aggregate", "it does not end in one aggregation (GROUP BY)")


def _block(rel: Relation, schemas: Mapping[str, TableSchema], scans: list[Occurrence]) -> _Block:
    match rel:
        case Scan():
            return _scan(rel, schemas, scans)
        case Project():
            block = _block(rel.child, schemas, scans)
            return _Block(scans, block.conditions, {o.name: block.over(o.expr) for o in rel.outputs})
        case Filter():
            block = _block(rel.child, schemas, scans)
            block.conditions.extend(block.over(part) for part in conjuncts(rel.condition))
            return block
        case Join(kind=JoinKind.INNER):
            left, right = _block(rel.left, schemas, scans), _block(rel.right, schemas, scans)
            block = _Block(scans, left.conditions + right.conditions, {**left.columns, **right.columns})
            block.conditions.extend(block.over(part) for part in conjuncts(rel.on))
            return block
        case Join():
            raise Refused(
                "not-inner-join", f"it has a {rel.kind.value} join; only inner joins along foreign keys fit"
            )
        case _:
            raise Refused(
                "not-a-star", f"it aggregates over a {type(rel).__name__.lower()}, not over joined tables"
            )


def _scan(scan: Scan, schemas: Mapping[str, TableSchema], scans: list[Occurrence]) -> _Block:
    schema = schemas.get(scan.table)
    if schema is None:
        raise Refused("unknown-table", f"nothing is known of the table {scan.table}")
    occurrence = Occurrence(len(scans), schema, scan)
    scans.append(occurrence)
    return _Block(scans, [], {b.name: column(occurrence.internal(b.source.name)) for b in scan.bound})


def _tidy(expr: Scalar) -> Scalar:
    """Without the parentheses that substitution leaves around a whole expression."""
    return expr.unnest().copy()
