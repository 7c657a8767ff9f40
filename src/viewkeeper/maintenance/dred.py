"""DRed: delete, rederive, insert (gupta93 section 7). Set semantics, any stratified recursion.

For a stratum whose definitions P are stored, and whose subgoals changed by δ⁻ and δ⁺:

    overdelete   δ⁻(p) :- s₁ & … & δ⁻(sᵢ) & … & sₙ           everything at OLD
    rederive     δʳ(p) :- δ⁻(p) & s₁ᵛ & … & sₙᵛ               subgoals at NEW; Pᵛ = P − δ⁻ + δʳ
    insert       Δ⁺(p) :- s₁ᵛ & … & Δ⁺(sᵢ) & … & sₙᵛ          subgoals at NEW; Pᵛ = P − δ⁻ + δʳ + Δ⁺

Each phase is a semi-naive loop. A negated subgoal changes the other way around: rows that enter its
relation delete, rows that leave it insert (Definition 6.1). Strata are maintained in order, so that
the changes of a lower one are exact when a higher one reads them. A changed definition is the same
algorithm: a dropped rule starts overdeletion with all that it derived, an added one insertion.

    deleted(P) = δ⁻ − δʳ − Δ⁺,    inserted(P) = Δ⁺ − (δ⁻ − δʳ)           (Theorem 7.1)

Nothing is stored besides the definitions themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.algebra.build import empty, is_empty, union_all
from viewkeeper.algebra.relations import Definition, Fixpoint, Relation
from viewkeeper.errors import Diverged
from viewkeeper.maintenance.changes import Changes, SetDelta, Subgoals
from viewkeeper.maintenance.delta_rules import lost, sought, won
from viewkeeper.maintenance.evaluator import Derivation, Run, absent, nothing_like
from viewkeeper.maintenance.rules import Rule, plan
from viewkeeper.maintenance.seminaive import (
    Loop,
    World,
    frontiers,
    propagated,
    saturate,
    total,
    totals,
)
from viewkeeper.maintenance.strata import strata
from viewkeeper.maintenance.unfold import rules_of

OVERDELETED, REDERIVED, INSERTED = "overdeleted", "rederived", "inserted"
PHASES = (OVERDELETED, REDERIVED, INSERTED)
"""The phases in order; what each gathers is named after it."""


@dataclass(frozen=True)
class Maintained:
    """The exact change of every definition, and how much work it was.

    The changes mention the relations in `temporary`, which whoever reads them drops afterwards.
    """

    deltas: Mapping[str, SetDelta]
    overdeleted: int
    rederived: int
    inserted: int
    temporary: tuple[str, ...]


@dataclass(frozen=True)
class Abandoned:
    """More rows were overdeleted than maintenance is worth; nothing is changed."""

    overdeleted: int


@dataclass(frozen=True)
class Stratum:
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

    def rules(self, name: str) -> tuple[Rule, ...]:
        """The rules from now on."""
        return (*self.kept[name], *self.added[name])

    def after(self, derived: Mapping[str, Relation]) -> World:
        """Subgoals at NEW, and the stratum's own definitions as far as they are derived."""
        after = self.subgoals.after
        return World(after.state, {**after.named, **derived})


def maintain(
    fixpoint: Fixpoint,
    stored: Mapping[str, Relation],
    changes: Changes,
    run: Run,
    before: Fixpoint | None = None,
    enough: int | None = None,
) -> Maintained | Abandoned:
    """The changes of all definitions of a fixpoint over set semantics.

    `stored` are the definitions' rows before the change; `before` is the definition before it, where
    that changed too. More than `enough` overdeleted rows in all abandon the attempt.
    """
    work = Maintained({}, 0, 0, 0, ())
    held = {d.name: stored.get(d.name, empty(d.columns)) for d in fixpoint.definitions}
    for definitions in strata(fixpoint.definitions):
        subgoals = Subgoals(changes, {**stored, **held}, work.deltas)
        stratum = _stratum(definitions, subgoals, {d.name: d for d in (before or fixpoint).definitions})
        try:
            done = _maintain_stratum(stratum, run, None if enough is None else enough - work.overdeleted)
        except Diverged:
            run.evaluator.drop((*work.temporary, *_temporary(stratum, *PHASES)))
            raise
        if isinstance(done, Abandoned):
            run.evaluator.drop(work.temporary)
            return Abandoned(work.overdeleted + done.overdeleted)
        work = _together(work, done)
    return work


def loops(
    fixpoint: Fixpoint, stored: Mapping[str, Relation], changes: Changes, before: Fixpoint | None = None
) -> list[Loop]:
    """The three phases of a fixpoint that is one stratum, as they would run; to be read, not run."""
    known = {d.name: d for d in (before or fixpoint).definitions}
    stratum = _stratum(fixpoint.definitions, Subgoals(changes, stored, {}), known)
    return [overdelete(stratum), rederive(stratum), insert(stratum, remaining(stratum))]


def overdelete(stratum: Stratum) -> Loop:
    """A superset of what must go: whatever has a derivation that used something deleted."""
    gone, spreading = (made(OVERDELETED, stratum.definitions) for made in (totals, frontiers))
    before = stratum.subgoals.before
    candidates, steps = {}, {}
    for d in stratum.definitions:
        derived = [plan(before.rule(rule)) for rule in stratum.dropped[d.name]]
        for rule in stratum.kept[d.name]:
            derived.extend(lost(rule, stratum.subgoals, stratum.names))
        candidates[d.name] = union_all(derived, d.columns)
        spread = propagated(stratum.kept[d.name], d.columns, before, spreading)
        steps[d.name] = Derivation(spread, without=(gone[d.name],))
    seeds = {name: Derivation(rel) for name, rel in _started(candidates, stratum.stored).items()}
    return Loop(OVERDELETED, seeds, steps)


