"""Rows that differ in nothing but the sign of a zero.

SQL finds −0.0 and 0.0 equal, and GROUP BY shows both as 0.0. A row that is stored, or passes through a view,
is what it shows: where signed rows are added up, these are two rows. Plans say so (`exact`, `differs`) before
the types of their columns are known; whoever runs them knows, and has signs told.

    γ_x, sum(c)             →   γ_x, sign(x), any_value(x), sum(c)
    x IS DISTINCT FROM y    →   x IS DISTINCT FROM y OR sign(x) IS DISTINCT FROM sign(y)

    sign(x)  =  x = 0 AND CAST(x AS STRING) = '-0.0'

Columns that hold no FLOAT or DOUBLE leave a plan as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.expressions import Named, Scalar, and_, equal, literal, or_, same
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import UNKNOWN, Column
from viewkeeper.algebra.walk import nodes, rewrite

Types = Mapping[str, str]
"""The types of a relation's columns."""

Leaf = Callable[[Scan | Reference], Types]
Ask = Callable[[Relation], Types]

_FLOATS = re.compile(r"\b(?:float|double)\b(?!:)")
"""A field of a struct may be called like a type: its name is followed by a colon."""

_NO_FLOATS = ""
"""The type of what holds no floats, whatever else it is."""

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs, exp.Sum)
"""What makes numbers of numbers, and floats of nothing but floats and strings."""

_NO_MAKERS = (
    *_ARITHMETIC,
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.DataType),
    *(exp.DataTypeParam, exp.Cast, exp.Case, exp.If, exp.Coalesce, exp.Predicate, exp.Connector, exp.Not),
    *(exp.Count, exp.Min, exp.Max, exp.Lower, exp.Upper, exp.Substring, exp.Concat, exp.Star, exp.AnyValue),
    *(exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.RowNumber, exp.Rank, exp.DenseRank),
)
"""Expressions that are floats only where some part of them is one."""


def holds_floats(kind: str) -> bool:
    """Whether values of a type are floats, or have some inside."""
    return _FLOATS.search(kind) is not None


def float_columns(columns: Iterable[Column]) -> dict[str, str]:
    """The columns that hold floats, with their types."""
    return {one.name: one.type for one in columns if holds_floats(one.type)}


def sign(value: Scalar, kind: str) -> Scalar:
    """What tells values apart that are equal but for the signs of their zeros."""
    text = exp.cast(value.copy(), "string")
    if kind not in ("float", "double"):
        return text
    return and_(equal(value, literal(0)), equal(text, literal("-0.0")))


def differs(left: Scalar, right: Scalar, exact: bool) -> Scalar:
    """Whether two values are not equal, NULL being a value like any other; `exact`: −0.0 is not 0.0."""
    return exp.NullSafeNEQ(this=left, expression=right, exact=exact or None)


def with_signs(rel: Relation, leaf: Leaf, ask: Ask) -> Relation:
    """The plan with the signs of zeros told where it asks for it, and where there may be some.

    `leaf` knows the types of leaves, and `ask` those of a whole plan, at some cost.
    """
    if not _is_exact(rel):
        return rel
    known = _Known(leaf, ask)

    def told(node: Relation) -> Relation:
        match node:
            case Aggregate(exact=True):
                floats = known.floats(node, node.key_names)
                return _grouped_by_signs(node, floats) if floats else node
            case Distinct(exact=True):
                floats = known.floats(node, node.columns)
                groups = Aggregate(node.child, same(node.columns), ())
                return _grouped_by_signs(groups, floats) if floats else node
            case Filter() if _tests(node.condition):
                return Filter(node.child, _exactly(node.condition, node.child, known))
            case Project() if any(_tests(item.expr) for item in node.outputs):
                items = ((item.name, _exactly(item.expr, node.child, known)) for item in node.outputs)
                return Project(node.child, tuple(Named(*item) for item in items))
            case _:
                return node

    return rewrite(rel, told)


@lru_cache(maxsize=1024)
def _is_exact(rel: Relation) -> bool:
    """Whether some part of a plan tells rows apart by more than SQL's equality."""
    return any(_asks(node) for node in nodes(rel))


def _asks(node: Relation) -> bool:
    match node:
        case Aggregate() | Distinct():
            return node.exact
        case Filter():
            return bool(_tests(node.condition))
        case Project():
            return any(_tests(item.expr) for item in node.outputs)
        case _:
            return False


def _tests(expr: Scalar) -> list[exp.NullSafeNEQ]:
    return [test for test in expr.find_all(exp.NullSafeNEQ) if test.args.get("exact")]


def _grouped_by_signs(node: Aggregate, floats: Mapping[str, str]) -> Relation:
    """The groups of an aggregate, told apart by the signs of zeros too, which they show."""
    keys: list[Named] = []
    shown: list[Named] = []
    for place, key in enumerate(node.keys):
        if key.name not in floats:
            keys.append(key)
            continue
        keys += [
            Named(f"__value{place}", key.expr),
            Named(f"__sign{place}", sign(key.expr, floats[key.name])),
        ]
        shown.append(Named(key.name, exp.AnyValue(this=key.expr.copy())))
    return restricted_to(Aggregate(node.child, tuple(keys), (*shown, *node.aggregates)), node.columns)


