"""A program as text again: what a warehouse keeps of it, and what messages quote."""

from __future__ import annotations

import re
from typing import assert_never

from viewkeeper.datalog.syntax import (
    AggregateTerm,
    Argument,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Program,
    Subgoal,
    Term,
    Variable,
)

_PLAIN = re.compile(r"[^\W\d]\w*")


def program_text(program: Program) -> str:
    """Text that parses to the same program."""
    return "".join(f"{rule_text(rule)}\n" for rule in program.rules)


def rule_text(rule: Clause) -> str:
    if not rule.body:
        return f"{_atom(rule.head)}."
    return f"{_atom(rule.head)} :- {', '.join(_subgoal(subgoal) for subgoal in rule.body)}."


def _subgoal(subgoal: Subgoal) -> str:
    match subgoal:
        case Atom():
            return _atom(subgoal)
        case Negation():
            return f"not {_atom(subgoal.atom)}"
        case Comparison():
            return f"{_term(subgoal.left)} {subgoal.operator} {_term(subgoal.right)}"
        case GroupBy():
            parts = [_atom(subgoal.atom), f"[{', '.join(key.name for key in subgoal.keys)}]"]
            return f"groupby({', '.join([*parts, *map(_aggregate, subgoal.aggregates)])})"
        case _:
            assert_never(subgoal)


def _aggregate(item: AggregateTerm) -> str:
    argument = "" if item.argument is None else _term(item.argument)
    return f"{item.target.name} = {item.function}({argument})"


def _atom(atom: Atom) -> str:
    return f"{_name(atom.predicate)}({', '.join(_argument(argument) for argument in atom.arguments)})"


def _argument(argument: Argument) -> str:
    term = _term(argument.term)
    return term if argument.name is None else f"{_name(argument.name)}: {term}"


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _term(term: Term) -> str:
    match term:
        case Variable():
            return term.name
        case Constant(value=bool()):
            return "true" if term.value else "false"
        case Constant():
            return str(term.value) if term.is_number else "'" + str(term.value).replace("'", "''") + "'"
        case Arithmetic():
            return f"({_term(term.left)} {term.operator} {_term(term.right)})"
        case _:
            assert_never(term)
