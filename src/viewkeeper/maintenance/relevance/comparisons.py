"""The tests of a tuple as SQL: comparisons that neither overflow nor round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar, column, or_
from viewkeeper.maintenance.relevance.domains import (
    LONGEST,
    ConstantNode,
    Domain,
    ValueKind,
    day_literal,
    domain_of_number,
    number_literal,
)
from viewkeeper.maintenance.relevance.formulae import (
    AtMost,
    Comparison,
    Evaluable,
    IsNull,
    NotNull,
    Variables,
)
from viewkeeper.maintenance.relevance.split import Split

_FLIPPED: dict[Comparison, Comparison] = {exp.LTE: exp.GTE, exp.LT: exp.GT, exp.EQ: exp.EQ}
_NARROW = 10
"""Digits of an INT: sums of such, and of numbers as short, are BIGINTs."""


def tests_of(found: Split, variables: Variables) -> list[Scalar] | None:
    """The conditions that a relevant tuple fulfils, all of them; None when there is no such tuple."""
    if not found.is_satisfiable:
        return None
    compared = list(_compared(found.tests, variables))
    mentioned = {name.name for test in compared for name in test.find_all(exp.Column)}
    others = list(_others(found, variables, mentioned))
    return list(dict.fromkeys([*compared, *others]))


def _others(found: Split, variables: Variables, mentioned: set[str]) -> Iterator[Scalar]:
    for formula in found.evaluable:
        match formula:
            case Evaluable():
                yield formula.condition
            case IsNull():
                yield exp.Is(this=column(formula.variable), expression=exp.null())
            case NotNull() if formula.variable not in mentioned and variables[formula.variable].nullable:
                yield exp.Not(this=exp.Is(this=column(formula.variable), expression=exp.null()))
            case _:
                pass


def _compared(tests: Iterable[AtMost], variables: Variables) -> Iterator[Scalar]:
    """Each test; two that say `<=` and `>=` of the same as one equality."""
    tests = sorted(tests, key=str)
    for test in tests:
        back = AtMost(test.right, test.left, -test.weight)
        is_equality = not test.strict and back in tests
        if is_equality and tests.index(back) < tests.index(test):
            continue
        written = _written(test, exp.EQ if is_equality else exp.LTE, variables)
        if written is not None:
            yield written


def _written(test: AtMost, operator: Comparison, variables: Variables) -> Scalar | None:
    operator = exp.LT if test.strict else operator
    if isinstance(test.left, ConstantNode):
        return _beside(test.right, _FLIPPED[operator], _value(test.left, -test.weight))
    if isinstance(test.right, ConstantNode):
        return _beside(test.left, operator, _value(test.right, test.weight))
    return _between(test.left, operator, test.right, test.weight, variables)


def _beside(name: object, operator: Comparison, value: Scalar | None) -> Scalar | None:
    return None if value is None else operator(this=column(str(name)), expression=value)


def _value(node: ConstantNode, weight: Fraction) -> Scalar | None:
    match node.kind:
        case ValueKind.EXACT:
            return number_literal(weight)
        case ValueKind.DATE:
            return day_literal(weight)
        case _:
            return None if node.literal is None else node.literal.copy()


def _between(
    left: str, operator: Comparison, right: str, weight: Fraction, variables: Variables
) -> Scalar | None:
    """`left op right + weight`."""
    first, second = variables[left].domain, variables[right].domain
    if not weight:
        return operator(this=column(left), expression=column(right))
    if first is None or second is None:
        return None
    if first.kind is ValueKind.DATE:
        days = exp.DateDiff(this=column(left), expression=column(right))
        return operator(this=days, expression=number_literal(weight))
    wide = _wide_enough(first, second, domain_of_number(weight))
    if wide is None:
        return None
    sum_of = exp.Add if weight > 0 else exp.Sub
    moved = sum_of(this=exp.cast(column(right), wide), expression=number_literal(abs(weight)))
    return operator(this=exp.cast(column(left), wide), expression=moved)


def _wide_enough(*domains: Domain) -> exp.DataType | None:
    """A type in which the sum is exact; None when SQL has none."""
    digits, scale = max(d.digits for d in domains), max(d.scale for d in domains)
    if scale == 0 and digits <= _NARROW:
        return exp.DataType.build("bigint")
    return exp.DataType.build(f"decimal({digits + scale},{scale})") if digits + scale < LONGEST else None


def any_of(alternatives: Iterable[list[Scalar] | None]) -> Scalar:
    """The disjunction of conjunctions, what all have in common written once."""
    possible = [tests for tests in alternatives if tests is not None]
    if not possible:
        return exp.false()
    common = [test for test in possible[0] if all(test in tests for tests in possible)]
    rest = [[test for test in tests if test not in common] for tests in possible]
    if not all(rest) or _covers_null(rest):
        return _all(common)
    parts = list(dict.fromkeys(_all(tests) for tests in rest))
    return _all([*common, or_(*parts) if len(parts) > 1 else parts[0]])


def _covers_null(alternatives: list[list[Scalar]]) -> bool:
    """Whether one alternative is `a IS NULL` and another its opposite."""
    single = [tests[0] for tests in alternatives if len(tests) == 1]
    return any(exp.Not(this=test) in single for test in single)


def _all(tests: list[Scalar]) -> Scalar:
    return exp.and_(*tests, copy=True) if tests else exp.true()
