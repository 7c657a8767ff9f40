"""Types of variables and of derived columns, found by unification; a clash is an error with both places.

A variable has one type wherever it stands; so has a column of a derived predicate in all its rules.
Types are families (all numbers are one), because Spark itself settles the rest; the widest Spark
type that was seen is kept for the columns of derived predicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.datalog.check import Signature
from viewkeeper.datalog.syntax import (
    AggregateTerm,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Constant,
    GroupBy,
    Negation,
    Position,
    Program,
    Term,
    Variable,
    fault,
)

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_ALIASES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float"}

Place = tuple[str, ...]
"""What has a type: a variable of a rule, or a column of a predicate."""


@dataclass(frozen=True)
class Typed:
    """A family of types, a Spark type of it, and what shows it."""

    family: str
    type: str
    witness: str


def family(type_text: str) -> str:
    """`number` for all numeric types, `string` for all strings; other types are their own family."""
    word = type_text.lower().split("(")[0].strip()
    word = _ALIASES.get(word, word)
    if word in _NUMBERS or word == "numeric":
        return "number"
    if word in ("string", "varchar", "char"):
        return "string"
    return "timestamp" if word.startswith("timestamp") else type_text.lower()


class VariableTypes:
    """Union-find over places; each class knows its type once something shows it."""

    def __init__(self, known: Mapping[str, Signature]) -> None:
        self.known = known
        self.parent: dict[Place, Place] = {}
        self.typed: dict[Place, Typed] = {}

    def column_type(self, predicate: str, number: int) -> str:
        """The Spark type of a column of a derived predicate; `string` where nothing shows it."""
        found = self.typed.get(self._root((predicate, str(number))))
        return found.type if found else "string"

    def show(self, place: Place, shown: Typed, at: Position) -> None:
        root = self._root(place)
        self.typed[root] = _agreed(self.typed.get(root), shown, place, at)

    def unify(self, one: Place, other: Place, at: Position) -> None:
        a, b = self._root(one), self._root(other)
        if a == b:
            return
        mine, theirs = self.typed.pop(a, None), self.typed.get(b)
        self.parent[a] = b
        if mine is not None:
            self.typed[b] = mine if theirs is None else _agreed(mine, theirs, one, at)

    def of(self, place: Place) -> Typed | None:
        return self.typed.get(self._root(place))

    def _root(self, place: Place) -> Place:
        while (above := self.parent.get(place, place)) != place:
            place = above
        return place


def infer(program: Program, known: Mapping[str, Signature]) -> VariableTypes:
    types = VariableTypes(known)
    for name, signature in known.items():
        if signature.table is not None:
            for number, column in enumerate(signature.table.visible):
                witness = f"{column.type} in the column {name}.{column.name}"
                types.show((name, str(number)), Typed(family(column.type), column.type, witness), _NOWHERE)
    for number, rule in enumerate(program.rules):
        _infer_rule(types, rule, f"rule {number}")
    return types


_NOWHERE = Position(1, 1)


def _infer_rule(types: VariableTypes, rule: Clause, scope: str) -> None:
    for place, subgoal in enumerate(rule.body):
        match subgoal:
            case Atom():
                _infer_atom(types, subgoal, scope)
            case Negation():
                _infer_atom(types, subgoal.atom, scope)
            case GroupBy():
                _infer_groupby(types, subgoal, scope, f"{scope}, groupby {place}")
            case Comparison():
                _same(types, subgoal.left, subgoal.right, scope, subgoal.at)
    _infer_atom(types, rule.head, scope)


def _infer_atom(types: VariableTypes, atom: Atom, scope: str) -> None:
    signature = types.known[atom.predicate]
    for number, argument in enumerate(atom.arguments):
        position = number if argument.name is None else signature.position(argument.name)
        _meet(types, argument.term, (atom.predicate, str(position)), scope)


def _infer_groupby(types: VariableTypes, subgoal: GroupBy, scope: str, inner: str) -> None:
    _infer_atom(types, subgoal.atom, inner)
    for key in subgoal.keys:
        types.unify((inner, key.name), (scope, key.name), key.at)
    for item in subgoal.aggregates:
        shown = _aggregated(types, item, inner)
        if shown is not None:
            types.show((scope, item.target.name), shown, item.at)
        elif isinstance(item.argument, Variable):
            types.unify((inner, item.argument.name), (scope, item.target.name), item.at)


def _aggregated(types: VariableTypes, item: AggregateTerm, inner: str) -> Typed | None:
    given = None if item.argument is None else _type_of(types, item.argument, inner)
    witness = f"the result of {item.function}"
    if item.function == "count":
        return Typed("number", "bigint", witness)
    if item.function in ("min", "max"):
        return given
    if given is not None and given.family != "number":
        raise fault(item.at, f"type clash: {item.function} of what is {given.witness}.")
    word = (given.type if given else "bigint").split("(")[0].lower()
    if item.function == "avg":
        return Typed("number", "double" if word != "decimal" else "decimal(38,10)", witness)
    wide = {"decimal": "decimal(38,10)", "float": "double", "double": "double"}.get(word, "bigint")
    return Typed("number", wide, witness)


def _meet(types: VariableTypes, term: Term, place: Place, scope: str) -> None:
    if isinstance(term, Variable):
        if not term.is_anonymous:
            types.unify((scope, term.name), place, term.at)
        return
    shown = _type_of(types, term, scope)
    if shown is not None and not _fits(shown, types.of(place), term):
        types.show(place, shown, term.at)


def _same(types: VariableTypes, left: Term, right: Term, scope: str, at: Position) -> None:
    if isinstance(left, Variable) and isinstance(right, Variable):
        types.unify((scope, left.name), (scope, right.name), at)
    elif isinstance(left, Variable):
        _meet(types, right, (scope, left.name), scope)
    elif isinstance(right, Variable):
        _meet(types, left, (scope, right.name), scope)
    else:
        one, other = _type_of(types, left, scope), _type_of(types, right, scope)
        if one is not None:
            _agreed(other, one, ("", "the comparison"), at)


def _fits(shown: Typed, wanted: Typed | None, term: Term) -> bool:
    """A string constant may stand for a date or a timestamp, as in SQL."""
    is_text = isinstance(term, Constant) and shown.family == "string"
    return wanted is not None and is_text and wanted.family in ("date", "timestamp")


def _type_of(types: VariableTypes, term: Term, scope: str) -> Typed | None:
    match term:
        case Variable():
            return types.of((scope, term.name))
        case Constant(value=bool()):
            return Typed("boolean", "boolean", "a truth value")
        case Constant(is_number=True):
            return Typed("number", _number_type(str(term.value)), f"the number {term.value}")
        case Constant():
            return Typed("string", "string", f"the string '{term.value}'")
        case Arithmetic():
            return _arithmetic(types, term, scope)


def _arithmetic(types: VariableTypes, term: Arithmetic, scope: str) -> Typed:
    found = [_type_of(types, side, scope) for side in (term.left, term.right)]
    for side in found:
        if side is not None and side.family in ("string", "boolean"):
            raise fault(term.at, f"type clash: “{term.operator}” with what is {side.witness}.")
    dates = [side for side in found if side is not None and side.family != "number"]
    if dates:
        return dates[0]
    types_seen = [side.type for side in found if side is not None] or ["bigint"]
    widest = "double" if term.operator == "/" else max(types_seen, key=_width)
    return Typed("number", widest, f"the result of “{term.operator}”")


def _agreed(mine: Typed | None, other: Typed, place: Place, at: Position) -> Typed:
    if mine is None:
        return other
    if mine.family != other.family:
        subject = place[1] if not place[1].isdigit() else f"column {int(place[1]) + 1} of {place[0]}"
        raise fault(at, f"type clash: {subject} is {mine.witness}, and {other.witness}.")
    return other if mine.family == "number" and _width(other.type) > _width(mine.type) else mine


def _width(type_text: str) -> int:
    word = type_text.lower().split("(")[0]
    word = _ALIASES.get(word, word)
    return _NUMBERS.index(word) if word in _NUMBERS else 0


def _number_type(text: str) -> str:
    if "e" in text.lower():
        return "double"
    if "." in text:
        whole, part = text.lstrip("-").split(".")
        return f"decimal({len(whole.lstrip('0')) + len(part)},{len(part)})"
    return "int" if abs(int(text)) < 2**31 else "bigint"
