"""Generalized cube views: mumick97 section 3.2.

    SELECT keys, measures FROM fact, dimensions WHERE fact.fk = dimension.key AND … GROUP BY keys

A cube view is held in canonical names, so that two views compare whatever aliases their SQL used:
a column of the fact table is called by its own name, a column of a dimension by the path that leads
there, such as `stores[storeID].city`. The key of a dimension is called by the foreign key that equals it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.algebra.build import filtered
from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of, conjunction, equal
from viewkeeper.algebra.relations import Bound, Join, JoinKind, Relation, Scan, State
from viewkeeper.algebra.schema import Column, TableSchema


@dataclass(frozen=True)
class Dimension:
    """A dimension table joined along a foreign key; `foreign` are canonical columns, `key` stored ones."""

    schema: TableSchema
    foreign: tuple[str, ...]
    key: tuple[str, ...]
    lossless: bool
    counted: bool = False

    @property
    def table(self) -> str:
        return self.schema.name

    @property
    def path(self) -> str:
        return f"{self.table}[{','.join(self.foreign)}]"

    def attribute(self, name: str) -> str:
        return f"{self.path}.{name}"

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.attribute(name) for name in self.schema.names)

    @property
    def on(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a foreign key column and the key column that it equals, in canonical names."""
        return tuple(zip(self.foreign, (self.attribute(name) for name in self.key), strict=True))

    def scan(self, needed: Iterable[str], at: State = State.NEW) -> Scan:
        """The dimension's key and the needed ones of its attributes, under canonical names."""
        wanted = {*needed, *(mine for _, mine in self.on)}
        bound = (Bound(self.attribute(c.name), c) for c in self.schema.columns)
        return Scan(self.table, tuple(b for b in bound if b.name in wanted), at, self.counted)


@dataclass(frozen=True)
class CubeView:
    """A generalized cube view.

    `measures` are aggregate calls over canonical columns; `outputs` are the visible columns, over the
    names of keys and measures. Hidden keys and measures make the view lattice-friendly (section 5.2):
    they are stored beside the visible columns and change no group.
    """

    name: str
    fact: TableSchema
    dimensions: tuple[Dimension, ...]
    where: tuple[Scalar, ...]
    keys: tuple[Named, ...]
    measures: tuple[Named, ...]
    outputs: tuple[Named, ...]
    hidden_keys: tuple[Named, ...] = ()
    hidden_measures: tuple[Named, ...] = ()
    counted: bool = False

    @property
    def all_keys(self) -> tuple[Named, ...]:
        return (*self.keys, *self.hidden_keys)

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.all_keys)

    @property
    def all_measures(self) -> tuple[Named, ...]:
        return (*self.measures, *self.hidden_measures)

    @property
    def tables(self) -> frozenset[str]:
        return frozenset((self.fact.name, *(dimension.table for dimension in self.dimensions)))

    def dimension(self, attribute: str) -> Dimension | None:
        """The joined dimension that an attribute belongs to; none for a column of the fact table."""
        found = (d for d in self.dimensions if attribute.startswith(f"{d.path}."))
        return next(found, None)

    def renamed(self, name: str) -> CubeView:
        return replace(self, name=name)


def source(view: CubeView, used: Iterable[str] | None = None, dimensions: bool = True) -> Relation:
    """The FROM and WHERE clauses: what the view aggregates, with the columns that it uses."""
    needed = set(used_columns(view) if used is None else used)
    for dimension in view.dimensions:
        needed.update(dimension.foreign)
    rel: Relation = fact_scan(view, needed)
    for dimension in view.dimensions if dimensions else ():
        on = conjunction(equal(column(theirs), column(mine)) for theirs, mine in dimension.on)
        rel = Join(rel, dimension.scan(needed), JoinKind.INNER, on)
    return filtered(rel, conjunction(view.where))


def fact_scan(view: CubeView, needed: Iterable[str]) -> Scan:
    wanted = set(needed)
    bound = tuple(Bound(c.name, c) for c in view.fact.columns if c.name in wanted)
    if not bound:
        bound = (Bound(view.fact.columns[0].name, view.fact.columns[0]),)
    return Scan(view.fact.name, bound, State.NEW, view.counted)


def used_columns(view: CubeView) -> Iterator[str]:
    for item in (*view.all_keys, *view.all_measures):
        yield from columns_of(item.expr)
    for condition in view.where:
        yield from columns_of(condition)


def column_of(view: CubeView, attribute: str) -> Column | None:
    """The stored column behind a canonical name."""
    dimension = view.dimension(attribute)
    schema, name = (
        (view.fact, attribute)
        if dimension is None
        else (dimension.schema, attribute.removeprefix(f"{dimension.path}."))
    )
    return next((c for c in schema.columns if c.name == name), None)


def is_never_null(view: CubeView, expr: Scalar) -> bool:
    """Whether an expression cannot be NULL: a literal, or a NOT NULL column, also cast to a wider type."""
    if isinstance(expr, exp.Cast) and isinstance(expr.this, exp.Column):
        return _keeps_values(view, expr) and is_never_null(view, expr.this)
    if isinstance(expr, exp.Column):
        stored = column_of(view, expr.name)
        return stored is not None and not stored.nullable
    return isinstance(expr, (exp.Literal, exp.Boolean))


def _keeps_values(view: CubeView, cast: exp.Cast) -> bool:
    """Whether no value of a column becomes NULL by a cast."""
    stored = column_of(view, cast.this.name)
    if stored is None:
        return False
    kind = exp.DataType.build(stored.type, dialect="spark")
    return bool(kind == cast.to or (cast.to.is_type("double") and kind.is_type(*exp.DataType.NUMERIC_TYPES)))


def short(attribute: str) -> str:
    """A canonical name for people: `stores[storeID].city` is `city`."""
    return attribute.rsplit(".", 1)[-1]
