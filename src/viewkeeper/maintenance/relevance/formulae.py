"""Atomic formulae and their normal form (blakeley86 section 4).

    x <  y + c   →   x <= y + c - step
    x >  y + c   →   y <= x - c - step
    x =  y + c   →   x <= y + c  and  y <= x - c
    x <> y       →   x < y  or  x > y

A comparison that must be true also needs its operands not to be NULL, which the paper does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, columns_of
from viewkeeper.maintenance.relevance.domains import (
    ConstantNode,
    Domain,
    ValueKind,
    compare_exactly,
    constant,
    day_literal,
    domain_of,
    domain_of_number,
    exact_number,
)


@dataclass(frozen=True)
class Attribute:
    """An attribute of one occurrence of a relation; `domain` is None where nothing is known of it.

    `table` is empty for columns that an operator computes.
    """

    name: str
    domain: Domain | None = None
    type: str = ""
    table: str = ""
    column: str = ""
    occurrence: int = 0
    nullable: bool = True


Variables: TypeAlias = Mapping[str, Attribute]
GraphNode: TypeAlias = str | ConstantNode


@dataclass(frozen=True)
class AtMost:
    """`left <= right + weight`, or `<` where it is strict: an edge of the graph."""

    left: GraphNode
    right: GraphNode
    weight: Fraction = Fraction(0)
    strict: bool = False

    @property
    def nodes(self) -> tuple[GraphNode, GraphNode]:
        return self.left, self.right

    def __str__(self) -> str:
        if isinstance(self.left, ConstantNode) and not isinstance(self.right, ConstantNode):
            sign, value = (">" if self.strict else ">="), _value(self.left, -self.weight)
            return f"{self.right} {sign} {value}"
        sign = "<" if self.strict else "<="
        if isinstance(self.right, ConstantNode):
            return f"{self.left} {sign} {_value(self.right, self.weight)}"
        offset = "" if not self.weight else f" {'+' if self.weight > 0 else '-'} {abs(self.weight)}"
        return f"{self.left} {sign} {self.right}{offset}"


def _value(node: ConstantNode, weight: Fraction) -> str:
    if node.literal is not None:
        return str(node)
    day = day_literal(weight) if node.kind is ValueKind.DATE else None
    return str(weight) if day is None else str(day.this)


@dataclass(frozen=True)
class NotNull:
    variable: str

    def __str__(self) -> str:
        return f"{self.variable} is not null"


@dataclass(frozen=True)
class IsNull:
    variable: str

    def __str__(self) -> str:
        return f"{self.variable} is null"


@dataclass(frozen=True)
class Evaluable:
    """Any condition over the changed tuple alone, which SQL can evaluate without failing."""

    condition: Scalar

    def __str__(self) -> str:
        return self.condition.sql(dialect="spark").replace("`", "")


Formula: TypeAlias = AtMost | NotNull | IsNull | Evaluable
Conjunction: TypeAlias = frozenset[Formula]

TRUE: Conjunction = frozenset()
Comparison: TypeAlias = type[exp.Binary]
OPPOSITE: dict[Comparison, Comparison] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
_NULL_PRESERVING = (exp.Column, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Cast)
_ADDITIONS = (exp.Add, exp.Sub, exp.TsOrDsAdd, exp.DateAdd, exp.DateSub)


@dataclass(frozen=True)
class _Term:
    """`variable + offset`, or a constant alone."""

    variable: Attribute | None
    offset: Fraction = Fraction(0)
    constant: ConstantNode | None = None

    @property
    def node(self) -> GraphNode:
        if self.variable is not None:
            return self.variable.name
        assert self.constant is not None
        return ConstantNode(self.constant.kind) if self.constant.kind.is_discrete else self.constant


def normalized(
    operator: Comparison, left: Scalar, right: Scalar, variables: Variables
) -> list[Conjunction] | None:
    """The comparison as a disjunction of conjunctions; None when it is outside the decidable class."""
    terms = _terms(left, right, variables)
    if terms is None:
        return None
    first, second = terms
    needed = frozenset(NotNull(t.variable.name) for t in terms if t.variable is not None)
    parts = [_edges(op, first, second) for op in _split(operator)]
    return [needed | edges for edges in map(_without_trivial, parts) if edges is not None]


def _split(operator: Comparison) -> tuple[Comparison, ...]:
    return (exp.LT, exp.GT) if operator is exp.NEQ else (operator,)


def _terms(left: Scalar, right: Scalar, variables: Variables) -> tuple[_Term, _Term] | None:
    used = [variables[name] for side in (left, right) for name in columns_of(side)]
    domains = [variable.domain for variable in used]
    if any(domain is None for domain in domains):
        return None
    kinds = {d.kind for d in domains if d is not None} or _kinds_of_literals(left, right)
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    first, second = _term(left, kind, variables), _term(right, kind, variables)
    if first is None or second is None:
        return None
    return (first, second) if _is_exact(first, second) else None


def _kinds_of_literals(left: Scalar, right: Scalar) -> set[ValueKind]:
    for kind in (ValueKind.EXACT, ValueKind.STRING, ValueKind.BOOLEAN):
        if constant(left, kind) and constant(right, kind):
            return {kind}
    return set()


def _term(expr: Scalar, kind: ValueKind, variables: Variables) -> _Term | None:
    inner = expr.unnest()
    if isinstance(inner, exp.Column):
        return _Term(variables[inner.name])
    if isinstance(inner, exp.Cast) and _keeps_values(inner, variables):
        return _term(inner.this, kind, variables)
    if found := constant(inner, kind):
        return _Term(None, found.value if kind.is_discrete else Fraction(0), found)
    if isinstance(inner, _ADDITIONS) and kind.is_discrete:
        return _sum(inner, kind, variables)
    return None


def _keeps_values(cast: exp.Cast, variables: Variables) -> bool:
    """Whether a column is cast to a type of its kind that holds all its values."""
    inner = cast.this.unnest()
    before = variables[inner.name].domain if isinstance(inner, exp.Column) else None
    after = domain_of(cast.to.sql(dialect="spark"))
    if before is None or after is None or before.kind is not after.kind or before.kind is ValueKind.FLOATING:
        return False
    return before.digits <= after.digits and before.scale <= after.scale


def _sum(expr: Scalar, kind: ValueKind, variables: Variables) -> _Term | None:
    """`x + c`, `c + x`, `x - c`; for dates c counts days."""
    if isinstance(expr, exp.Add) and _addend(expr.left, kind) is not None:
        base, added = expr.right, _addend(expr.left, kind)
    else:
        base, added = expr.this, _addend(expr.expression, kind, expr.args.get("unit"))
    term = _term(base, kind, variables)
    if term is None or term.variable is None or added is None:
        return None
    less = isinstance(expr, (exp.Sub, exp.DateSub))
    return _Term(term.variable, term.offset + (-added if less else added))


def _addend(expr: Scalar, kind: ValueKind, unit: Scalar | None = None) -> Fraction | None:
    inner = expr.unnest()
    if isinstance(inner, exp.Interval):
        unit, inner = inner.args.get("unit"), inner.this
        if unit is None or kind is not ValueKind.DATE:
            return None
        inner = exp.Literal.number(inner.name) if inner.is_string and inner.name.isdigit() else inner
    if unit is not None and unit.name.upper() not in ("DAY", "DAYS"):
        return None
    number = exact_number(inner)
    return number if number is None or kind is not ValueKind.DATE or number.denominator == 1 else None


def _is_exact(first: _Term, second: _Term) -> bool:
    """Numbers must be compared without rounding; a sum needs a digit more."""
    domains = [t.variable.domain for t in (first, second) if t.variable and t.variable.domain]
    if not domains or domains[0].kind is not ValueKind.EXACT:
        return True
    return compare_exactly(*domains, *(domain_of_number(t.offset) for t in (first, second)))


def _edges(operator: Comparison, first: _Term, second: _Term) -> list[AtMost]:
    if operator is exp.EQ:
        return [*_edges(exp.LTE, first, second), *_edges(exp.GTE, first, second)]
    if operator in (exp.GT, exp.GTE):
        first, second = second, first
    strict = operator in (exp.LT, exp.GT)
    weight = second.offset - first.offset
    step = _step(first, second)
    if step is not None:
        weight, strict = _on_grid(weight, step, strict), False
    return [AtMost(first.node, second.node, weight, strict)]


def _step(first: _Term, second: _Term) -> Fraction | None:
    """The grid on which the difference of the two lies: the finer one."""
    domains = [t.variable.domain for t in (first, second) if t.variable and t.variable.domain]
    steps = [domain.step for domain in domains if domain.kind.is_discrete]
    return min(steps) if steps else None


def _on_grid(weight: Fraction, step: Fraction, strict: bool) -> Fraction:
    steps = weight / step
    below = steps.numerator // steps.denominator
    return (below - 1 if strict and below == steps else below) * step


def _without_trivial(edges: Iterable[AtMost]) -> Conjunction | None:
    """The edges between different nodes; None when one of the others is false."""
    kept = []
    for edge in edges:
        if edge.left != edge.right:
            kept.append(edge)
        elif edge.weight < 0 or (edge.weight == 0 and edge.strict):
            return None
    return frozenset(kept)


def null_rejected(expr: Scalar) -> Iterator[str]:
    """Columns whose NULL makes the whole expression NULL."""
    if isinstance(expr, exp.Column):
        yield expr.name
    elif isinstance(expr, _NULL_PRESERVING):
        for part in (expr.args.get("this"), expr.args.get("expression")):
            if isinstance(part, exp.Expression):
                yield from null_rejected(part)


def is_null(expr: Scalar) -> bool:
    """Whether the expression is NULL whatever its columns are."""
    if isinstance(expr, _NULL_PRESERVING) and not isinstance(expr, exp.Column):
        parts = (expr.args.get("this"), expr.args.get("expression"))
        return any(is_null(part) for part in parts if isinstance(part, exp.Expression))
    return isinstance(expr, exp.Null)
