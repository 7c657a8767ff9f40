"""Semi-naive evaluation: each round derives from what the round before derived first.

    F₀ = rules over base relations only
    Fₖ₊₁ = rules with one recursive subgoal read from Fₖ, the others from T  −  T,    T = F₀ ∪ … ∪ Fₖ

for all definitions of a stratum at once, until no definition gains a row ([Ull89], which gupta93
section 7 builds on). The phases of DRed are loops of the same form. A loop is a few plans, fixed
before it starts, over relations that have names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.algebra.build import empty, named_like, union_all
from viewkeeper.algebra.relations import Definition, Fixpoint, Reference, Relation
from viewkeeper.algebra.walk import rewrite
from viewkeeper.errors import Diverged
from viewkeeper.maintenance.recursion.port import Derivation, Run, nothing_like
from viewkeeper.maintenance.recursion.rules import Rule, plan, plans
from viewkeeper.maintenance.recursion.strata import references, strata
from viewkeeper.maintenance.recursion.unfold import rules_of


@dataclass(frozen=True)
class Loop:
    """What starts a loop, and what each round derives; `phase` makes the names of its relations.

    Seeds and steps may read what is `begun`, in turn, before them, and whatever the `first` loop, which runs
    before that, has evaluated: each of it is evaluated once.
    """

    phase: str
    seeds: Mapping[str, Derivation]
    steps: Mapping[str, Derivation]
    begun: Mapping[str, Derivation] = field(default_factory=dict)
    first: Loop | None = None


def total(phase: str, name: str) -> str:
    """All rows that a loop has derived for a definition so far."""
    return f"{name}__{phase}"


def frontier(phase: str, name: str) -> str:
    """The rows of the round before."""
    return f"{name}__{phase}_frontier"


def totals(phase: str, stratum: Iterable[Definition]) -> dict[str, Relation]:
    return {d.name: Reference(total(phase, d.name), d.columns) for d in stratum}


def frontiers(phase: str, stratum: Iterable[Definition]) -> dict[str, Relation]:
    return {d.name: Reference(frontier(phase, d.name), d.columns) for d in stratum}


def saturate(loop: Loop, run: Run, enough: int | None = None) -> dict[str, int]:
    """Runs the loop until no definition gains a row; the sizes of the totals.

    `enough` ends it early, with totals that are not complete, once they hold more rows than that.
    """
    try:
        sizes = _saturated(loop, run, enough)
    except Diverged:
        run.evaluator.drop([*_totals(loop), *_passing(loop)])
        raise
    run.evaluator.drop(_passing(loop))
    return sizes


def _saturated(loop: Loop, run: Run, enough: int | None = None) -> dict[str, int]:
    """The same; what was needed on the way is still there."""
    if loop.first is not None:
        _saturated(loop.first, run)
    for name, derivation in loop.begun.items():
        run.evaluator.evaluate({name: derivation})
    sizes = dict.fromkeys(loop.seeds, 0)
    gained = _round(loop, loop.seeds, sizes, run)
    rounds = 1
    run.progress(f"{loop.phase}, round {rounds}: {_shown(gained)}")
    steps = _typed_steps(loop)
    while steps and any(gained.values()) and (enough is None or sum(sizes.values()) <= enough):
        if rounds >= run.limit:
            raise _diverged(loop, run.limit)
        gained = _round(loop, steps, sizes, run)
        rounds += 1
        run.progress(f"{loop.phase}, round {rounds}: {_shown(gained)}")
    return sizes


def _totals(loop: Loop) -> list[str]:
    return [total(loop.phase, name) for name in loop.seeds]


def _passing(loop: Loop) -> list[str]:
    """The names of relations that nobody needs after the loop."""
    earlier = [] if loop.first is None else [*_totals(loop.first), *_passing(loop.first)]
    return [*earlier, *(frontier(loop.phase, name) for name in loop.seeds), *loop.begun]


def _round(loop: Loop, plans: Mapping[str, Derivation], sizes: dict[str, int], run: Run) -> dict[str, int]:
    following = {name: f"{frontier(loop.phase, name)}_next" for name in plans}
    counts = run.evaluator.evaluate({following[name]: derivation for name, derivation in plans.items()})
    gained = {name: counts[following[name]] for name in plans}
    for name, count in gained.items():
        run.evaluator.append(total(loop.phase, name), following[name])
        run.evaluator.move(following[name], frontier(loop.phase, name))
        sizes[name] += count
    return gained


def _typed_steps(loop: Loop) -> dict[str, Derivation]:
    """The steps, where there are any; one that never derives anything keeps the types of its total."""
    if all(step.is_void for step in loop.steps.values()):
        return {}
    known = {name: Reference(total(loop.phase, name), step.columns) for name, step in loop.steps.items()}
    return {
        name: Derivation(nothing_like(known[name])) if step.is_void else step
        for name, step in loop.steps.items()
    }


def _shown(gained: Mapping[str, int]) -> str:
    return ", ".join(f"{name} +{count}" for name, count in gained.items())


def _diverged(loop: Loop, limit: int) -> Diverged:
    return Diverged(
        f"The recursion of {', '.join(loop.seeds)} did not end within {limit} rounds.",
        f"It was stopped while rows were still being derived (phase {loop.phase}); nothing was changed.",
        "Bound what grows in it (a counter, a length), or raise the limit on iterations.",
        view=next(iter(loop.seeds)),
        code="diverged",
    )


@dataclass(frozen=True)
class World:
    """What relations mean at one moment: `state` moves scans, `named` says what references are."""

    state: Callable[[Relation], Relation]
    named: Mapping[str, Relation]

    def of(self, rel: Relation) -> Relation:
        moved = self.state(rel)
        return rewrite(moved, self._resolve) if references(moved) else moved

    def _resolve(self, node: Relation) -> Relation:
        if isinstance(node, Reference) and node.name in self.named:
            return named_like(self.named[node.name], node.columns)
        return node

    def rule(self, rule: Rule, but: int | None = None) -> Rule:
        """The rule with its inputs and tests in this world; input `but` is in place already."""
        inputs = (rel if index == but else self.of(rel) for index, rel in enumerate(rule.inputs))
        tests = (replace(test, relation=self.of(test.relation)) for test in rule.tests)
        return replace(rule, inputs=tuple(inputs), tests=tuple(tests))


def recursive_inputs(rule: Rule, recursive: Iterable[str]) -> list[tuple[int, str]]:
    """The places of the rule's recursive subgoals, and the definition that each reads."""
    names = set(recursive)
    return [(i, name) for i, rel in enumerate(rule.inputs) for name in references(rel) if name in names]


