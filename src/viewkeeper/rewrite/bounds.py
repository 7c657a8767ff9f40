"""Between which values the rows lie that a plan asks a stored relation for.

    σ_{day ≥ '2026-02-22' ∧ ¬(day ≥ '2026-02-23')}(R)   →   R: day from 2026-02-22 to 2026-02-23

Files of which no value lies there need not be opened. Bounds are alternatives, one for each branch of an OR,
and none of them is exact: a row that lies between them is still tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import product
from typing import Any

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column, columns_of, conjuncts, replace_columns
from viewkeeper.algebra.nullability import rejected_nulls
from viewkeeper.algebra.relations import (
    Filter,
    Join,
    JoinKind,
    Negate,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.walk import children

Ranges = Mapping[str, tuple[Any, Any]]
"""The least and the greatest value of columns."""

Alternatives = tuple[tuple[tuple[str, tuple[Any, Any]], ...], ...]
"""Ranges as pairs of a column and its range: rows lie in one of them or another."""

Constant = Callable[[Scalar, str], tuple[Any, bool] | None]
"""What an expression without columns is beside a column of some type, and whether it is just that or lies in
between; None where that is not known."""

_MOST = 16
"""Alternatives beyond so many are not told apart."""

_ENDS = {"date": ("0001-01-01", "9999-12-31")}
_NUMBERS = {"tinyint", "smallint", "int", "bigint"}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}
_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def bounds(plan: Relation, name_of: Callable[[Scan], str], constant: Constant) -> dict[str, Alternatives]:
    """The bounds of what a plan reads, by the names of its inputs; those without any are left out."""
    found: dict[str, Alternatives | None] = {}
    seen: set[tuple[Relation, tuple[Scalar, ...]]] = set()

    def visit(rel: Relation, parts: tuple[Scalar, ...]) -> None:
        if (rel, parts) in seen:
            return
        seen.add((rel, parts))
        if isinstance(rel, Scan):
            own, name = _of_scan(rel, parts, constant), name_of(rel)
            before = found.get(name, ())
            found[name] = None if before is None or own is None else (*before, *own)
        for child, below in _below(rel, parts):
            visit(child, below)

    visit(plan, ())
    return {name: own for name, own in found.items() if own is not None}


def _below(rel: Relation, parts: tuple[Scalar, ...]) -> Iterator[tuple[Relation, tuple[Scalar, ...]]]:
    """The inputs of a node, each with the conditions that hold for all rows of it that matter."""
    match rel:
        case Filter():
            yield rel.child, (*parts, *conjuncts(rel.condition))
        case Negate():
            yield rel.child, parts
        case Project():
            known = {o.name: o.expr for o in rel.outputs if o.is_column or not columns_of(o.expr)}
            yield rel.child, tuple(replace_columns(part, known) for part in _about(parts, known))
        case UnionAll():
            for child in rel.inputs:
                names = dict(zip(rel.columns, map(column, child.columns), strict=True))
                yield child, tuple(replace_columns(part, names) for part in parts)
        case Join(kind=JoinKind.INNER):
            everything = (*parts, *conjuncts(rel.on))
            yield rel.left, _about(everything, rel.left.columns)
            yield rel.right, _about(everything, rel.right.columns)
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI):
            yield rel.left, _about(parts, rel.left.columns)
            yield rel.right, ()
        case _:
            for child in children(rel):
                yield child, ()


def _about(parts: Iterable[Scalar], names: Iterable[str]) -> tuple[Scalar, ...]:
    known = set(names)
    return tuple(part for part in parts if columns_of(part) <= known)


def _of_scan(scan: Scan, parts: Sequence[Scalar], constant: Constant) -> Alternatives | None:
    """The bounds of a scan, by the names of stored columns; None where rows may lie anywhere."""
    sources = {bound.name: bound.source for bound in scan.bound}
    full = set[str]().union(*map(rejected_nulls, parts))

    def limits(name: str, test: type[exp.Expr], other: Scalar) -> Ranges:
        kind = sources[name].type
        known = constant(other, kind) if name in full and (kind == "date" or kind in _NUMBERS) else None
        return {} if known is None else {sources[name].name: _range(kind, test, *known)}

    every: list[Ranges] = [{}]
    for part in parts:
        own = _alternatives(part, False, limits)
        if len(own) * len(every) <= _MOST:
            every = [met for one, other in product(every, own) if (met := _met(one, other)) is not None]
    return tuple(tuple(one.items()) for one in every) if all(every) else None


def _range(kind: str, test: type[exp.Expr], value: Any, is_exact: bool) -> tuple[Any, Any]:
    """The values of a type that pass a comparison; what is not exact is one of them."""
    least, greatest = _ENDS.get(kind, (-(2**63), 2**63))
    if test is exp.EQ:
        return value, value
    if test in (exp.LT, exp.LTE):
        return least, _moved(value, -1) if test is exp.LT and is_exact else value
    return _moved(value, 1) if test is exp.GT and is_exact else value, greatest


def _moved(value: Any, by: int) -> Any:
    """The next whole number or day."""
    if not isinstance(value, str):
        return value + by
    ordinal = date.fromisoformat(value).toordinal() + by
    return date.fromordinal(ordinal).isoformat() if 0 < ordinal <= date.max.toordinal() else value


Limits = Callable[[str, type[exp.Expr], Scalar], Ranges]
"""The bounds that a comparison of a column with a constant sets."""


def _alternatives(part: Scalar, is_negated: bool, limits: Limits) -> list[Ranges]:
    """The bounds of rows for which a condition is true, or is not true; those of NULL are looked at apart."""
    inner = part.unnest()
    match inner:
        case exp.Not():
            return _alternatives(inner.this, not is_negated, limits)
        case exp.Is(expression=exp.Boolean(this=True)):
            return _alternatives(inner.this, is_negated, limits)
        case exp.And() | exp.Or():
            sides = [_alternatives(side, is_negated, limits) for side in (inner.left, inner.right)]
            if isinstance(inner, exp.Or) is not is_negated:
                return [*sides[0], *sides[1]]
            return [met for one, other in product(*sides) if (met := _met(one, other)) is not None]
        case exp.Between() if not is_negated:
            low, high = exp.GTE(this=inner.this, expression=inner.args["low"]), inner.args["high"]
            both = exp.And(this=low, expression=exp.LTE(this=inner.this, expression=high))
            return _alternatives(both, False, limits)
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return [_compared(inner, is_negated, limits)]
        case _:
            return [{}]


def _compared(test: exp.Binary, is_negated: bool, limits: Limits) -> Ranges:
    kind: type[exp.Expr] | None = _OPPOSITE.get(type(test)) if is_negated else type(test)
    left, right = test.left.unnest(), test.right.unnest()
    if kind is None:
        return {}
    if isinstance(left, exp.Column) and not columns_of(right):
        return limits(left.name, kind, right)
    if isinstance(right, exp.Column) and not columns_of(left):
        return limits(right.name, _TURNED[kind], left)
    return {}


def _met(one: Ranges, other: Ranges) -> Ranges | None:
    """Where both bounds hold; None where nothing can lie."""
    met = dict(one)
    for name, (low, high) in other.items():
        own = met.get(name, (low, high))
        met[name] = max(low, own[0]), min(high, own[1])
        if met[name][0] > met[name][1]:
            return None
    return met