def rederive(stratum: Stratum) -> Loop:
    """What was overdeleted and has a derivation from what is left."""
    gone, back = (totals(phase, stratum.definitions) for phase in (OVERDELETED, REDERIVED))
    returning = frontiers(REDERIVED, stratum.definitions)
    at_first = stratum.after({name: absent(rel, gone[name]) for name, rel in stratum.stored.items()})
    later = stratum.after(remaining(stratum))
    candidates, steps = {}, {}
    for d in stratum.definitions:
        derived = [sought(rule, gone[d.name], at_first) for rule in stratum.rules(d.name)]
        candidates[d.name] = union_all(derived, d.columns)
        again = propagated(stratum.rules(d.name), d.columns, later, returning)
        steps[d.name] = Derivation(again, gone[d.name], (back[d.name],))
    seeds = {name: Derivation(rel) for name, rel in _started(candidates, gone).items()}
    return Loop(REDERIVED, seeds, steps)


def insert(stratum: Stratum, left: Mapping[str, Relation]) -> Loop:
    """What has a derivation that uses something new; `left` is what the other phases left."""
    new, arriving = (made(INSERTED, stratum.definitions) for made in (totals, frontiers))
    at_first = stratum.after(left)
    later = stratum.after({name: union_all((rel, new[name]), rel.columns) for name, rel in left.items()})
    candidates, steps = {}, {}
    for d in stratum.definitions:
        derived = [plan(at_first.rule(rule)) for rule in stratum.added[d.name]]
        for rule in stratum.kept[d.name]:
            derived.extend(won(rule, stratum.subgoals, stratum.names, at_first))
        candidates[d.name] = union_all(derived, d.columns)
        more = propagated(stratum.rules(d.name), d.columns, later, arriving)
        steps[d.name] = Derivation(more, without=(left[d.name], new[d.name]))
    started = _started(candidates, stratum.stored)
    seeds = {name: Derivation(rel, without=(left[name],)) for name, rel in started.items()}
    return Loop(INSERTED, seeds, steps)


def remaining(stratum: Stratum) -> dict[str, Relation]:
    """P − (δ⁻ − δʳ)."""
    gone, back = (totals(phase, stratum.definitions) for phase in (OVERDELETED, REDERIVED))
    return {name: absent(rel, absent(gone[name], back[name])) for name, rel in stratum.stored.items()}


def _maintain_stratum(stratum: Stratum, run: Run, enough: int | None) -> Maintained | Abandoned:
    overdeleted = _saturated(overdelete(stratum), run, enough)
    if enough is not None and overdeleted > enough:
        run.evaluator.drop(_temporary(stratum, OVERDELETED))
        return Abandoned(overdeleted)
    rederived = _saturated(rederive(stratum), run) if overdeleted else 0
    inserted = _saturated(insert(stratum, remaining(stratum) if overdeleted else stratum.stored), run)
    deltas = {d.name: _set_delta(d, bool(overdeleted), bool(inserted)) for d in stratum.definitions}
    return Maintained(deltas, overdeleted, rederived, inserted, _temporary(stratum, *PHASES))


def _saturated(loop: Loop, run: Run, enough: int | None = None) -> int:
    """How many rows the loop derived; it is not run when nothing starts it."""
    if all(seed.is_void for seed in loop.seeds.values()):
        return 0
    return sum(saturate(loop, run, enough).values())


def _started(candidates: Mapping[str, Relation], like: Mapping[str, Relation]) -> dict[str, Relation]:
    """Where some definition has candidates, the others start with none, of the right types."""
    if all(is_empty(rel) for rel in candidates.values()):
        return dict(candidates)
    return {name: nothing_like(like[name]) if is_empty(rel) else rel for name, rel in candidates.items()}


def _set_delta(definition: Definition, overdeleted: bool, inserted: bool) -> SetDelta:
    nothing = empty(definition.columns)
    gone, back, new = (totals(phase, (definition,))[definition.name] for phase in PHASES)
    lost_rows = absent(gone, back) if overdeleted else nothing
    new_rows = new if inserted else nothing
    return SetDelta(absent(new_rows, lost_rows), absent(lost_rows, new_rows))


def _temporary(stratum: Stratum, *phases: str) -> tuple[str, ...]:
    return tuple(total(phase, name) for phase in phases for name in sorted(stratum.names))


def _stratum(
    definitions: tuple[Definition, ...], subgoals: Subgoals, before: Mapping[str, Definition]
) -> Stratum:
    names = frozenset(definition.name for definition in definitions)
    kept, dropped, added = {}, {}, {}
    for d in definitions:
        new = rules_of(d, names)
        old = rules_of(before[d.name], names) if d.name in before else ()
        kept[d.name] = tuple(rule for rule in new if rule in old)
        added[d.name] = tuple(rule for rule in new if rule not in old)
        dropped[d.name] = tuple(rule for rule in old if rule not in new)
    return Stratum(definitions, subgoals, kept, dropped, added)


def _together(one: Maintained, other: Maintained) -> Maintained:
    return Maintained(
        {**one.deltas, **other.deltas},
        one.overdeleted + other.overdeleted,
        one.rederived + other.rederived,
        one.inserted + other.inserted,
        (*one.temporary, *other.temporary),
    )
