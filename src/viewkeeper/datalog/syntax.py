"""The parts of a Datalog program, as frozen data. Where a part stands in the text is no part of its value.

hop(S, D, C1 + C2) :- link(S, I, C1), link(I, D, C2).
min_cost_hop(S, D, M) :- groupby(hop(S, D, C), [S, D], M = min(C)).
only_tri_hop(X, Y) :- tri_hop(X, Y), not hop(X, Y).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from viewkeeper.errors import InvalidDatalog


@dataclass(frozen=True)
class Position:
    """A place in a text, which it carries along, so that rules of several texts can be put together."""

    line: int
    column: int
    text: str = field(default="", repr=False)


START = Position(1, 1)


@dataclass(frozen=True)
class Variable:
    name: str
    at: Position = field(default=START, compare=False)

    @property
    def is_anonymous(self) -> bool:
        return self.name == "_"


@dataclass(frozen=True)
class Constant:
    """A number, string or truth value; a number keeps the text in which it was written."""

    value: str | bool
    is_number: bool = False
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class Arithmetic:
    operator: str
    left: Term
    right: Term
    at: Position = field(default=START, compare=False)


Term: TypeAlias = Variable | Constant | Arithmetic


@dataclass(frozen=True)
class Argument:
    """An argument of an atom, by position, or by the name of the column."""

    term: Term
    name: str | None = None
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class Atom:
    predicate: str
    arguments: tuple[Argument, ...]
    at: Position = field(default=START, compare=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(argument.term for argument in self.arguments)


@dataclass(frozen=True)
class Negation:
    atom: Atom
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class Comparison:
    operator: str
    left: Term
    right: Term
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class AggregateTerm:
    """`target = function(argument)`; count needs no argument."""

    target: Variable
    function: str
    argument: Term | None
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class GroupBy:
    """`groupby(atom, [keys], aggregates)`: one row per group; other variables of the atom are local."""

    atom: Atom
    keys: tuple[Variable, ...]
    aggregates: tuple[AggregateTerm, ...]
    at: Position = field(default=START, compare=False)


Subgoal: TypeAlias = Atom | Negation | Comparison | GroupBy


@dataclass(frozen=True)
class Clause:
    """`head :- body.`; a fact has no body."""

    head: Atom
    body: tuple[Subgoal, ...] = ()
    at: Position = field(default=START, compare=False)


@dataclass(frozen=True)
class Program:
    rules: tuple[Clause, ...]

    @property
    def predicates(self) -> tuple[str, ...]:
        """The derived predicates, in the order of their first rules."""
        return tuple(dict.fromkeys(rule.head.predicate for rule in self.rules))

    def rules_of(self, predicate: str) -> tuple[Clause, ...]:
        return tuple(rule for rule in self.rules if rule.head.predicate == predicate)


def subgoal_atoms(rule: Clause) -> Iterator[tuple[Atom, bool]]:
    """The atoms of a body, and whether each must be complete before the rule can use it."""
    for subgoal in rule.body:
        if isinstance(subgoal, Atom):
            yield subgoal, False
        elif isinstance(subgoal, (Negation, GroupBy)):
            yield subgoal.atom, True


def variables(term: Term | None) -> Iterator[Variable]:
    """The variables of a term, anonymous ones left out."""
    if isinstance(term, Variable) and not term.is_anonymous:
        yield term
    elif isinstance(term, Arithmetic):
        yield from variables(term.left)
        yield from variables(term.right)


def fault(at: Position, what: str, hint: str = "") -> InvalidDatalog:
    """The error for a place in a program, with the line and a caret below it."""
    return InvalidDatalog(f"Line {at.line}, column {at.column}: {what}", excerpt(at), hint)


def excerpt(at: Position) -> str:
    lines = at.text.splitlines() or [""]
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    indent = "".join("\t" if letter == "\t" else " " for letter in line[: at.column - 1])
    return f"  {line}\n  {indent}^"
