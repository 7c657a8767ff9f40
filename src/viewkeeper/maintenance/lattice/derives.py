"""The derives relation: mumick97 section 5.1.

    v2 ≺ v1   v2 can be computed from v1, perhaps joined with dimension tables d1 … dm (≺ with superscript)

holds where every group-by attribute of v2, every condition that v1 lacks, and the argument of every
aggregate that v1 lacks is an expression over the group-by attributes of v1 and over dimensions whose
foreign key they hold. The edge query of v1 → v2 groups v1 again:

    COUNT(*)  → SUM(Y)             Y is COUNT(*) in v1
    COUNT(e)  → SUM of counts, or SUM(Y) over rows where e is not NULL
    SUM(e)    → SUM of sums, or SUM(e * Y)
    MIN(e)    → MIN of minima, or MIN(e)

Beyond the paper, v1 may have fewer conditions than v2 and may join dimensions that v2 does not join,
where that join loses no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of
from viewkeeper.algebra.zeros import holds_floats, type_shown
from viewkeeper.delta.parts import PartKind
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension, column_of, short
from viewkeeper.maintenance.lattice.hierarchy import closure, dependencies
from viewkeeper.maintenance.refused import Refused
from viewkeeper.maintenance.summary_delta.prepare import argument_of, times, when_not_null
from viewkeeper.maintenance.summary_delta.state import ROWS, StateColumn, state_columns
from viewkeeper.report import Reason

_SIGNLESS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between)
"""What finds −0.0 and 0.0 equal."""


@dataclass(frozen=True)
class EdgeJoin:
    """A dimension joined at an edge: its key equals these expressions over the parent.

    With a `level`, the join is along a declared hierarchy instead: the parent groups by that attribute,
    which determines the attributes that the join `supplies`, so that their distinct values are joined.
    """

    dimension: Dimension
    foreign: tuple[Scalar, ...]
    level: str | None = None
    supplies: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StateSource:
    """Where a state column of the child comes from: a column of the parent, or an expression over it."""

    state: StateColumn
    expr: Scalar
    reused: bool


@dataclass(frozen=True)
class Edge:
    """v1 → v2: how the child is computed from its parent. Expressions are over stored names of the
    parent and canonical names of the joined dimensions."""

    parent: CubeView
    child: CubeView
    joins: tuple[EdgeJoin, ...]
    where: tuple[Scalar, ...]
    keys: tuple[Named, ...]
    sources: tuple[StateSource, ...]

    @property
    def annotation(self) -> tuple[str, ...]:
        """The tables in the superscript of ≺."""
        return tuple(join.dimension.table for join in self.joins)

    @property
    def dimension_columns(self) -> frozenset[str]:
        """The columns of joined dimensions that the edge uses."""
        exprs = [*self.where, *(k.expr for k in self.keys), *(s.expr for s in self.sources)]
        exprs += [expr for join in self.joins for expr in join.foreign]
        names = {name for expr in exprs for name in columns_of(expr)}
        return frozenset(n for n in names if any(n.startswith(f"{j.dimension.path}.") for j in self.joins))


def derives(child: CubeView, parent: CubeView) -> Edge | Reason:
    """The edge parent → child where child ≺ parent, or why there is none."""
    try:
        return _edge(child, parent)
    except Refused as refused:
        return refused.reason


def _edge(child: CubeView, parent: CubeView) -> Edge:
    if child.fact.name != parent.fact.name:
        raise Refused("other-fact", f"{parent.name} summarizes {parent.fact.name}, not {child.fact.name}")
    _same_rows(child, parent)
    rewriting = _Rewriting(child, parent)
    where = tuple(rewriting.over(c) for c in child.where if c not in parent.where)
    keys = tuple(Named(key.name, rewriting.over(key.expr)) for key in child.all_keys)
    sources = tuple(rewriting.source(state) for state in state_columns(child))
    for dimension in child.dimensions:
        if dimension not in parent.dimensions and not dimension.lossless:
            rewriting.join(dimension)
    return Edge(parent, child, tuple(rewriting.joins.values()), where, keys, sources)


def _same_rows(child: CubeView, parent: CubeView) -> None:
    """The parent must not have lost rows that the child counts."""
    extra = [c for c in parent.where if c not in child.where]
    if extra:
        raise Refused("other-where", f"{parent.name} leaves out rows: {_text(extra[0])}")
    for dimension in parent.dimensions:
        if dimension not in child.dimensions and not dimension.lossless:
            raise Refused(
                "lossy-join",
                f"{parent.name} joins {dimension.table}, which may drop rows: {', '.join(dimension.foreign)} "
                "is nullable or not declared as a foreign key",
            )


@dataclass
class _Rewriting:
    """Rewrites canonical expressions of the child over the columns of the parent."""

    child: CubeView
    parent: CubeView
    joins: dict[str, EdgeJoin] = field(default_factory=dict)

    def over(self, expr: Scalar, above: exp.Expr | None = None) -> Scalar:
        """An expression over the parent; it is a part of the one `above`, if there is one."""
        for key in self.parent.all_keys:
            if key.expr == expr:
                self._must_not_show_signs(expr, above)
                return column(key.name)
        if isinstance(expr, exp.Column):
            return self._attribute(expr)
        copy = expr.copy()
        above = above if isinstance(expr, exp.Paren) else expr
        for name, value in list(copy.args.items()):
            copy.set(name, self._argument(value, above))
        return copy

    def _argument(self, value: object, above: exp.Expr | None) -> object:
        if isinstance(value, list):
            return [self._argument(item, above) for item in value]
        return self.over(value, above) if isinstance(value, exp.Expression) else value

    def _must_not_show_signs(self, key: Scalar, above: exp.Expr | None) -> None:
        """A group shows its zeros without signs. Rows have them, and all but comparisons may show it."""
        if above is None or isinstance(above, _SIGNLESS):
            return
        kind = type_shown(key, lambda name: _type_of(self.child, name))
        if kind is None or holds_floats(kind):
            raise Refused("zeros", f"{self.parent.name} shows no signs of zeros in {_text(key)}")

    def _attribute(self, attribute: exp.Column) -> Scalar:
        dimension = self.child.dimension(attribute.name)
        if dimension is None:
            raise Refused(
                "attribute-missing", f"{self.parent.name} does not group by {short(attribute.name)}"
            )
        known = dict(self.joins)
        try:
            self.join(dimension)
        except Refused:
            self.joins = known
            if not self._join_level(dimension, attribute.name):
                raise
        return column(attribute.name)

    def _join_level(self, dimension: Dimension, attribute: str) -> bool:
        """Joins along a declared hierarchy, from an attribute that the parent groups by and has joined."""
        declared = [d for d in dependencies(self.parent.fact, (dimension,)) if len(d.left) == 1]
        for key in self.parent.all_keys if dimension in self.parent.dimensions else ():
            level = key.expr.name if key.is_column else ""
            if level in dimension.attributes and attribute in closure((level,), declared):
                place = f"{dimension.path}@{level}"
                supplies = frozenset((attribute,)) | self.supplied(place)
                self.joins[place] = EdgeJoin(dimension, (column(key.name),), level, supplies)
                return True
        return False

    def supplied(self, place: str) -> frozenset[str]:
        return self.joins[place].supplies if place in self.joins else frozenset()

    def join(self, dimension: Dimension) -> None:
        """Joins a dimension at the edge; its foreign key must be available at the parent."""
        if dimension.path not in self.joins:
            foreign = tuple(self.over(column(name)) for name in dimension.foreign)
            self.joins[dimension.path] = EdgeJoin(dimension, foreign)

    def source(self, state: StateColumn) -> StateSource:
        if state in state_columns(self.parent):
            return StateSource(state, column(state.name), reused=True)
        return StateSource(state, self._computed(state), reused=False)

    def _computed(self, state: StateColumn) -> Scalar:
        try:
            argument = self.over(argument_of(state))
        except Refused:
            raise Refused(
                "aggregate-missing",
                f"{self.parent.name} has neither {state.kind.value.upper()}({_text(argument_of(state))}) "
                "nor the columns to compute it",
            ) from None
        match state.kind:
            case PartKind.COUNT:
                return when_not_null(argument, column(ROWS))
            case PartKind.SUM | PartKind.TOTAL:
                return times(argument, column(ROWS))
            case _:
                return argument


def _type_of(view: CubeView, name: str) -> str | None:
    found = column_of(view, name)
    return None if found is None else found.type


def _text(expr: Scalar) -> str:
    names: Mapping[str, str] = {name: short(name) for name in columns_of(expr)}
    text = expr.sql().replace('"', "")
    for name, brief in names.items():
        text = text.replace(name, brief)
    return text