def propagated(
    rules: Iterable[Rule], columns: tuple[str, ...], world: World, changes: Mapping[str, Relation]
) -> Relation:
    """One Δ-rule per recursive subgoal: that one reads the change, the others read the world."""
    derived = [
        plan(world.rule(rule.with_input(index, changes[name]), index), index)
        for rule in rules
        for index, name in recursive_inputs(rule, changes)
    ]
    return union_all(derived, columns)


ROWS = "rows"
"""The phase of a first evaluation."""


def _as_it_is(rel: Relation) -> Relation:
    return rel


def evaluate_fixpoint(
    fixpoint: Fixpoint, run: Run, state: Callable[[Relation], Relation] = _as_it_is
) -> dict[str, Relation]:
    """Evaluates all definitions from scratch, stratum by stratum; where the rows of each are."""
    done: dict[str, Relation] = {}
    for stratum in strata(fixpoint.definitions):
        saturate(first_evaluation(stratum, World(state, dict(done))), run)
        done |= totals(ROWS, stratum)
    return done


def unrolled(fixpoint: Fixpoint) -> Relation:
    """The body of the result over what the rules without recursion derive: it shows the types."""
    names = frozenset(definition.name for definition in fixpoint.definitions)
    seeds = _first_seeds(fixpoint.definitions, names, World(_as_it_is, {}))
    body = next(d.body for d in fixpoint.definitions if d.name == fixpoint.result)
    return World(_as_it_is, {name: nothing_like(seed.candidates) for name, seed in seeds.items()}).of(body)


def first_evaluation(stratum: tuple[Definition, ...], lower: World) -> Loop:
    """The loop that evaluates one stratum, over strata below that are complete."""
    names = frozenset(definition.name for definition in stratum)
    known, new = totals(ROWS, stratum), frontiers(ROWS, stratum)
    world = World(lower.state, {**lower.named, **known})
    steps = {
        d.name: Derivation(propagated(rules_of(d, names), d.columns, world, new), None, (known[d.name],))
        for d in stratum
    }
    return Loop(ROWS, _first_seeds(stratum, names, lower), steps)


def _first_seeds(
    stratum: tuple[Definition, ...], names: frozenset[str], lower: World
) -> dict[str, Derivation]:
    """The rules without recursion; a definition that has none starts empty, with the right types."""
    seeds: dict[str, Relation] = {}
    for definition in stratum:
        base = [rule for rule in rules_of(definition, names) if not recursive_inputs(rule, names)]
        if base:
            seeds[definition.name] = plans((lower.rule(rule) for rule in base), definition.columns)
    while waiting := [definition for definition in stratum if definition.name not in seeds]:
        typed = World(lower.state, {**lower.named, **seeds})
        ready = {d: rule for d in waiting if (rule := _typed_rule(d, names, seeds)) is not None}
        for definition in waiting if not ready else ():
            seeds[definition.name] = empty(definition.columns)
        for definition, rule in ready.items():
            seeds[definition.name] = nothing_like(plan(typed.rule(rule)))
    return {definition.name: Derivation(seeds[definition.name]) for definition in stratum}


def _typed_rule(definition: Definition, names: frozenset[str], typed: Iterable[str]) -> Rule | None:
    """A rule all of whose recursive inputs have known types."""
    known = set(typed)
    for rule in rules_of(definition, names):
        if all(name in known for _, name in recursive_inputs(rule, names)):
            return rule
    return None
