"""A Datalog rule as the SQL text that says the same, one SELECT per rule: what views are verified by.

p(X, Z + 1) :- q(X, Y), r(Y, Z), not s(X), Z > 3.

SELECT s1.`x`, (s2.`z` + 1) FROM `q` AS s1, `r` AS s2
WHERE s1.`y` = s2.`y` AND s2.`z` > 3 AND NOT EXISTS (SELECT 1 FROM `s` AS n WHERE n.`x` = s1.`x`)

It reads the parsed rules and nothing else: an error of their translation to algebra is none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viewkeeper.datalog.syntax import (
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Term,
    Variable,
    variables,
)

Columns = Mapping[str, Sequence[str]]
"""The columns of every predicate, by its name in lower case."""


def rules_query(rules: Sequence[Clause], columns: Columns) -> str:
    """All rules of one predicate: the set of what they derive."""
    return " UNION ".join(_select(rule, columns) for rule in rules)


def _select(rule: Clause, columns: Columns) -> str:
    body = _SqlBody(columns)
    for number, subgoal in enumerate(rule.body, start=1):
        match subgoal:
            case Atom():
                body.join(_name(subgoal.predicate), f"s{number}", body.arguments(subgoal))
            case GroupBy():
                body.group(subgoal, f"s{number}")
    body.compare([subgoal for subgoal in rule.body if isinstance(subgoal, Comparison)])
    for subgoal in rule.body:
        if isinstance(subgoal, Negation):
            body.negate(subgoal.atom)
    names = columns[rule.head.predicate.lower()]
    heads = zip(rule.head.terms, names, strict=True)
    shown = ", ".join(f"{body.text(term)} AS {_name(name)}" for term, name in heads)
    return f"SELECT DISTINCT {shown}{body.clauses()}"


@dataclass
class _SqlBody:
    """What is joined so far, what must hold, and what each variable is."""

    columns: Columns
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: list[tuple[str, Term]] = field(default_factory=list)

    def join(self, source: str, alias: str, arguments: Mapping[str, Term]) -> None:
        """Another source; variables that are new get their values from it, others must be equal."""
        self.sources.append(f"{source} AS {alias}")
        for name, term in arguments.items():
            place = f"{alias}.{_name(name)}"
            if isinstance(term, Variable) and term.name not in self.values:
                self.values[term.name] = place
            else:
                self.waiting.append((place, term))

    def arguments(self, atom: Atom) -> dict[str, Term]:
        """The terms of an atom by the columns that they stand for; `_` stands for anything."""
        names = list(self.columns[atom.predicate.lower()])
        spelled = {name.lower(): name for name in names}
        return {
            names[place] if given.name is None else spelled[given.name.lower()]: given.term
            for place, given in enumerate(atom.arguments)
            if not (isinstance(given.term, Variable) and given.term.is_anonymous)
        }

    def group(self, subgoal: GroupBy, alias: str) -> None:
        inner = _SqlBody(self.columns)
        inner.join(_name(subgoal.atom.predicate), "g", inner.arguments(subgoal.atom))
        keys = [key.name for key in dict.fromkeys(subgoal.keys)]
        shown = [f"{inner.values[key]} AS k{place}" for place, key in enumerate(keys)]
        shown += [
            f"{item.function}({'*' if item.argument is None else inner.text(item.argument)}) AS a{place}"
            for place, item in enumerate(subgoal.aggregates)
        ]
        grouped = f" GROUP BY {', '.join(inner.values[key] for key in keys)}" if keys else ""
        clauses = f"{inner.clauses()}{grouped} HAVING count(*) > 0"
        targets: dict[str, Term] = {f"k{place}": Variable(key) for place, key in enumerate(keys)}
        targets |= {f"a{place}": item.target for place, item in enumerate(subgoal.aggregates)}
        self.join(f"(SELECT {', '.join(shown)}{clauses})", alias, targets)

    def compare(self, comparisons: list[Comparison]) -> None:
        """Equations give variables their values as soon as their other side is known; the rest are tests."""
        left = list(comparisons)
        while (found := next((c for c in left if self._assigns(c)), None)) is not None:
            left.remove(found)
            sides = (found.left, found.right)
            target, value = sides if self._is_new(found.left) else sides[::-1]
            assert isinstance(target, Variable)
            self.values[target.name] = f"({self.text(value)})"
        self.conditions += [f"{self.text(c.left)} {c.operator} {self.text(c.right)}" for c in left]

    def _assigns(self, one: Comparison) -> bool:
        sides = ((one.left, one.right), (one.right, one.left))
        return one.operator == "=" and any(self._is_new(a) and self._is_known(b) for a, b in sides)

    def _is_new(self, term: Term) -> bool:
        return isinstance(term, Variable) and term.name not in self.values

    def _is_known(self, term: Term) -> bool:
        return all(variable.name in self.values for variable in variables(term))

    def negate(self, atom: Atom) -> None:
        matches = [f"n.{_name(name)} = {self.text(term)}" for name, term in self.arguments(atom).items()]
        where = f" WHERE {' AND '.join(matches)}" if matches else ""
        self.conditions.append(f"NOT EXISTS (SELECT 1 FROM {_name(atom.predicate)} AS n{where})")

    def clauses(self) -> str:
        """FROM and WHERE; equalities come last, when all variables are known."""
        tests = [f"{place} = {self.text(term)}" for place, term in self.waiting]
        given = f" FROM {', '.join(self.sources)}" if self.sources else ""
        return given + (f" WHERE {' AND '.join((*tests, *self.conditions))}" * bool(tests + self.conditions))

    def text(self, term: Term) -> str:
        match term:
            case Variable():
                return self.values[term.name]
            case Constant(value=bool()):
                return str(term.value).lower()
            case Constant(is_number=True):
                return f"({term.value})" if str(term.value).startswith("-") else str(term.value)
            case Constant():
                quoted = str(term.value).replace("\\", "\\\\").replace("'", "\\'")
                return f"'{quoted}'"
            case Arithmetic():
                operator = "%" if term.operator == "mod" else term.operator
                return f"({self.text(term.left)} {operator} {self.text(term.right)})"


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
