"""Which columns of a plan never hold NULL: declared so, tested by a condition, or made so by a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, conjunction, conjuncts
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
    JoinKind,
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

Names = frozenset[str]
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_STRICT = (*_COMPARISONS, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div)
_STRICT_UNARY = (exp.Paren, exp.Neg, exp.Cast)


def not_null(rel: Relation, known: Mapping[str, Names] = MappingProxyType({})) -> Names:
    """Columns that hold no NULL in any row; of results and stored relations, `known` tells it by name."""

    def below(child: Relation) -> Names:
        return not_null(child, known)

    match rel:
        case Scan():
            full = known.get(rel.table, frozenset())
            return frozenset(b.name for b in rel.bound if not b.source.nullable or b.source.name in full)
        case Values():
            return _values_not_null(rel)
        case Filter():
            return below(rel.child) | (rejected_nulls(rel.condition) & frozenset(rel.columns))
        case Project():
            return _never_null(rel.outputs, below(rel.child))
        case Aggregate():
            return _never_null(rel.keys, below(rel.child)) | _counts(rel.aggregates)
        case Join():
            return _join_not_null(rel, below(rel.left), below(rel.right))
        case Window():
            ranked = frozenset(n.name for n in rel.functions if isinstance(n.expr.this, _RANKS))
            return below(rel.child) | ranked
        case UnionAll():
            sides = [[name in below(side) for name in side.columns] for side in rel.inputs]
            return frozenset(name for name, *flags in zip(rel.columns, *sides, strict=True) if all(flags))
        case Difference() | Intersection():
            return below(rel.left)
        case Affected() | Distinct() | TopK() | Lateral() | Negate() | Consolidate() | Expand():
            return below(rel.child) & frozenset(rel.columns)
        case Reference():
            return known.get(rel.name, frozenset())
        case Fixpoint():
            return frozenset()
        case _:
            assert_never(rel)


def compared_plainly(rel: Relation, known: Mapping[str, Names]) -> Relation:
    """A join that compares NULL-safely what holds no NULL on one side: `=` means the same there, and costs
    Spark half as much."""
    if not isinstance(rel, Join):
        return rel
    full = not_null(rel.left, known) | not_null(rel.right, known)

    def plainly(part: Scalar) -> Scalar:
        if not isinstance(part, exp.NullSafeEQ):
            return part
        sides = (part.left, part.right)
        holds_none = any(isinstance(side, exp.Column) and side.name in full for side in sides)
        return exp.EQ(this=sides[0].copy(), expression=sides[1].copy()) if holds_none else part

    return replace(rel, on=conjunction(plainly(part) for part in conjuncts(rel.on)))


def _values_not_null(rel: Values) -> Names:
    cells = zip(rel.columns, *rel.rows, strict=True)
    return frozenset(name for name, *cell in cells if all(isinstance(c, exp.Literal) for c in cell))


def rejected_nulls(condition: Scalar) -> Names:
    """Columns that a condition rejects when they are NULL: compared with something, or IS NOT NULL."""
    return frozenset(name for part in conjuncts(condition) for name in _rejected_by(part))


def _rejected_by(part: Scalar) -> Names:
    inner = part.unnest()
    test = inner.this.unnest() if isinstance(inner, exp.Not) else inner
    if isinstance(inner, exp.Not) and isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
        return _strict_in(test.this)
    return _strict_in(test) if isinstance(test, (*_COMPARISONS, exp.Like)) else frozenset()


def _strict_in(expr: Scalar) -> Names:
    """Columns whose NULL makes the expression NULL."""
    match expr:
        case exp.Column():
            return frozenset((expr.name,))
        case exp.Binary() if isinstance(expr, _STRICT):
            return _strict_in(expr.left) | _strict_in(expr.right)
        case _ if isinstance(expr, _STRICT_UNARY):
            return _strict_in(expr.this)
        case _:
            return frozenset()


def _never_null(items: tuple[Named, ...], known: Names) -> Names:
    def is_full(expr: Scalar) -> bool:
        if isinstance(expr, exp.Column):
            return expr.name in known
        if isinstance(expr, exp.Coalesce):
            return any(is_full(part) for part in (expr.this, *expr.expressions))
        return isinstance(expr, (exp.Literal, exp.Boolean))

    return frozenset(item.name for item in items if is_full(item.expr))


def _counts(items: tuple[Named, ...]) -> Names:
    def call(expr: Scalar) -> Scalar:
        return expr.this if isinstance(expr, exp.Filter) else expr

    return frozenset(item.name for item in items if isinstance(call(item.expr), exp.Count))


def _join_not_null(join: Join, left: Names, right: Names) -> Names:
    match join.kind:
        case JoinKind.INNER:
            return left | right | (rejected_nulls(join.on) & frozenset(join.columns))
        case JoinKind.SEMI:
            return left | (rejected_nulls(join.on) & frozenset(join.columns))
        case JoinKind.LEFT | JoinKind.ANTI:
            return left
        case JoinKind.RIGHT:
            return right
        case JoinKind.FULL:
            return frozenset()
        case _:
            assert_never(join.kind)
