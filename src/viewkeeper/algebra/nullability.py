"""Which columns of a plan never hold NULL: declared so, tested by a condition, or made so by a function."""

from __future__ import annotations

from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, conjuncts
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


def nullable(rel: Relation) -> Names:
    """Columns that may hold NULL."""
    return frozenset(rel.columns) - not_null(rel)


def not_null(rel: Relation) -> Names:
    """Columns that hold no NULL in any row."""
    match rel:
        case Scan():
            return frozenset(b.name for b in rel.bound if not b.source.nullable)
        case Values():
            return _values_not_null(rel)
        case Filter():
            return not_null(rel.child) | (_tested(rel.condition) & frozenset(rel.columns))
        case Project():
            return _never_null(rel.outputs, not_null(rel.child))
        case Aggregate():
            return _never_null(rel.keys, not_null(rel.child)) | _counts(rel.aggregates)
        case Join():
            return _join_not_null(rel)
        case Window():
            ranked = frozenset(n.name for n in rel.functions if isinstance(n.expr.this, _RANKS))
            return not_null(rel.child) | ranked
        case UnionAll():
            sides = [[name in not_null(side) for name in side.columns] for side in rel.inputs]
            return frozenset(name for name, *flags in zip(rel.columns, *sides, strict=True) if all(flags))
        case Difference() | Intersection():
            return not_null(rel.left)
        case Affected() | Distinct() | TopK() | Lateral() | Negate() | Consolidate() | Expand():
            return not_null(rel.child) & frozenset(rel.columns)
        case Reference() | Fixpoint():
            return frozenset()
        case _:
            assert_never(rel)


def _values_not_null(rel: Values) -> Names:
    cells = zip(rel.columns, *rel.rows, strict=True)
    return frozenset(name for name, *cell in cells if all(isinstance(c, exp.Literal) for c in cell))


def _tested(condition: Scalar) -> Names:
    """Columns that a condition rejects when they are NULL: compared with something, or IS NOT NULL."""
    found: set[str] = set()
    for part in conjuncts(condition):
        if isinstance(part, _COMPARISONS):
            found |= {side.name for side in (part.left, part.right) if isinstance(side, exp.Column)}
        test = part.this.unnest() if isinstance(part, exp.Not) else None
        if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
            found |= {test.this.name} if isinstance(test.this, exp.Column) else set()
    return frozenset(found)


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


def _join_not_null(join: Join) -> Names:
    left, right = not_null(join.left), not_null(join.right)
    match join.kind:
        case JoinKind.INNER:
            return left | right | (_tested(join.on) & frozenset(join.columns))
        case JoinKind.SEMI:
            return left | (_tested(join.on) & frozenset(join.columns))
        case JoinKind.LEFT | JoinKind.ANTI:
            return left
        case JoinKind.RIGHT:
            return right
        case JoinKind.FULL:
            return frozenset()
        case _:
            assert_never(join.kind)
