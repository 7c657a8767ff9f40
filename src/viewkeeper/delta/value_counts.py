"""Aggregates of a bag of values, over how often each value occurs (quass96 section 4.1: f and g over a
group).

    γ_K; f(x)(R)   →   γ_K; f'(x, n)( γ_{K,x}; n = COUNT(*) (R) )

    COUNT(DISTINCT x)       COUNT(x)                      and so is a sum of changes again
    SUM, AVG(DISTINCT x)    SUM(x), AVG(x)
    MEDIAN(x)               PERCENTILE(x, 0.5, n)
    PERCENTILE(x, p)        PERCENTILE(x, p, n)
    MODE(x, true)           MIN_BY(x, (−n, x))            the least of the most frequent
    COLLECT_SET(x)          COLLECT_SET(x)
    COLLECT_LIST(x), sorted FLATTEN(COLLECT_LIST(ARRAY_REPEAT(x, n)))
    COUNT(y), SUM(y)        the sum of those of each value
    MIN(y), MAX(y)          the least, the greatest of those of each value

The inner aggregate has state of its own: it is stored, and changes merge into it. A group of the outer one
that is computed anew is computed from the values that it has, and not from rows.

All calls of an aggregate must be of one bag x, or come in parts. What tells −0.0 from 0.0, which are one
value of a group, is left alone; so is what would add up in other digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeGuard

from sqlglot import exp

from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    function,
    literal,
    not_,
    replace_columns,
    same,
)
from viewkeeper.algebra.facts import expression_type
from viewkeeper.algebra.relations import Aggregate, Project, Relation
from viewkeeper.algebra.walk import rewrite
from viewkeeper.delta.numbers import average_from, digits_of, in_type_of_sum
from viewkeeper.delta.parts import ROWS, when

_KEPT_AS_SHOWN = re.compile(
    r"tinyint|smallint|int|bigint|decimal\([\d, ]+\)|date|timestamp|timestamp_ntz|string|boolean|binary"
)
"""Types whose values are equal only if they are the same."""
BAG, _OVER = "__bag_", "__over"
"""Names of the values that are counted, and of calls over them."""
_WHOLE = ("tinyint", "smallint", "int")
_SHORT = 17
"""Digits of a DECIMAL of which a sum of sums has digits enough."""


def with_value_counts(rel: Relation) -> Relation:
    """The plan with aggregates of values over stored counts of these."""

    def over_counts(node: Relation) -> Relation:
        if isinstance(node, Aggregate):
            return _taken_apart(node)
        return _as_one(node, node.child) if isinstance(node, Project) and _is_made_here(node.child) else node

    return rewrite(rel, over_counts)


def _is_made_here(rel: Relation) -> TypeGuard[Project]:
    return (
        isinstance(rel, Project)
        and isinstance(rel.child, Aggregate)
        and any(item.name.startswith(_OVER) for item in rel.child.aggregates)
    )


def _as_one(above: Project, below: Project) -> Project:
    """Two projections as one: a view that is an aggregate stays one."""
    values = {output.name: output.expr for output in below.outputs}
    return Project(
        below.child, tuple(Named(o.name, replace_columns(o.expr, values).unnest()) for o in above.outputs)
    )


@dataclass
class _Parts:
    """The inner aggregate under way: the values, and what is summed up beside them for each."""

    whole: Aggregate
    values: tuple[Scalar, ...]
    calls: dict[Scalar, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[Scalar, ...]:
        return tuple(column(name) for name in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        taken = list(self.whole.columns)
        for number in range(len(self.values)):
            taken.append(fresh(f"{BAG}{number + 1}", taken))
        return tuple(taken[-len(self.values) :])

    def of(self, call: Scalar) -> Scalar:
        """The column of the inner aggregate that holds this call."""
        if call not in self.calls:
            self.calls[call] = fresh("__apart", (*self.whole.columns, *self.names, *self.calls.values()))
        return column(self.calls[call])

    @property
    def inner(self) -> Aggregate:
        values = (Named(name, value) for name, value in zip(self.names, self.values, strict=True))
        calls = tuple(Named(name, call) for call, name in self.calls.items())
        return Aggregate(self.whole.child, (*self.whole.keys, *values), calls)


def _taken_apart(whole: Aggregate) -> Relation:
    bags = {bag for item in whole.aggregates if (bag := _bag(item.expr, whole.child)) is not None}
    if len(bags) != 1:
        return whole
    [values] = bags
    parts = _Parts(whole, values)
    parts.of(ROWS.call)
    found = [_over_values(item.expr, parts) for item in whole.aggregates]
    calls = dict.fromkeys(call for one in found if one is not None for call in one[1])
    if any(one is None for one in found):
        return whole
    names: dict[Scalar, str] = {}
    for call in calls:
        names[call] = fresh(_OVER, (*whole.columns, *names.values()))
    outer = Aggregate(
        parts.inner, same(whole.key_names), tuple(Named(name, call) for call, name in names.items())
    )
    outputs = (
        Named(item.name, _named(one[0], names))
        for item, one in zip(whole.aggregates, found, strict=True)
        if one is not None
    )
    return Project(outer, (*same(whole.key_names), *outputs))


_Over = tuple[Scalar, tuple[Scalar, ...]]
"""The value of a call over value counts, and the calls in it."""


def _named(value: Scalar, names: dict[Scalar, str]) -> Scalar:
    """The value with the columns that hold its calls."""

    def named(node: exp.Expr) -> exp.Expr:
        return column(names[node]) if node in names else node

    return value.copy().transform(named)


def _bag(call: Scalar, child: Relation) -> tuple[Scalar, ...] | None:
    """The values whose bag a call is a function of, and no sum of its parts."""
    if isinstance(call, exp.ArraySort):
        return _bag(call.this, child) if isinstance(call.this, (exp.ArrayAgg, exp.ArrayUniqueAgg)) else None
    value = call.this
    match call:
        case exp.Count(this=exp.Distinct()) if all(one.find(exp.Column) for one in value.expressions):
            return tuple(value.expressions)
        case exp.Sum(this=exp.Distinct()) | exp.Avg(this=exp.Distinct()):
            one = value.expressions[0]
            return (one,) if expression_type(child, one) in _WHOLE else None
        case exp.Median() | exp.Quantile() | exp.ArrayUniqueAgg() | exp.ArrayAgg():
            return (value,) if _is_shown(value, child) else None
        case exp.Mode() if call.args.get("deterministic") == exp.true():
            return (value,) if _is_shown(value, child) else None
        case _:
            return None


def _is_shown(value: object, child: Relation) -> bool:
    """Whether an argument is one value of a type that holds no floats."""
    if not isinstance(value, exp.Expr) or value.find(exp.Column) is None:
        return False
    if isinstance(value, (exp.Distinct, exp.Order)):
        return False
    return _KEPT_AS_SHOWN.fullmatch(expression_type(child, value) or "") is not None


def _over_values(call: Scalar, parts: _Parts) -> _Over | None:
    """A call of the whole over values and their counts; none where it has no such form."""
    if _bag(call, parts.whole.child) is not None:
        found = _of_bag(call, parts.columns, parts.of(ROWS.call))
        return found, (found,)
    return _in_parts(call, parts)


def _of_bag(call: Scalar, values: tuple[Scalar, ...], times: Scalar) -> Scalar:
    if isinstance(call, exp.ArraySort):
        return function("sort_array", _of_bag(call.this, values, times))
    value = values[0]
    present = not_(exp.Is(this=value.copy(), expression=exp.null()))
    match call:
        case exp.Count() if len(values) > 1:
            known = exp.and_(*(not_(exp.Is(this=one.copy(), expression=exp.null())) for one in values))
            return exp.Count(this=when(known, literal(1)))
        case exp.Count():
            return exp.Count(this=value.copy())
        case exp.Sum():
            return exp.Sum(this=value.copy())
        case exp.Avg():
            return exp.Avg(this=value.copy())
        case exp.Mode():
            least = exp.Struct(expressions=[exp.Neg(this=times.copy()), value.copy()])
            return function("min_by", value, when(present, least))
        case exp.ArrayUniqueAgg():
            return exp.ArrayUniqueAgg(this=value.copy())
        case exp.ArrayAgg():
            repeated = function("array_repeat", value, exp.cast(times.copy(), "int"))
            return function("flatten", exp.ArrayAgg(this=when(present, repeated)))
        case _:
            share = call.args.get("quantile") or exp.Literal.number("0.5")
            arguments = [value.copy(), share.copy(), times.copy()]
            return exp.Anonymous(this="percentile", expressions=arguments)


def _in_parts(call: Scalar, parts: _Parts) -> _Over | None:
    """A call whose value comes from its values over parts of a group."""
    inner = call.this if isinstance(call, exp.Filter) else call
    if isinstance(inner.this, exp.Distinct):
        return None
    kind = expression_type(parts.whole.child, inner.this) if isinstance(inner.this, exp.Expr) else None
    match inner:
        case exp.Count():
            return _alone(function("coalesce", exp.Sum(this=parts.of(call)), literal(0)))
        case exp.Min() | exp.Max() if not inner.expressions and _KEPT_AS_SHOWN.fullmatch(kind or ""):
            return _alone(type(inner)(this=parts.of(call)))
        case exp.Sum() | exp.Avg() if not inner.expressions and _adds_up(inner.this, kind):
            return _summed(call, inner, parts)
        case _:
            return None


def _adds_up(value: Scalar, kind: str | None) -> bool:
    digits = digits_of(value)
    return kind in _WHOLE or (digits is not None and digits[0] <= _SHORT)


def _summed(call: Scalar, inner: Scalar, parts: _Parts) -> _Over | None:
    """SUM and AVG of numbers that are summed up for each value first."""
    total = _sum_of(inner.this, parts.of(_as(call, exp.Sum(this=inner.this.copy()))))
    whole = in_type_of_sum(inner.this, total)
    if isinstance(inner, exp.Sum):
        return whole, (total,)
    number = function(
        "coalesce", exp.Sum(this=parts.of(_as(call, exp.Count(this=inner.this.copy())))), literal(0)
    )
    average = average_from(inner.this, whole, number)
    return None if average is None else (average, (total, number))


def _sum_of(value: Scalar, part: Scalar) -> Scalar:
    """The sum of sums, in the type that these have."""
    digits = digits_of(value)
    if digits is None:
        return exp.Sum(this=part)
    return exp.Sum(this=exp.cast(part, f"decimal({digits[0] + 10}, {digits[1]})"))


def _as(call: Scalar, other: Scalar) -> Scalar:
    """Another function of the rows that a call is over, which a FILTER may leave out some of."""
    return (
        exp.Filter(this=other, expression=call.expression.copy()) if isinstance(call, exp.Filter) else other
    )


def _alone(call: Scalar) -> _Over:
    return call, (call,)


__all__ = ["BAG", "with_value_counts"]
