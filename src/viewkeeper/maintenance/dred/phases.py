"""The three phases of DRed for one stratum, as loops (gupta93 section 7).

    overdelete   δ⁻(p) :- s₁ & … & δ⁻(sᵢ) & … & sₙ           everything at OLD
    rederive     δʳ(p) :- δ⁻(p) & s₁ᵛ & … & sₙᵛ               subgoals at NEW; Pᵛ = P − δ⁻ + δʳ
    insert       Δ⁺(p) :- s₁ᵛ & … & Δ⁺(sᵢ) & … & sₙᵛ          subgoals at NEW; Pᵛ = P − δ⁻ + δʳ + Δ⁺

A negated subgoal changes the other way around: rows that enter its relation delete, rows that leave it
insert (Definition 6.1). A dropped rule starts overdeletion with all that it derived, an added one insertion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from viewkeeper.algebra.build import is_empty, union_all
from viewkeeper.algebra.relations import Definition, Relation
from viewkeeper.maintenance.dred.changed_subgoals import Subgoals
from viewkeeper.maintenance.dred.delta_rules import lost, sought, won
from viewkeeper.maintenance.recursion.port import Derivation, absent, nothing_like
from viewkeeper.maintenance.recursion.rules import Rule, plan
from viewkeeper.maintenance.recursion.seminaive import Loop, World, frontiers, propagated, totals

OVERDELETED, REDERIVED, INSERTED = "overdeleted", "rederived", "inserted"
PHASES = (OVERDELETED, REDERIVED, INSERTED)
"""The phases in order; what each gathers is named after it."""


@dataclass(frozen=True)
class RecursiveStratum:
    """One stratum during maintenance: its definitions, their rules, and the relations they read."""

    definitions: tuple[Definition, ...]
    subgoals: Subgoals
    kept: Mapping[str, tuple[Rule, ...]]
    dropped: Mapping[str, tuple[Rule, ...]]
    added: Mapping[str, tuple[Rule, ...]]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(definition.name for definition in self.definitions)

    @property
    def stored(self) -> dict[str, Relation]:
        return {definition.name: self.subgoals.stored[definition.name] for definition in self.definitions}

    def in_pieces(self, pieces: Mapping[str, Relation]) -> RecursiveStratum:
        """The same, what is stored of it read in pieces where they are known."""
        return replace(self, subgoals=replace(self.subgoals, stored={**self.subgoals.stored, **pieces}))

    def rules(self, name: str) -> tuple[Rule, ...]:
        """The rules from now on."""
        return (*self.kept[name], *self.added[name])

    def after(self, derived: Mapping[str, Relation]) -> World:
        """Subgoals at NEW, and the stratum's own definitions as far as they are derived."""
        after = self.subgoals.after
        return World(after.state, {**after.named, **derived})

    def overdelete(self) -> Loop:
        """A superset of what must go: whatever has a derivation that used something deleted."""
        gone, spreading = (made(OVERDELETED, self.definitions) for made in (totals, frontiers))
        before = self.subgoals.before
        candidates, steps = {}, {}
        for d in self.definitions:
            derived = [plan(before.rule(rule)) for rule in self.dropped[d.name]]
            for rule in self.kept[d.name]:
                derived.extend(lost(rule, self.subgoals, self.names))
            candidates[d.name] = union_all(derived, d.columns)
            spread = propagated(self.kept[d.name], d.columns, before, spreading)
            steps[d.name] = Derivation(spread, without=(gone[d.name],))
        seeds = {name: Derivation(rel) for name, rel in _started(candidates, self.stored).items()}
        return Loop(OVERDELETED, seeds, steps)

    def rederive(self) -> Loop:
        """What was overdeleted and has a derivation from what is left."""
        gone, back = (totals(phase, self.definitions) for phase in (OVERDELETED, REDERIVED))
        returning = frontiers(REDERIVED, self.definitions)
        at_first = self.after({name: absent(rel, gone[name]) for name, rel in self.stored.items()})
        later = self.after(self.remaining())
        candidates, steps = {}, {}
        for d in self.definitions:
            derived = [sought(rule, gone[d.name], at_first) for rule in self.rules(d.name)]
            candidates[d.name] = union_all(derived, d.columns)
            again = propagated(self.rules(d.name), d.columns, later, returning)
            steps[d.name] = Derivation(again, gone[d.name], (back[d.name],))
        seeds = {name: Derivation(rel) for name, rel in _started(candidates, gone).items()}
        return Loop(REDERIVED, seeds, steps)

    def insert(self, left: Mapping[str, Relation]) -> Loop:
        """What has a derivation that uses something new; `left` is what the other phases left."""
        new, arriving = (made(INSERTED, self.definitions) for made in (totals, frontiers))
        at_first = self.after(left)
        later = self.after({name: union_all((rel, new[name]), rel.columns) for name, rel in left.items()})
        candidates, steps = {}, {}
        for d in self.definitions:
            derived = [plan(at_first.rule(rule)) for rule in self.added[d.name]]
            for rule in self.kept[d.name]:
                derived.extend(won(rule, self.subgoals, self.names, at_first))
            candidates[d.name] = union_all(derived, d.columns)
            more = propagated(self.rules(d.name), d.columns, later, arriving)
            steps[d.name] = Derivation(more, without=(left[d.name], new[d.name]))
        started = _started(candidates, self.stored)
        seeds = {name: Derivation(rel, without=(left[name],)) for name, rel in started.items()}
        return Loop(INSERTED, seeds, steps)

    def remaining(self) -> dict[str, Relation]:
        """P − (δ⁻ − δʳ)."""
        gone, back = (totals(phase, self.definitions) for phase in (OVERDELETED, REDERIVED))
        return {name: absent(rel, absent(gone[name], back[name])) for name, rel in self.stored.items()}


def _started(candidates: Mapping[str, Relation], like: Mapping[str, Relation]) -> dict[str, Relation]:
    """Where some definition has candidates, the others start with none, of the right types."""
    if all(is_empty(rel) for rel in candidates.values()):
        return dict(candidates)
    return {name: nothing_like(like[name]) if is_empty(rel) else rel for name, rel in candidates.items()}
