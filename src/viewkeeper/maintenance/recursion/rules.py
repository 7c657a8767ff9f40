"""A recursive body as rules: inputs that are joined, tests, conditions, and what is put out.

gupta93 section 7 speaks of rules `p :- s₁ & … & sₙ` and replaces one subgoal at a time by its change.
The body of a definition is a plan; distributing joins over unions makes it a set of such rules:

    π(σ(A ⋈ (B ∪ C)))  =  π(σ(A ⋈ B))  ∪  π(σ(A ⋈ C))
    L ⟕ R              =  L ⋈ R  ∪  (L ▷ R) × NULLs

A rule is turned back into a plan beginning at any of its inputs, so that a small change is joined
first and only what is connected to it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from viewkeeper.algebra.build import filtered, joined, named_like, projected, union_all
from viewkeeper.algebra.expressions import Named, Scalar, columns_of, conjunction
from viewkeeper.algebra.relations import JoinKind, Relation, Scan, Values


@dataclass(frozen=True)
class Test:
    """A subgoal that binds nothing: SEMI holds where some row matches, ANTI where none does."""

    kind: JoinKind
    relation: Relation
    on: Scalar

    @property
    def needs(self) -> frozenset[str]:
        return columns_of(self.on) - set(self.relation.columns)


@dataclass(frozen=True)
class Rule:
    """`outputs :- inputs, tests, conditions.` The inputs share no column names."""

    inputs: tuple[Relation, ...]
    tests: tuple[Test, ...]
    conditions: tuple[Scalar, ...]
    outputs: tuple[Named, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    def with_input(self, index: int, relation: Relation) -> Rule:
        """The rule with another relation, of the same columns by position, as one of its inputs."""
        fitted = named_like(relation, self.inputs[index].columns)
        return replace(self, inputs=(*self.inputs[:index], fitted, *self.inputs[index + 1 :]))

    def with_test(self, index: int, test: Test) -> Rule:
        return replace(self, tests=(*self.tests[:index], test, *self.tests[index + 1 :]))

    def called(self, columns: tuple[str, ...]) -> Rule:
        """The rule with its outputs, by position, under these names."""
        pairs = zip(columns, self.outputs, strict=True)
        return replace(self, outputs=tuple(Named(name, output.expr) for name, output in pairs))


UNIT = Values((), ((),))
"""One row without columns: the input of a rule that has none."""


@lru_cache(maxsize=8192)
def plan(rule: Rule, first: int = 0) -> Relation:
    """The rule as a plan whose joins begin at input `first`."""
    joining = _Joining(rule.inputs[first] if rule.inputs else UNIT, list(rule.conditions), list(rule.tests))
    rest = [rel for index, rel in enumerate(rule.inputs) if index != first]
    joining.restrict()
    while rest:
        best = max(range(len(rest)), key=lambda index: joining.links(rest[index]))
        joining.join(rest.pop(best))
        joining.restrict()
    return projected(joining.plan, rule.outputs)


def plans(rules: Iterable[Rule], columns: tuple[str, ...]) -> Relation:
    """The union of what the rules derive, as a bag."""
    return union_all((plan(rule) for rule in rules), columns)


@dataclass
class _Joining:
    """A join under construction, and the conditions and tests that wait for their columns."""

    plan: Relation
    conditions: list[Scalar]
    tests: list[Test]

    def links(self, rel: Relation) -> tuple[int, bool]:
        """How many waiting equalities would connect `rel` to what is joined already.

        Of two that are connected alike, a stored relation goes first: a closure fans out further.
        """
        mine, theirs = set(self.plan.columns), set(rel.columns)
        connecting = sum(
            isinstance(condition, (exp.EQ, exp.NullSafeEQ))
            and (used := columns_of(condition)) <= mine | theirs
            and bool(used & mine)
            and bool(used & theirs)
            for condition in self.conditions
        )
        return connecting, isinstance(rel, Scan)

    def join(self, rel: Relation) -> None:
        rel = filtered(rel, conjunction(self._ready(rel.columns)))
        on = conjunction(self._ready((*self.plan.columns, *rel.columns)))
        self.plan = joined(self.plan, rel, JoinKind.INNER, on)

    def restrict(self) -> None:
        self.plan = filtered(self.plan, conjunction(self._ready(self.plan.columns)))
        ready = [test for test in self.tests if test.needs <= set(self.plan.columns)]
        self.tests = [test for test in self.tests if test not in ready]
        for test in sorted(ready, key=lambda test: test.kind is JoinKind.ANTI):
            self.plan = joined(self.plan, test.relation, test.kind, test.on)

    def _ready(self, columns: Iterable[str]) -> list[Scalar]:
        known = set(columns)
        ready = [condition for condition in self.conditions if columns_of(condition) <= known]
        self.conditions = [condition for condition in self.conditions if condition not in ready]
        return ready
