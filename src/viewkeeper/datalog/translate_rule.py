"""One Datalog rule as a rule of the algebra: its positive subgoals are inputs, its negations tests.

p(X, Z + 1) :- q(X, Y), r(Y, Z), not s(X), Z > 3.

inputs      q(s1_x, s1_y), r(s2_y, s2_z)        columns carry the number of their subgoal
tests       ▷ s(s3_x) on s1_x = s3_x
conditions  s1_y = s2_y, s2_z > 3
outputs     s1_x, s2_z + 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.algebra.build import filtered, renamed, restricted_to
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    equal,
    function,
    literal,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    JoinKind,
    Reference,
    Relation,
    Scan,
    Values,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.datalog import syntax as dl
from viewkeeper.datalog.check import Signature, assigned
from viewkeeper.datalog.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Term,
    Variable,
)
from viewkeeper.datalog.types import VariableTypes
from viewkeeper.maintenance.recursion.rules import Rule, Test

_OPERATORS: dict[str, type[exp.Binary]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "mod": exp.Mod,
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


@dataclass(frozen=True)
class Translation:
    """What is known of the predicates; those in `recursive` are referred to, others are scanned."""

    known: Mapping[str, Signature]
    types: VariableTypes
    recursive: frozenset[str]


def translate_rule(rule: dl.Clause, translation: Translation) -> Rule:
    return _RuleBody(translation).rule(rule)


def facts(rules: Sequence[dl.Clause], columns: tuple[str, ...]) -> tuple[Relation, ...]:
    """All facts of a predicate as one relation of literal rows."""
    rows = tuple(tuple(scalar(term, {}) for term in rule.head.terms) for rule in rules)
    return (Values(columns, rows),) if rows else ()


def scalar(term: Term, values: Mapping[str, Scalar]) -> Scalar:
    """A term as an expression, given the expressions of its variables."""
    match term:
        case Variable():
            return values[term.name].copy()
        case Constant(value=bool()):
            return literal(bool(term.value))
        case Constant(is_number=True):
            text = str(term.value)
            number = exp.Literal.number(text.lstrip("-"))
            return exp.Neg(this=number) if text.startswith("-") else number
        case Constant():
            return literal(str(term.value))
        case Arithmetic():
            return _binary(term.operator, scalar(term.left, values), scalar(term.right, values))


def _binary(operator: str, left: Scalar, right: Scalar) -> Scalar:
    sides = [exp.paren(side, copy=False) if isinstance(side, exp.Binary) else side for side in (left, right)]
    return _OPERATORS[operator](this=sides[0], expression=sides[1])


@dataclass
class _RuleBody:
    """A body under translation: what is joined so far, and what each variable is."""

    translation: Translation
    inputs: list[Relation] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    conditions: list[Scalar] = field(default_factory=list)
    values: dict[str, Scalar] = field(default_factory=dict)

    def rule(self, rule: dl.Clause) -> Rule:
        numbered = list(enumerate(rule.body, start=1))
        for number, subgoal in numbered:
            if isinstance(subgoal, Atom):
                self._positive(subgoal, number)
            elif isinstance(subgoal, GroupBy):
                self._grouped(subgoal, number)
        self._compare([subgoal for subgoal in rule.body if isinstance(subgoal, Comparison)])
        self._computed_arguments(numbered)
        for number, subgoal in numbered:
            if isinstance(subgoal, Negation):
                self._negative(subgoal.atom, number)
        columns = self.translation.known[rule.head.predicate].columns
        outputs = (Named(name, scalar(term, self.values)) for name, term in zip(columns, rule.head.terms))
        return Rule(tuple(self.inputs), tuple(self.tests), tuple(self.conditions), tuple(outputs))

    def _positive(self, atom: Atom, number: int) -> None:
        relation, arguments = self._source(atom, number)
        self.inputs.append(relation)
        self._bind(arguments)

    def _bind(self, arguments: Mapping[str, Term]) -> None:
        for name, term in arguments.items():
            if isinstance(term, Variable) and term.name not in self.values:
                self.values[term.name] = column(name)
            elif not isinstance(term, Arithmetic):
                self.conditions.append(equal(scalar(term, self.values), column(name)))

    def _computed_arguments(self, numbered: list[tuple[int, dl.Subgoal]]) -> None:
        """Arguments such as p(X + 1), whose variables are bound elsewhere."""
        for number, subgoal in numbered:
            if isinstance(subgoal, Atom):
                for name, term in self._source(subgoal, number)[1].items():
                    if isinstance(term, Arithmetic):
                        self.conditions.append(equal(exp.paren(scalar(term, self.values)), column(name)))

    def _negative(self, atom: Atom, number: int) -> None:
        relation, arguments = self._source(atom, number)
        matches = [
            equal(_closed(scalar(term, self.values)), column(name)) for name, term in arguments.items()
        ]
        self.tests.append(Test(JoinKind.ANTI, relation, conjunction(matches)))

    def _compare(self, comparisons: list[Comparison]) -> None:
        """Equations that give a variable its value first, in whatever order they were written."""
        waiting = list(comparisons)
        while waiting:
            ready = [c for c in waiting if c.operator == "=" and assigned(c, set(self.values)) is not None]
            if not ready:
                break
            equation = ready[0]
            target = assigned(equation, set(self.values))
            assert target is not None
            value = equation.right if equation.left == target else equation.left
            self.values[target.name] = _closed(scalar(value, self.values))
            waiting.remove(equation)
        for c in waiting:
            self.conditions.append(
                _binary(c.operator, scalar(c.left, self.values), scalar(c.right, self.values))
            )

    def _grouped(self, subgoal: GroupBy, number: int) -> None:
        inner = _RuleBody(self.translation)
        inner._positive(subgoal.atom, number)
        source = filtered(inner.inputs[0], conjunction(inner.conditions))
        by = list(dict.fromkeys(subgoal.keys))
        keys = _numbered(f"s{number}_key", [inner.values[key.name] for key in by])
        results = _numbered(f"s{number}_result", [_call(item, inner.values) for item in subgoal.aggregates])
        self.inputs.append(_groups(source, keys, results))
        targets = [*by, *(item.target for item in subgoal.aggregates)]
        self._bind({named.name: target for named, target in zip((*keys, *results), targets, strict=True)})

    def _source(self, atom: Atom, number: int) -> tuple[Relation, dict[str, Term]]:
        """The relation of an atom, and the terms of those of its columns that matter."""
        signature = self.translation.known[atom.predicate]
        terms: dict[int, Term] = {}
        for place, argument in enumerate(atom.arguments):
            position = place if argument.name is None else signature.position(argument.name)
            if argument.term != Variable("_") and position is not None:
                terms[position] = argument.term
        used = sorted(terms) or [0]
        names = {signature.columns[place]: f"s{number}_{signature.columns[place]}" for place in used}
        arguments = {names[signature.columns[place]]: term for place, term in sorted(terms.items())}
        return self._relation(signature, names), arguments

    def _relation(self, signature: Signature, names: Mapping[str, str]) -> Relation:
        if signature.name in self.translation.recursive:
            whole = Reference(signature.name, signature.columns)
            return renamed(restricted_to(whole, names), names)
        if signature.table is not None:
            source = {column.name: column for column in signature.table.visible}
            return Scan(signature.table.name, tuple(Bound(new, source[old]) for old, new in names.items()))
        types = {
            name: Column(name, self.translation.types.column_type(signature.name, place))
            for place, name in enumerate(signature.columns)
        }
        return Scan(signature.name, tuple(Bound(new, types[old]) for old, new in names.items()))


def _numbered(stem: str, values: list[Scalar]) -> tuple[Named, ...]:
    return tuple(Named(f"{stem}{place}", value) for place, value in enumerate(values, start=1))


def _closed(expr: Scalar) -> Scalar:
    return exp.paren(expr, copy=False) if isinstance(expr, exp.Binary) else expr


def _call(item: dl.AggregateTerm, values: Mapping[str, Scalar]) -> Scalar:
    return function(item.function, exp.Star() if item.argument is None else scalar(item.argument, values))


def _groups(source: Relation, keys: tuple[Named, ...], results: tuple[Named, ...]) -> Relation:
    """One row per group, and none where there is nothing to group, also without keys."""
    if keys:
        return Aggregate(source, keys, results)
    rows = Named("s_rows", function("count", exp.Star()))
    whole = Aggregate(source, (), (*results, rows))
    some = exp.GT(this=column("s_rows"), expression=literal(0))
    return restricted_to(filtered(whole, some), [item.name for item in results])
