"""From Datalog to algebra: one set-valued relation per derived predicate, lower strata first.

    hop(X, Y) :- link(X, Z), link(Z, Y).    distinct(π(link ⋈ link))
    reach(X, Y) :- link(X, Y).              fixpoint reach (set):
    reach(X, Y) :- reach(X, Z), link(Z, Y).     link ∪ π(reach ⋈ link)

A repeated variable is an equality as SQL's joins understand it: NULL equals nothing. A predicate of
a lower stratum is read as the view that it is; predicates of one recursive component are one fixpoint.
Columns of a derived predicate are named after the variables of its first head, in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.algebra.build import union_all
from viewkeeper.algebra.relations import Definition, Distinct, Fixpoint, Relation
from viewkeeper.datalog.check import Signature, check, dependencies, signatures
from viewkeeper.datalog.syntax import Program
from viewkeeper.datalog.translate_rule import Translation, facts, translate_rule
from viewkeeper.datalog.types import VariableTypes, infer
from viewkeeper.maintenance.recursion.rules import plan
from viewkeeper.maintenance.recursion.strata import is_recursive, stratum_numbers, strongly_connected
from viewkeeper.sql.known_relations import KnownRelations


@dataclass(frozen=True)
class DerivedPredicate:
    """A predicate as a view. `component` are the predicates that are defined together with it, with
    their columns in `signatures`."""

    name: str
    columns: tuple[str, ...]
    relation: Relation
    stratum: int
    component: tuple[str, ...]
    signatures: tuple[tuple[str, tuple[str, ...]], ...]


def translate(
    program: Program, catalog: KnownRelations, columns: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[DerivedPredicate, ...]:
    """The derived predicates in the order of their strata; raises InvalidDatalog.

    `columns` keeps the column names of predicates that exist already, whatever their first rule is now.
    """
    known = signatures(program, catalog, columns)
    check(program, known)
    types = infer(program, known)
    uses = dependencies(program)
    numbers = stratum_numbers(uses)
    derived: list[DerivedPredicate] = []
    order = {name: place for place, name in enumerate(program.predicates)}
    for component in sorted(strongly_connected(uses), key=lambda c: (numbers[c[0]], order[c[0]])):
        recursive = frozenset(component) if is_recursive(component, uses) else frozenset()
        definitions = tuple(_definition(name, program, known, types, recursive) for name in component)
        together = tuple((definition.name, definition.columns) for definition in definitions)
        for definition in definitions:
            relation = _relation(definition, definitions, bool(recursive))
            name, number = definition.name, numbers[definition.name]
            derived.append(DerivedPredicate(name, definition.columns, relation, number, component, together))
    return tuple(derived)


def _relation(definition: Definition, together: tuple[Definition, ...], recursive: bool) -> Relation:
    if recursive:
        return Fixpoint(together, definition.name, distinct=True)
    return Distinct(definition.body)


def _definition(
    name: str,
    program: Program,
    known: Mapping[str, Signature],
    types: VariableTypes,
    recursive: frozenset[str],
) -> Definition:
    columns = known[name].columns
    translation = Translation(known, types, recursive)
    rules = program.rules_of(name)
    given = facts([rule for rule in rules if not rule.body], columns)
    bodies = [plan(translate_rule(rule, translation)) for rule in rules if rule.body]
    return Definition(name, columns, union_all((*given, *bodies), columns))
