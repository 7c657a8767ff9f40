"""Scalar expressions: sqlglot expressions, used as values and never mutated in place.

A column reference is a bare `exp.Column` whose name is an output column of the node's input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

Scalar: TypeAlias = exp.Expr


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column that it makes."""

    name: str
    expr: Scalar

    @property
    def is_column(self) -> bool:
        return isinstance(self.expr, exp.Column)


def column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def same(names: Iterable[str]) -> tuple[Named, ...]:
    """Each name as a column that passes through unchanged."""
    return tuple(Named(name, column(name)) for name in names)


def literal(value: int | str | bool | None) -> Scalar:
    return exp.convert(value)


def columns_of(expr: Scalar) -> frozenset[str]:
    return frozenset(found.name for found in expr.find_all(exp.Column))


def replace_columns(expr: Scalar, replacement: Mapping[str, Scalar]) -> Scalar:
    """`expr` with each reference to a mapped column replaced; columns without a mapping stay."""

    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in replacement:
            new = replacement[node.name].copy()
            return new if isinstance(new, (exp.Column, exp.Literal)) else exp.paren(new, copy=False)
        return node

    return expr.copy().transform(swap, copy=False)


def rename_columns(expr: Scalar, names: Mapping[str, str]) -> Scalar:
    return replace_columns(expr, {old: column(new) for old, new in names.items()})


def conjuncts(expr: Scalar | None) -> Iterator[Scalar]:
    """The parts of a conjunction: `a AND (b AND c)` gives a, b, c."""
    if expr is None or is_true(expr):
        return
    inner = expr.unnest()
    if isinstance(inner, exp.And):
        yield from conjuncts(inner.left)
        yield from conjuncts(inner.right)
    else:
        yield inner


def conjunction(parts: Iterable[Scalar]) -> Scalar:
    """The conjunction of the parts; TRUE when there are none."""
    found = list(parts)
    return exp.and_(*found, copy=True) if found else exp.true()


def and_(left: Scalar, right: Scalar) -> Scalar:
    return exp.and_(left, right, copy=True)


def or_(*parts: Scalar) -> Scalar:
    return exp.or_(*parts, copy=True)


def not_(expr: Scalar) -> Scalar:
    return exp.not_(expr, copy=True)


def is_true(expr: Scalar) -> bool:
    inner = expr.unnest()
    return isinstance(inner, exp.Boolean) and bool(inner.this)


_LOOSE = (exp.Binary, exp.Not, exp.Neg, exp.BitwiseNot, exp.In, exp.Between)


def operand(expr: Scalar) -> Scalar:
    """A part of another expression, in parentheses where an operator beside it would take it apart in text.

    a = b  beside  <=> k    →   (a = b) <=> k
    NOT a  beside  IS NULL  →   (NOT a) IS NULL
    """
    is_loose = isinstance(expr, _LOOSE) and not isinstance(expr, exp.Dot)
    return exp.paren(expr) if is_loose else expr.copy()


def is_null(expr: Scalar) -> Scalar:
    return exp.Is(this=operand(expr), expression=exp.null())


def is_present(expr: Scalar) -> Scalar:
    return exp.not_(is_null(expr))


def same_or_both_null(left: Scalar, right: Scalar) -> Scalar:
    """Equality as GROUP BY understands it: NULL equals NULL."""
    return exp.NullSafeEQ(this=operand(left), expression=operand(right))


def equal(left: Scalar, right: Scalar) -> Scalar:
    """Equality as a join understands it: NULL equals nothing."""
    return exp.EQ(this=operand(left), expression=operand(right))


def null_safe_match(pairs: Iterable[tuple[str, str]]) -> Scalar:
    """`left <=> right` for every pair of column names."""
    return conjunction(same_or_both_null(column(left), column(right)) for left, right in pairs)


def function(name: str, *arguments: Scalar) -> Scalar:
    return exp.func(name, *[argument.copy() for argument in arguments])


def is_slow(expr: Scalar) -> bool:
    """Whether testing it takes longer than looking a row up: it searches a text for a pattern."""
    return expr.find(exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo) is not None


def map_named(items: Iterable[Named], change: Callable[[Scalar], Scalar]) -> tuple[Named, ...]:
    return tuple(Named(item.name, change(item.expr)) for item in items)
