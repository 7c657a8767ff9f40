"""Datalog programs in a warehouse: every derived predicate is a materialized view.

A view keeps the rules of its own component, the predicates that are defined together with it; the
program of a warehouse is what its Datalog views say, all together. Each change is one commit, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from viewkeeper.catalog.catalog import DATALOG, Catalog, ViewDefinition
from viewkeeper.catalog.names import checked_predicate
from viewkeeper.datalog.parse import parse_program, with_rules, without_rules
from viewkeeper.datalog.syntax import Program
from viewkeeper.datalog.translate import DerivedPredicate, translate
from viewkeeper.datalog.write import program_text
from viewkeeper.ddl.definitions import checked_properties, must_be_free, with_dependents
from viewkeeper.ddl.redefinition import define, redefine
from viewkeeper.errors import DependencyError, InvalidDatalog
from viewkeeper.refresh.life import refresh_views
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish
from viewkeeper.workspace import Workspace

Properties = Sequence[tuple[str, str]]


def create_program(work: Workspace, text: str, properties: Properties = ()) -> int:
    """Defines and fills one view per derived predicate of the text."""
    program = parse_program(text)
    checked_properties(properties)
    if not program.rules:
        raise InvalidDatalog("There is no rule here.", hint="Write at least one rule or fact.")

    def build(base: Entry) -> Draft:
        draft = Draft(base, f"datalog {', '.join(program.predicates)}")
        for name in program.predicates:
            must_be_free(base.catalog, checked_predicate(name))
        for predicate in translate(program, base.catalog):
            define(work, draft, replace(_definition(predicate, program, properties), settings=work.settings))
        return _refreshed(work, draft, program.predicates)

    return publish(work.log, build).version


def add_rules(work: Workspace, text: str) -> int:
    """Adds rules to the warehouse's program; a predicate that is new becomes a view."""
    return _change(work, "add rule", lambda program: with_rules(program, text))


def drop_rules(work: Workspace, text: str) -> int:
    """Drops rules of the warehouse's program, written as they were defined."""
    return _change(work, "drop rule", lambda program: without_rules(program, text))


def program_of(catalog: Catalog) -> Program:
    """The rules of all Datalog views."""
    views = [view for view in catalog.views.values() if view.language == DATALOG]
    return Program(tuple(rule for view in views for rule in parse_program(view.sql).rules_of(view.name)))


def _change(work: Workspace, operation: str, change: Callable[[Program], Program]) -> int:
    def build(base: Entry) -> Draft | None:
        old = program_of(base.catalog)
        new = change(old)
        _must_keep_rules(old, new)
        draft = Draft(base, operation)
        changed = _redefined(work, draft, new)
        affected = [view for name in changed for view in with_dependents(draft.catalog, name)]
        return _refreshed(work, draft, affected) if changed else None

    return publish(work.log, build).version


def _redefined(work: Workspace, draft: Draft, program: Program) -> list[str]:
    """Defines what the program now says; the predicates for which that is something else."""
    known = {view.name: view for view in draft.catalog.views.values() if view.language == DATALOG}
    columns = {name: tuple(c.name for c in view.columns) for name, view in known.items()}
    changed = []
    for predicate in translate(program, draft.catalog, columns):
        before = known.get(predicate.name)
        definition = _definition(predicate, program, before.properties if before else ())
        if before is None:
            must_be_free(draft.catalog, checked_predicate(predicate.name))
            define(work, draft, replace(definition, settings=work.settings))
        elif (definition.sql, definition.predicates) != (before.sql, before.predicates):
            redefine(
                work, draft, before, replace(before, sql=definition.sql, predicates=definition.predicates)
            )
        else:
            continue
        changed.append(predicate.name)
    return changed


def _definition(predicate: DerivedPredicate, program: Program, properties: Properties) -> ViewDefinition:
    """A predicate as a view; it keeps the rules of its component only."""
    rules = Program(tuple(rule for rule in program.rules if rule.head.predicate in predicate.component))
    return ViewDefinition(
        predicate.name,
        program_text(rules),
        (),
        (),
        properties=tuple(properties),
        language=DATALOG,
        predicates=predicate.signatures,
    )


def _refreshed(work: Workspace, draft: Draft, names: Sequence[str]) -> Draft:
    refresh_views(work, draft, names)
    return draft


def _must_keep_rules(old: Program, new: Program) -> None:
    for name in old.predicates:
        if name not in new.predicates:
            raise DependencyError(
                f"{name} would be left without a rule.",
                "A predicate has at least one rule or fact.",
                "Drop the view instead, or add another rule first.",
                view=name,
            )
