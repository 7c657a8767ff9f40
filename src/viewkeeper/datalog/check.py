"""What a program must obey before it means anything; each error points at the place.

Known predicates with as many arguments as they have columns; safe rules (every variable is bound by
a positive subgoal); stratified negation and aggregation (gupta93 sections 3 and 6.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from viewkeeper.algebra.build import fresh
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.datalog.syntax import (
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    GroupBy,
    Negation,
    Program,
    Term,
    Variable,
    fault,
    subgoal_atoms,
    variables,
)
from viewkeeper.errors import InvalidDatalog, NotFound, UnknownTable
from viewkeeper.maintenance.recursion.strata import path, strongly_connected
from viewkeeper.sql.known_relations import KnownRelations, did_you_mean


@dataclass(frozen=True)
class Signature:
    """A predicate's columns; `table` is the stored relation that it is, unless it is derived."""

    name: str
    columns: tuple[str, ...]
    table: TableSchema | None = None

    def position(self, name: str) -> int | None:
        low = [column.lower() for column in self.columns]
        return low.index(name.lower()) if name.lower() in low else None


def signatures(
    program: Program, catalog: KnownRelations, columns: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, Signature]:
    """Every predicate that the program mentions. `columns` fixes the names of some derived ones."""
    known: dict[str, Signature] = {}
    for rule in program.rules:
        name = rule.head.predicate
        if name not in known:
            fixed = (columns or {}).get(name, ())
            fits = len(fixed) == len(rule.head.arguments)
            known[name] = Signature(name, fixed if fits else head_columns(rule))
    for rule in program.rules:
        for atom, _ in subgoal_atoms(rule):
            if atom.predicate not in known:
                known[atom.predicate] = _stored(atom, catalog, program)
    return known


def head_columns(rule: Clause) -> tuple[str, ...]:
    """Column names of a derived predicate: its first head's variables in lower case, made unique."""
    names: list[str] = []
    for number, term in enumerate(rule.head.terms, start=1):
        wish = term.name.lower().strip("_") if isinstance(term, Variable) else ""
        names.append(fresh(wish or f"c{number}", names))
    return tuple(names)


def _stored(atom: Atom, catalog: KnownRelations, program: Program) -> Signature:
    try:
        schema = catalog.schema(atom.predicate)
    except (UnknownTable, NotFound, KeyError) as unknown:
        hint = getattr(unknown, "hint", "")
        close = did_you_mean(atom.predicate, program.predicates)
        best = close if close.startswith("Did") else hint or close
        raise fault(atom.at, f"there is no predicate, table or view {atom.predicate}.", best) from None
    return Signature(atom.predicate, tuple(column.name for column in schema.visible), schema)


def check(program: Program, known: Mapping[str, Signature]) -> None:
    """Raises InvalidDatalog for the first thing that is wrong."""
    for rule in program.rules:
        for argument in rule.head.arguments:
            if argument.name is not None:
                raise fault(argument.at, "a head has its arguments by position.")
        _check_arity(rule.head, known)
        for atom, _ in subgoal_atoms(rule):
            _check_arity(atom, known)
        _check_local_variables(rule)
        _check_safety(rule)
    _check_strata(program)


def _check_arity(atom: Atom, known: Mapping[str, Signature]) -> None:
    signature = known[atom.predicate]
    named = [argument for argument in atom.arguments if argument.name is not None]
    if named and len(named) < len(atom.arguments):
        raise fault(atom.at, f"{atom.predicate} mixes arguments by position and by name.")
    seen: set[int] = set()
    for argument in named:
        position = signature.position(argument.name or "")
        if position is None:
            hint = f"Its columns are {', '.join(signature.columns)}."
            raise fault(argument.at, f"{atom.predicate} has no column {argument.name}.", hint)
        if position in seen:
            raise fault(argument.at, f"the column {argument.name} is given twice.")
        seen.add(position)
    if not named and len(atom.arguments) != len(signature.columns):
        given, wanted = len(atom.arguments), len(signature.columns)
        what = f"{atom.predicate} has {wanted} argument{'s' * (wanted != 1)}, here it is given {given}."
        raise fault(atom.at, what, f"Its columns are {', '.join(signature.columns)}.")


