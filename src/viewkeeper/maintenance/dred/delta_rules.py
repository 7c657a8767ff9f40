"""The Δ-rules of one rule `p :- s₁ & … & sₙ`: one for every subgoal that changed.

    lost     Δ⁻ᵢ :- s₁ & … & δ⁻(sᵢ) & … & sₙ          derivations of the old state that are gone
    won      Δ⁺ᵢ :- s₁ᵛ & … & δ⁺(sᵢ) & … & sₙᵛ        derivations of the new state that were not there
    sought   Δʳ  :- δ⁻(p) & s₁ᵛ & … & sₙᵛ             derivations of given rows

gupta93 section 7. For a negated subgoal ¬q the changes swap, and it stays beside its change, because
a row that matches what entered q may also match what was in q before: then nothing was lost.
Each plan begins at the change, which is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from viewkeeper.algebra.build import is_empty, named_like
from viewkeeper.algebra.expressions import Named, column, same_or_both_null
from viewkeeper.algebra.relations import JoinKind, Relation
from viewkeeper.maintenance.dred.changed_subgoals import Subgoals
from viewkeeper.maintenance.recursion.rules import Rule, Test, plan
from viewkeeper.maintenance.recursion.seminaive import World
from viewkeeper.maintenance.recursion.strata import references

ChangeOf = Callable[[Relation], Relation]


def lost(rule: Rule, subgoals: Subgoals, recursive: frozenset[str]) -> Iterator[Relation]:
    """What the rule derived before, by a subgoal row that is gone."""
    return _changed(rule, subgoals.before, recursive, subgoals.left, subgoals.entered)


def won(rule: Rule, subgoals: Subgoals, recursive: frozenset[str], world: World) -> Iterator[Relation]:
    """What the rule derives now, by a subgoal row that is new; `world` says what is derived so far."""
    return _changed(rule, world, recursive, subgoals.entered, subgoals.left)


def sought(rule: Rule, goal: Relation, world: World) -> Relation:
    """Which rows of `goal` the rule derives in this world."""
    names = tuple(f"__goal{number}" for number in range(len(goal.columns)))
    pairs = list(zip(names, rule.outputs, strict=True))
    asked = replace(
        world.rule(rule),
        inputs=(*world.rule(rule).inputs, named_like(goal, names)),
        conditions=(*rule.conditions, *(same_or_both_null(o.expr, column(name)) for name, o in pairs)),
        outputs=tuple(Named(output.name, column(name)) for name, output in pairs),
    )
    return plan(asked, len(rule.inputs))


def _changed(
    rule: Rule, world: World, recursive: frozenset[str], positive: ChangeOf, negative: ChangeOf
) -> Iterator[Relation]:
    for index, rel in enumerate(rule.inputs):
        if recursive.isdisjoint(references(rel)) and not is_empty(change := positive(rel)):
            yield plan(world.rule(rule.with_input(index, change), index), index)
    for index, test in enumerate(rule.tests):
        change = negative(test.relation) if test.kind is JoinKind.ANTI else positive(test.relation)
        if not is_empty(change):
            yield _tested_by(world.rule(rule), index, change)


def _tested_by(rule: Rule, index: int, change: Relation) -> Relation:
    """The rule where test `index` is touched by a change of its relation."""
    test = rule.tests[index]
    touched = Test(JoinKind.SEMI, named_like(change, test.relation.columns), test.on)
    if test.kind is JoinKind.SEMI:
        return plan(rule.with_test(index, touched), _nearest(rule, touched))
    return plan(replace(rule, tests=(touched, *rule.tests)), _nearest(rule, touched))


def _nearest(rule: Rule, test: Test) -> int:
    """The input that shares most columns with the test, so that the test comes first."""
    shared = [len(test.needs & set(rel.columns)) for rel in rule.inputs]
    return shared.index(max(shared))
