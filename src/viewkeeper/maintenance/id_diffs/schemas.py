"""From modifications to base-table i-diffs (katsis15, section 5).

The log of a table has one row for each key that changed, net of all modifications in between: its
values before, its values after, and whether it existed. An insertion, deletion or update diff is a
part of it. Update diffs are split by what they can trigger:

    for every operator with a condition, the attributes that the condition looks at;
    one more for all attributes that no condition looks at.

A row is in every update diff of which it changed some attribute. An update of a key is a deletion
and an insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.counts import consolidated
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    columns_of,
    conjunction,
    literal,
    not_,
    same,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Filter,
    Join,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT, Column, TableSchema
from viewkeeper.maintenance.id_diffs.diffs import DiffSchema, changed, delete_schema, insert_schema, pre
from viewkeeper.maintenance.id_diffs.ids import Subview, subviews

WAS = "__was"
IS = "__is"


@dataclass(frozen=True)
class BaseTable:
    """The part of a table that a view reads."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.name not in self.key)

    @property
    def log(self) -> Reference:
        names = (*self.key, *(pre(name) for name in self.attributes), *self.attributes, WAS, IS)
        return Reference(f"log_{self.name}", names)


def base_tables(top: Subview, schemas: Mapping[str, TableSchema]) -> tuple[BaseTable, ...]:
    """The tables of a view, with the columns that some scan of it reads."""
    found: dict[str, dict[str, Column]] = {}
    for view in subviews(top):
        if isinstance(view.plan, Scan):
            columns = found.setdefault(view.plan.table, {})
            columns.update({bound.source.name: bound.source for bound in view.plan.bound})
    return tuple(_base_table(schemas[name], columns) for name, columns in sorted(found.items()))


def _base_table(schema: TableSchema, read: Mapping[str, Column]) -> BaseTable:
    key = tuple(schema.column(name).name for name in schema.key)
    columns = tuple(c for c in schema.columns if c.name in key or c.name in read)
    return BaseTable(schema.name, key, columns)


def modification_log(table: BaseTable) -> Relation:
    """The net modifications of a table by key, from its signed rows. Its counts are explicit."""
    bound = tuple(Bound(c.name, c) for c in (*table.columns, Column(COUNT, "bigint", nullable=False)))
    net = consolidated(Scan(table.name, bound, State.DELTA))
    removed = exp.LT(this=column(COUNT), expression=literal(0))
    added = exp.GT(this=column(COUNT), expression=literal(0))
    old = (Named(pre(name), _value_where(name, removed)) for name in table.attributes)
    new = (Named(name, _value_where(name, added)) for name in table.attributes)
    flags = (Named(WAS, _any_row(removed)), Named(IS, _any_row(added)))
    return Aggregate(net, same(table.key), (*old, *new, *flags))


def _value_where(name: str, condition: Scalar) -> Scalar:
    value = exp.AnyValue(this=column(name))
    return exp.Filter(this=value, expression=exp.Where(this=condition.copy()))


def _any_row(condition: Scalar) -> Scalar:
    one = exp.Case().when(condition.copy(), literal(1)).else_(literal(0))
    return exp.EQ(this=exp.Max(this=one), expression=literal(1))


def conditional_attributes(top: Subview, table: BaseTable) -> tuple[tuple[str, ...], ...]:
    """For each operator with a condition, the attributes of the table that it looks at; each set once."""
    names = set(table.attributes)
    found: dict[tuple[str, ...], None] = {}
    for looked_at in _looked_at(top):
        own = sorted({column for source, column in looked_at if source == table.name and column in names})
        if own:
            found[tuple(own)] = None
    return tuple(found)


def base_diffs(top: Subview, table: BaseTable) -> tuple[DiffSchema, ...]:
    """The i-diff schemas that the view needs of a table."""
    key, attributes = table.key, table.attributes
    conditional = conditional_attributes(top, table)
    free = tuple(name for name in attributes if not any(name in group for group in conditional))
    groups = (*conditional, free) if free else conditional
    updates = (
        DiffSchema(DiffKind.UPDATE, table.name, key, attributes, attributes, group) for group in groups
    )
    return (insert_schema(table.name, key, attributes), delete_schema(table.name, key, attributes), *updates)


def instances(table: BaseTable, schema: DiffSchema) -> Relation:
    """The rows of the log that belong in a diff of this schema."""
    return projected(filtered(table.log, belongs(schema)), same(schema.columns))


def belongs(schema: DiffSchema) -> Scalar:
    """Whether a row of the log belongs in a diff of this schema."""
    was, now = column(WAS), column(IS)
    match schema.kind:
        case DiffKind.INSERT:
            return and_(now, not_(was))
        case DiffKind.DELETE:
            return and_(was, not_(now))
        case DiffKind.UPDATE:
            return conjunction((was, now, changed(schema.updated)))
        case DiffKind.MOVE:
            raise AssertionError("what moves is the sums of a view")


def _looked_at(top: Subview) -> Iterator[set[tuple[str, str]]]:
    """For each condition in the plan, the table columns that it depends on."""
    for view in subviews(top):
        origins = {name: found for below in view.inputs for name, found in origin(below).items()}
        match view.plan:
            case Filter():
                yield _union(origins, columns_of(view.plan.condition))
            case Join():
                yield _union(origins, columns_of(view.plan.on))
            case Aggregate():
                yield _union(origins, {name for key in view.plan.keys for name in columns_of(key.expr)})
            case _:
                pass


def _union(origins: Mapping[str, frozenset[tuple[str, str]]], names: Iterable[str]) -> set[tuple[str, str]]:
    return {source for name in names for source in origins.get(name, frozenset())}


def origin(view: Subview) -> dict[str, frozenset[tuple[str, str]]]:
    """For each column of a subview, the table columns that its value is made of."""
    below = {name: found for each in view.inputs for name, found in origin(each).items()}
    match view.plan:
        case Scan():
            return {b.name: frozenset({(view.plan.table, b.source.name)}) for b in view.plan.bound}
        case Project():
            return {o.name: frozenset(_union(below, columns_of(o.expr))) for o in view.plan.outputs}
        case Aggregate():
            items = (*view.plan.keys, *view.plan.aggregates)
            return {item.name: frozenset(_union(below, columns_of(item.expr))) for item in items}
        case UnionAll():
            each = [origin(branch) for branch in view.inputs]
            return {name: frozenset().union(*(found[name] for found in each)) for name in view.columns}
        case _:
            return {name: below[name] for name in view.columns}