def _check_local_variables(rule: Clause) -> None:
    """Variables of a grouped atom that are not grouped by mean nothing outside of it."""
    for place, subgoal in enumerate(rule.body):
        if not isinstance(subgoal, GroupBy):
            continue
        for term in subgoal.atom.terms:
            if isinstance(term, Arithmetic):
                raise fault(term.at, "arguments of a grouped predicate are variables or constants.")
        inner = {v.name for term in subgoal.atom.terms for v in variables(term)}
        local = inner - {key.name for key in subgoal.keys}
        for key in subgoal.keys:
            if key.name not in inner:
                raise fault(key.at, f"{key.name} does not occur in the grouped predicate.")
        for item in subgoal.aggregates:
            for variable in variables(item.argument):
                if variable.name not in inner:
                    raise fault(variable.at, f"{variable.name} does not occur in the grouped predicate.")
            if item.target.name in inner:
                raise fault(item.at, f"{item.target.name} is a variable of the grouped predicate already.")
        others = [v for other in (*rule.body[:place], *rule.body[place + 1 :]) for v in _mentioned(other)]
        for variable in (*others, *(v for term in rule.head.terms for v in variables(term))):
            if variable.name in local:
                hint = f"Group by it, or use another name than {variable.name}."
                raise fault(variable.at, f"{variable.name} exists only inside groupby.", hint)


def _mentioned(subgoal: Atom | Negation | Comparison | GroupBy) -> Iterator[Variable]:
    match subgoal:
        case Atom():
            terms: tuple[Term, ...] = subgoal.terms
        case Negation():
            terms = subgoal.atom.terms
        case Comparison():
            terms = (subgoal.left, subgoal.right)
        case GroupBy():
            terms = (*subgoal.keys, *(item.target for item in subgoal.aggregates))
    return (variable for term in terms for variable in variables(term))


def bound_variables(rule: Clause) -> set[str]:
    """The variables that positive subgoals bind, directly or by equations with bound sides."""
    bound: set[str] = set()
    for subgoal in rule.body:
        if isinstance(subgoal, Atom):
            bound |= {term.name for term in subgoal.terms if isinstance(term, Variable)}
        elif isinstance(subgoal, GroupBy):
            bound |= {v.name for v in _mentioned(subgoal)}
    equations = [s for s in rule.body if isinstance(s, Comparison) and s.operator == "="]
    while new := {v.name for e in equations if (v := assigned(e, bound)) is not None}:
        bound |= new
    return bound - {"_"}


def assigned(equation: Comparison, bound: set[str]) -> Variable | None:
    """The variable that an equation gives a value, when its other side is bound and it is not."""
    for target, value in ((equation.left, equation.right), (equation.right, equation.left)):
        if isinstance(target, Variable) and not target.is_anonymous and target.name not in bound:
            if all(v.name in bound for v in variables(value)) and not _has_anonymous(value):
                return target
    return None


def _check_safety(rule: Clause) -> None:
    bound = bound_variables(rule)
    places = [*rule.head.terms]
    for subgoal in rule.body:
        match subgoal:
            case Atom():
                places += [term for term in subgoal.terms if isinstance(term, Arithmetic)]
            case Negation():
                places += [term for term in subgoal.atom.terms if term != Variable("_")]
            case Comparison():
                places += [subgoal.left, subgoal.right]
    for term in places:
        if _has_anonymous(term):
            raise fault(term.at, "“_” has no value here.", "Use a variable that a positive subgoal binds.")
        for variable in variables(term):
            if variable.name not in bound:
                raise _unsafe(variable, rule)


def _has_anonymous(term: Term) -> bool:
    if isinstance(term, Arithmetic):
        return _has_anonymous(term.left) or _has_anonymous(term.right)
    return isinstance(term, Variable) and term.is_anonymous


def _unsafe(variable: Variable, rule: Clause) -> InvalidDatalog:
    hint = f"Add a subgoal to the rule for {rule.head.predicate} that has {variable.name} as an argument."
    what = f"unsafe rule: {variable.name} is not bound by any positive subgoal."
    return fault(variable.at, what, hint)


def dependencies(program: Program) -> dict[str, list[str]]:
    """Each derived predicate with the predicates that its rules use."""
    uses: dict[str, list[str]] = {name: [] for name in program.predicates}
    for rule in program.rules:
        uses[rule.head.predicate].extend(atom.predicate for atom, _ in subgoal_atoms(rule))
    return uses


def _check_strata(program: Program) -> None:
    uses = dependencies(program)
    component = {name: found for found in strongly_connected(uses) for name in found}
    for rule in program.rules:
        for subgoal in rule.body:
            if not isinstance(subgoal, (Negation, GroupBy)):
                continue
            head, used = rule.head.predicate, subgoal.atom.predicate
            if component.get(used) == component[head]:
                word = "negation" if isinstance(subgoal, Negation) else "aggregation"
                mark = "not " if isinstance(subgoal, Negation) else "groupby "
                back = path(uses, used, head) if used != head else ()
                cycle = " → ".join([head, mark + used, *back[1:]])
                hint = f"Derive {used} without using {head}, or leave the {word} to another predicate."
                raise fault(subgoal.at, f"unstratified {word}: {cycle}.", hint)
