"""Any condition as a disjunction of conjunctions of atomic formulae (blakeley86 section 4).

    C = C1 or C2 or … or Cm

SQL's logic has three values; a tuple reaches the view only where C is TRUE, and negation moves inwards
in it as in two-valued logic. What is outside the decidable class becomes weaker, never stronger: the
result is implied by C, and equivalent to it when C is in the class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, columns_of, conjuncts, rename_columns
from viewkeeper.maintenance.relevance.domains import ValueKind, constant
from viewkeeper.maintenance.relevance.evaluable import is_evaluable
from viewkeeper.maintenance.relevance.formulae import (
    OPPOSITE,
    TRUE,
    Comparison,
    Conjunction,
    Evaluable,
    Formula,
    IsNull,
    NotNull,
    Variables,
    is_null,
    normalized,
    null_rejected,
)

MOST_CONJUNCTIONS = 64
"""A condition with more is weakened: a part that would multiply them further is left out."""

LONGEST_LIST = 8
"""A longer IN list over other relations is taken as the range that it spans."""


def disjunction(condition: Scalar, own: frozenset[str], variables: Variables) -> list[Conjunction]:
    """The normal form of a condition; `own` are the attributes of the changed tuples."""
    parts = list(conjuncts(condition))
    equal = _equal_own(parts, own, variables)
    reader = _Reader(own, variables)
    shown = (part if _is_comparison(part) else rename_columns(part, equal) for part in parts)
    read = [reader.read(part, True) for part in shown]
    return absorbed(c for c in _product(read) if not _contradicts_null(c))


def _is_comparison(expr: Scalar) -> bool:
    return type(expr) in OPPOSITE and not isinstance(expr, exp.NEQ)


def _equal_own(parts: Iterable[Scalar], own: frozenset[str], variables: Variables) -> dict[str, str]:
    """Attributes of other relations that the condition makes equal to one of the tuple.

    They are written as that one where only evaluation helps: `s.name LIKE 'a%' AND s.name = name`.
    """
    equal: dict[str, str] = {}
    pairs = [(p.left, p.right) for p in parts if isinstance(p, exp.EQ)]
    for _ in pairs:
        for left, right in (*pairs, *((b, a) for a, b in pairs)):
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                mine = left.name if left.name in own else equal.get(left.name)
                if mine and right.name not in own and _same_type(mine, right.name, variables):
                    equal.setdefault(right.name, mine)
    return equal


def _same_type(left: str, right: str, variables: Variables) -> bool:
    first, second = variables[left], variables[right]
    # 0.0 equals -0.0, and yet a function may tell them apart
    return (
        first.type == second.type and first.domain is not None and first.domain.kind is not ValueKind.FLOATING
    )


@dataclass(frozen=True)
class _Reader:
    own: frozenset[str]
    variables: Variables

    def read(self, expr: Scalar, holds: bool) -> list[Conjunction]:
        """The conjunctions one of which must be true where `expr` is TRUE (or FALSE, when not `holds`)."""
        inner = expr.unnest()
        match inner:
            case exp.Not():
                return self.read(inner.this, not holds)
            case exp.And() if holds:
                return _product([self.read(inner.left, holds), self.read(inner.right, holds)])
            case exp.Or() if not holds:
                return _product([self.read(inner.left, holds), self.read(inner.right, holds)])
            case exp.Boolean():
                return [TRUE] if bool(inner.this) is holds else []
            case exp.Null():
                return []
            case exp.Column() if self._kind(inner) is ValueKind.BOOLEAN:
                return self._comparison(exp.EQ, inner, exp.true() if holds else exp.false())
            case exp.Is(expression=exp.Null()) if isinstance(inner.this.unnest(), exp.Column):
                name = inner.this.unnest().name
                return [frozenset({IsNull(name) if holds else NotNull(name)})]
            case exp.Is(expression=exp.Null()) if isinstance(inner.this.unnest(), exp.Null):
                return [TRUE] if holds else []
            case exp.Binary() if type(inner) in OPPOSITE:
                operator = type(inner) if holds else OPPOSITE[type(inner)]
                return self._comparison(operator, inner.left, inner.right)
            case _ if self._is_own(inner) and not _has_null(inner):
                return [frozenset({Evaluable(inner if holds else exp.not_(inner))})]
            case _:
                return self._compound(inner, holds)

    def _compound(self, expr: Scalar, holds: bool) -> list[Conjunction]:
        match expr:
            case exp.And() | exp.Or():
                return absorbed([*self.read(expr.left, holds), *self.read(expr.right, holds)])
            case exp.Between():
                low = exp.GTE(this=expr.this.copy(), expression=expr.args["low"].copy())
                high = exp.LTE(this=expr.this.copy(), expression=expr.args["high"].copy())
                return self.read(exp.And(this=low, expression=high), holds)
            case exp.In() if expr.expressions:
                return self._in(expr, holds)
            case exp.NullSafeEQ():
                return self._same(expr.left, expr.right) if holds else [TRUE]
            case _:
                return [TRUE]

    def _comparison(self, operator: Comparison, left: Scalar, right: Scalar) -> list[Conjunction]:
        if is_null(left) or is_null(right):
            return []
        whole = operator(this=left.copy(), expression=right.copy())
        is_own = self._is_own(whole)
        decided = normalized(operator, left, right, self.variables)
        if decided is not None and not (is_own and operator is exp.NEQ):
            return decided
        needed: set[Formula] = {NotNull(name) for side in (left, right) for name in null_rejected(side)}
        return [frozenset(needed | ({Evaluable(whole)} if is_own else set()))]

    def _in(self, expr: exp.In, holds: bool) -> list[Conjunction]:
        values = [value for value in expr.expressions if not is_null(value)]
        if not holds and len(values) < len(expr.expressions):
            return []
        if holds and len(values) > LONGEST_LIST:
            return self._span(expr.this, values)
        equal = [exp.EQ(this=expr.this.copy(), expression=value.copy()) for value in values]
        read = [self.read(part, holds) for part in equal]
        return absorbed(c for part in read for c in part) if holds else _product(read)

    def _span(self, expr: Scalar, values: list[Scalar]) -> list[Conjunction]:
        kind = self._kind(expr)
        found = [constant(value, kind) for value in values] if kind else []
        known = [(c.value, v) for c, v in zip(found, values) if c is not None]
        if kind is None or len(known) < len(values):
            return [TRUE]
        low, high = (choose(known, key=lambda item: item[0])[1] for choose in (min, max))
        return self.read(exp.Between(this=expr.copy(), low=low.copy(), high=high.copy()), True)

    def _same(self, left: Scalar, right: Scalar) -> list[Conjunction]:
        """`x <=> y`: equal, or both NULL."""
        both = [self.read(exp.Is(this=side.copy(), expression=exp.null()), True) for side in (left, right)]
        constants = [side for side in (left, right) if isinstance(side.unnest(), exp.Literal)]
        return absorbed([*self._comparison(exp.EQ, left, right), *([] if constants else _product(both))])

    def _is_own(self, expr: Scalar) -> bool:
        return columns_of(expr) <= self.own and is_evaluable(expr, self.variables)

    def _kind(self, expr: Scalar) -> ValueKind | None:
        inner = expr.unnest()
        domain = self.variables[inner.name].domain if isinstance(inner, exp.Column) else None
        return domain.kind if domain else None


def _has_null(expr: Scalar) -> bool:
    """Whether NULL stands for a column of an outer join's other side: reading on then decides more."""
    places = ((type(null.parent), null.arg_key) for null in expr.find_all(exp.Null))
    return any(place not in ((exp.In, "expressions"), (exp.Is, "expression")) for place in places)


def _product(parts: list[list[Conjunction]]) -> list[Conjunction]:
    """The conjunction of disjunctions; shorter ones first, and none that makes it too long."""

    def both(left: list[Conjunction], right: list[Conjunction]) -> list[Conjunction]:
        if len(left) * len(right) > MOST_CONJUNCTIONS:
            return left
        return absorbed(a | b for a in left for b in right)

    return reduce(both, sorted(parts, key=len), [TRUE])


def absorbed(conjunctions: Iterable[Conjunction]) -> list[Conjunction]:
    """Without those that say more than another: `A or (A and B)` is A."""
    kept: list[Conjunction] = []
    for found in sorted(dict.fromkeys(conjunctions), key=len):
        if not any(weaker <= found for weaker in kept):
            kept.append(found)
    return kept if len(kept) <= MOST_CONJUNCTIONS else [TRUE]


def _contradicts_null(conjunction: Conjunction) -> bool:
    return any(isinstance(f, IsNull) and NotNull(f.variable) in conjunction for f in conjunction)
