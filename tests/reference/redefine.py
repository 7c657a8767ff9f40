"""Changed definitions of recursive views: a rule is added or dropped (gupta93 sections 1 and 7).

An added rule starts insertion with what it derives; a dropped rule starts overdeletion with what it
derived, and the remaining rules rederive. Both are `dred.maintain` told of two definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from viewkeeper.algebra.build import named_like, union_all
from viewkeeper.algebra.relations import Definition, Fixpoint, Relation
from viewkeeper.errors import NotFound
from viewkeeper.maintenance.dred.algorithm import Abandoned, Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.port import Run
from viewkeeper.maintenance.recursion.unfold import branches


def rule_added(
    fixpoint: Fixpoint, name: str, branch: Relation, stored: Mapping[str, Relation], run: Run
) -> Maintained | Abandoned:
    """The changes when `branch` becomes one more rule of `name`; `fixpoint` is still without it."""
    return maintain(with_rule(fixpoint, name, branch), stored, Changes(), run, before=fixpoint)


def rule_dropped(
    fixpoint: Fixpoint, name: str, branch: Relation, stored: Mapping[str, Relation], run: Run
) -> Maintained | Abandoned:
    """The changes when the rule `branch` of `name` is dropped; `fixpoint` still has it."""
    return maintain(without_rule(fixpoint, name, branch), stored, Changes(), run, before=fixpoint)


def with_rule(fixpoint: Fixpoint, name: str, branch: Relation) -> Fixpoint:
    return _redefined(fixpoint, name, lambda d: union_all((*branches(d.body), branch), d.columns))


def without_rule(fixpoint: Fixpoint, name: str, branch: Relation) -> Fixpoint:
    def remaining(definition: Definition) -> Relation:
        given = named_like(branch, definition.columns)
        rest = [rel for rel in branches(definition.body) if named_like(rel, definition.columns) != given]
        if len(rest) == len(list(branches(definition.body))):
            raise NotFound(f"{name} has no such rule.", hint="Drop a rule as it was written.", view=name)
        return union_all(rest, definition.columns)

    return _redefined(fixpoint, name, remaining)


def _redefined(fixpoint: Fixpoint, name: str, body: Callable[[Definition], Relation]) -> Fixpoint:
    if name not in {definition.name for definition in fixpoint.definitions}:
        raise NotFound(f"There is no definition of {name} here.", view=name)
    changed = tuple(replace(d, body=body(d)) if d.name == name else d for d in fixpoint.definitions)
    return replace(fixpoint, definitions=changed)
