"""UNION ALL recursion: bags, evaluated and maintained level by level.

    L₀ = base,    Lᵢ₊₁ = step(Lᵢ),    value = L₀ ⊎ L₁ ⊎ …            each round sees only the round before

Duplicates count, so DRed does not apply, and a row may support itself around a cycle, so one count
per row is not enough either (gupta93 section 8). With its level beside it every row has a finite
count, and each level changes by the delta rule of the step (GKM92's idea in the terms of section 4):

    ΔL₀ = Δ(base),    ΔLᵢ₊₁ = Δ(step) given Lᵢ, ΔLᵢ and the changed base relations

The stored state is the bag with the hidden column `__level`. Where both the old and the new recursion
end, so does this: ΔLᵢ is exactly the difference of two levels that are empty from some i on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected, restricted_to, union_all
from viewkeeper.algebra.expressions import Named, column, literal, same
from viewkeeper.algebra.relations import (
    Bound,
    Definition,
    Fixpoint,
    Reference,
    Relation,
    Scan,
    State,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import base_tables, children, rewrite
from viewkeeper.delta.rules import delta
from viewkeeper.errors import Diverged, Unsupported
from viewkeeper.maintenance.recursion.port import Derivation, Run
from viewkeeper.maintenance.recursion.unfold import union_branches

LEVEL = "__level"
"""The hidden column: in which round a row was derived."""

LEVELS, CHANGED_LEVELS = "levels", "changed_levels"
"""What is gathered: the rows with their levels, and the signed changes of them."""


@dataclass(frozen=True)
class LevelDelta:
    """The signed change of the stored bag, with levels; without them it is the change of the view."""

    levels: Relation
    columns: tuple[str, ...]
    temporary: tuple[str, ...]

    @property
    def signed(self) -> Relation:
        return restricted_to(self.levels, self.columns)


@dataclass(frozen=True)
class Recursion:
    """A linear recursion: the base, and the step over a relation that is named like the definition."""

    definition: Definition
    base: Relation
    step: Relation

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def stored_columns(self) -> tuple[str, ...]:
        return (*self.definition.columns, LEVEL)

    @property
    def before(self) -> str:
        """The level before as a relation; no table can be called so."""
        return f"{self.name}__before"

    def gathered(self, phase: str) -> str:
        return f"{self.name}__{phase}"

    def last(self, phase: str) -> Relation:
        """The rows of the round before, without their level."""
        frontier = Reference(f"{self.name}__{phase}_frontier", self.stored_columns, counted=True)
        return restricted_to(frontier, self.definition.columns)


def recursion(fixpoint: Fixpoint) -> Recursion:
    """The parts of a UNION ALL recursion; refuses what has no meaning in rounds."""
    if len(fixpoint.definitions) > 1:
        raise _unsupported(fixpoint, "several definitions that use each other")
    definition = fixpoint.definitions[0]
    branches = list(union_branches(definition.body))
    for branch in branches:
        if _occurrences(branch, definition.name) > 1:
            raise _unsupported(fixpoint, f"a branch that reads {definition.name} more than once")
    recursive = [branch for branch in branches if _occurrences(branch, definition.name)]
    base = [branch for branch in branches if not _occurrences(branch, definition.name)]
    return Recursion(
        definition, union_all(base, definition.columns), union_all(recursive, definition.columns)
    )


def evaluate_levels(fixpoint: Fixpoint, run: Run) -> Relation:
    """Evaluates the recursion from scratch; the bag with levels that is to be stored."""
    parts = recursion(fixpoint)
    step = _reading(parts, parts.step, lambda scan: parts.last(LEVELS))
    count = _round(parts, LEVELS, parts.base, 0, run)
    level = 1
    while count:
        count = _round(parts, LEVELS, step, level, run)
        level += 1
    _forget_frontier(parts, LEVELS, run)
    return Reference(parts.gathered(LEVELS), parts.stored_columns, counted=True)


def maintain_levels(fixpoint: Fixpoint, stored: Relation, changed: frozenset[str], run: Run) -> LevelDelta:
    """The change of a stored recursion when the base relations in `changed` have changed."""
    parts = recursion(fixpoint)
    depth = _depth(parts, stored, run)
    touched = not changed.isdisjoint(base_tables(parts.step))
    count = _round(parts, CHANGED_LEVELS, delta(parts.base, changed), 0, run)
    level = 1
    while count or (touched and level <= depth):
        plan = _changed_level(parts, stored, changed, level, bool(count))
        count = _round(parts, CHANGED_LEVELS, plan, level, run)
        level += 1
    _forget_frontier(parts, CHANGED_LEVELS, run)
    levels = Reference(parts.gathered(CHANGED_LEVELS), parts.stored_columns, counted=True)
    return LevelDelta(levels, parts.definition.columns, (levels.name, f"{parts.name}__depth"))


def _changed_level(
    parts: Recursion, stored: Relation, changed: frozenset[str], level: int, before_changed: bool
) -> Relation:
    """Δ(step), where the level before is a relation with three states like any other."""
    step = _reading(parts, parts.step, lambda scan: scan)
    everything = changed | {parts.before} if before_changed else changed
    of_level = exp.EQ(this=column(LEVEL), expression=literal(level - 1))
    old = restricted_to(filtered(stored, of_level), parts.definition.columns)
    new = union_all((old, parts.last(CHANGED_LEVELS)), old.columns) if before_changed else old
    states = {State.OLD: old, State.NEW: new, State.DELTA: parts.last(CHANGED_LEVELS)}
    return _resolved(parts, delta(step, everything), lambda scan: states[scan.at])


def _round(parts: Recursion, phase: str, plan: Relation, level: int, run: Run) -> int:
    """Stores one level and adds it to those before; how many different rows it has."""
    if level >= run.limit:
        raise _diverged(parts, run.limit)
    name = parts.gathered(phase)
    here = Named(LEVEL, exp.cast(literal(level), "int"))
    marked = projected(plan, (*same(parts.definition.columns), here))
    count = run.evaluator.evaluate({f"{name}_next": Derivation(marked, signed=True)})[f"{name}_next"]
    run.evaluator.append(name, f"{name}_next")
    run.evaluator.move(f"{name}_next", f"{name}_frontier")
    run.progress(f"{phase}, level {level}: {parts.name} {count} rows")
    return count


def _depth(parts: Recursion, stored: Relation, run: Run) -> int:
    """How many levels are stored: no level is empty before the last."""
    name = f"{parts.name}__depth"
    return run.evaluator.evaluate({name: Derivation(restricted_to(stored, (LEVEL,)))})[name]


def _forget_frontier(parts: Recursion, phase: str, run: Run) -> None:
    run.evaluator.drop([f"{parts.gathered(phase)}_frontier"])


def _reading(parts: Recursion, rel: Relation, source: Callable[[Scan], Relation]) -> Relation:
    """`rel` with the recursive reference as a scan, or as what stands for that scan."""

    def read(node: Relation) -> Relation:
        if isinstance(node, Reference) and node.name == parts.name:
            bound = tuple(Bound(name, Column(name, "")) for name in node.columns)
            return _fitted(source(Scan(parts.before, bound)), node.columns)
        return node

    return rewrite(rel, read)


def _resolved(parts: Recursion, rel: Relation, source: Callable[[Scan], Relation]) -> Relation:
    """`rel` with the scans of the recursive relation replaced."""

    def read(node: Relation) -> Relation:
        if isinstance(node, Scan) and node.table == parts.before:
            wanted = [(bound.name, bound.source.name) for bound in node.bound]
            return projected(source(node), (Named(new, column(old)) for new, old in wanted))
        return node

    return rewrite(rel, read)


def _fitted(rel: Relation, columns: tuple[str, ...]) -> Relation:
    pairs = zip(columns, rel.columns, strict=True)
    return projected(rel, (Named(new, column(old)) for new, old in pairs))


def _occurrences(rel: Relation, name: str) -> int:
    """How often a plan reads a definition; a subtree that stands twice counts twice."""
    if isinstance(rel, Reference):
        return int(rel.name == name)
    return sum(_occurrences(child, name) for child in children(rel))


def _unsupported(fixpoint: Fixpoint, what: str) -> Unsupported:
    return Unsupported(
        f"The recursive definition of {fixpoint.result} has {what}.",
        "Under UNION ALL each round sees only the rows of the round before, which gives it no meaning.",
        "Use UNION instead of UNION ALL.",
        view=fixpoint.result,
        code="not-linear",
    )


def _diverged(parts: Recursion, limit: int) -> Diverged:
    return Diverged(
        f"The recursion of {parts.name} did not end within {limit} rounds.",
        "It was stopped while rows were still being derived; nothing was changed.",
        "UNION ALL never ends on a cycle: use UNION, bound what grows, or raise the limit on iterations.",
        view=parts.name,
        code="diverged",
    )