def _exactly(expr: Scalar, rel: Relation, known: _Known) -> Scalar:
    """An expression over a relation, in which values differ by the signs of zeros too."""
    names = {side.name for test in _tests(expr) for side in (test.this, test.expression)}
    floats = known.floats(rel, sorted(names))

    def told(node: exp.Expr) -> exp.Expr:
        if not (isinstance(node, exp.NullSafeNEQ) and node.args.get("exact") and node.this.name in floats):
            return node
        signs = (sign(side, floats[node.this.name]) for side in (node.this, node.expression))
        other = (exp.paren(one) for one in signs)
        plain = exp.NullSafeNEQ(this=node.this, expression=node.expression)
        return exp.paren(or_(plain, exp.NullSafeNEQ(this=next(other), expression=next(other))))

    return expr.transform(told)


def type_shown(expr: Scalar, kind: Callable[[str], str | None]) -> str | None:
    """The type of an expression over columns of some types, as far as its form shows it: "" stands for any
    that holds no floats, and None for one that may hold some."""
    expr = expr.unnest()
    if isinstance(expr, exp.Column):
        return kind(expr.name)
    if isinstance(expr, exp.Cast):
        return expr.to.sql(dialect="spark").lower()
    if isinstance(expr, (exp.Predicate, exp.Connector, exp.Not)):
        return _NO_FLOATS
    return None if _may_make_floats(expr, kind) else _NO_FLOATS


def _may_make_floats(expr: Scalar, kind: Callable[[str], str | None]) -> bool:
    kinds = {kind(one.name) for one in expr.find_all(exp.Column)}
    texts = "string" in kinds or any(one.is_string for one in expr.find_all(exp.Literal))
    return (
        any(one is None or holds_floats(one) for one in kinds)
        or any(not isinstance(part, _NO_MAKERS) or _is_float(part) for part in expr.walk())
        or (texts and expr.find(*_ARITHMETIC) is not None)
    )


class _Known:
    """What is known of the types of columns; of many nodes, each found once."""

    def __init__(self, leaf: Leaf, ask: Ask) -> None:
        self.leaf = leaf
        self.ask = ask
        self._kinds: dict[tuple[Relation, str], str | None] = {}

    def floats(self, rel: Relation, names: Iterable[str]) -> dict[str, str]:
        """Those of some columns that hold floats, with their types."""
        kinds = {name: self.kind(rel, name) for name in names}
        told = self.ask(rel) if None in kinds.values() else {}
        found = {name: told[name] if kind is None else kind for name, kind in kinds.items()}
        return {name: kind for name, kind in found.items() if holds_floats(kind)}

    def kind(self, rel: Relation, name: str) -> str | None:
        """The type of a column; None where it does not show."""
        if (rel, name) not in self._kinds:
            self._kinds[rel, name] = self._kind(rel, name)
        return self._kinds[rel, name]

    def _kind(self, rel: Relation, name: str) -> str | None:
        match rel:
            case Scan():
                source = next(one.source for one in rel.bound if one.name == name)
                return self.leaf(rel).get(source.name) if source.type == UNKNOWN else source.type
            case Reference():
                return self.leaf(rel).get(name)
            case Project():
                return self._made(rel.child, rel.outputs, name)
            case Aggregate():
                return self._made(rel.child, (*rel.keys, *rel.aggregates), name)
            case Window():
                is_passed = name in rel.child.columns
                return self.kind(rel.child, name) if is_passed else self._made(rel.child, rel.functions, name)
            case Join():
                return self.kind(rel.left if name in rel.left.columns else rel.right, name)
            case UnionAll():
                return self._common(rel.inputs, rel.columns.index(name))
            case Difference() | Intersection():
                return self._common((rel.left, rel.right), rel.columns.index(name))
            case Lateral():
                return self.kind(rel.child, name) if name in rel.child.columns else None
            case Filter() | Distinct() | TopK() | Negate() | Consolidate() | Affected() | Expand():
                return self.kind(rel.child, name)
            case Values() | Fixpoint():
                return None
            case _:
                assert_never(rel)

    def _made(self, rel: Relation, items: Iterable[Named], name: str) -> str | None:
        """The type of an expression over a relation, which is an item of this name."""
        expr = next(item.expr for item in items if item.name == name)
        return type_shown(expr, lambda column: self.kind(rel, column))

    def _common(self, inputs: Iterable[Relation], place: int) -> str | None:
        kinds = {self.kind(each, each.columns[place]) for each in inputs}
        if not any(kind is None or holds_floats(kind) for kind in kinds):
            return _NO_FLOATS
        return kinds.pop() if len(kinds) == 1 else None


def _is_float(part: exp.Expr) -> bool:
    """Whether a constant, or a type, is one of floats."""
    match part:
        case exp.Literal():
            return not part.is_string and "e" in part.this.lower()
        case exp.DataType():
            return holds_floats(part.sql(dialect="spark").lower())
        case _:
            return False
