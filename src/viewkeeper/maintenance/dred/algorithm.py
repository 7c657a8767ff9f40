"""DRed: delete, rederive, insert (gupta93 section 7). Set semantics, any stratified recursion.

    for each stratum, in order:   overdelete, rederive, insert       each a semi-naive loop (`dred_phases`)

    deleted(P) = δ⁻ − δʳ − Δ⁺,    inserted(P) = Δ⁺ − (δ⁻ − δʳ)           (Theorem 7.1)

Strata are maintained in order, so that the changes of a lower one are exact when a higher one reads them.
A changed definition is the same algorithm. Nothing is stored besides the definitions themselves. A stratum
that is a plain transitive closure has phases of its own (`closure`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.algebra.build import empty
from viewkeeper.algebra.relations import Definition, Fixpoint, Relation
from viewkeeper.errors import Diverged
from viewkeeper.maintenance.dred.changed_subgoals import Changes, SetDelta, Subgoals
from viewkeeper.maintenance.dred.closure import Closure, closure
from viewkeeper.maintenance.dred.phases import OVERDELETED, PHASES, RecursiveStratum
from viewkeeper.maintenance.recursion.port import Run, absent
from viewkeeper.maintenance.recursion.seminaive import Loop, saturate, total, totals
from viewkeeper.maintenance.recursion.strata import strata
from viewkeeper.maintenance.recursion.unfold import rules_of


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
    phases = closure(stratum) or stratum
    return [phases.overdelete(), phases.rederive(), phases.insert(stratum.remaining())]


def _maintain_stratum(stratum: RecursiveStratum, run: Run, enough: int | None) -> Maintained | Abandoned:
    phases: Closure | RecursiveStratum = stratum
    if closure(stratum) is not None:  # it looks up few rows at a time, and in each piece by itself
        stratum = stratum.in_pieces(run.pieces)
        phases = closure(stratum) or stratum
    overdeleted = _saturated(phases.overdelete(), run, enough)
    if enough is not None and overdeleted > enough:
        run.evaluator.drop(_temporary(stratum, OVERDELETED))
        return Abandoned(overdeleted)
    rederived = _saturated(phases.rederive(), run) if overdeleted else 0
    inserted = _saturated(phases.insert(stratum.remaining() if overdeleted else stratum.stored), run)
    deltas = {d.name: _set_delta(d, bool(overdeleted), bool(inserted)) for d in stratum.definitions}
    return Maintained(deltas, overdeleted, rederived, inserted, _temporary(stratum, *PHASES))


def _saturated(loop: Loop, run: Run, enough: int | None = None) -> int:
    """How many rows the loop derived; it is not run when nothing starts it."""
    if all(seed.is_void for seed in loop.seeds.values()):
        return 0
    return sum(saturate(loop, run, enough).values())


def _set_delta(definition: Definition, overdeleted: bool, inserted: bool) -> SetDelta:
    nothing = empty(definition.columns)
    gone, back, new = (totals(phase, (definition,))[definition.name] for phase in PHASES)
    lost_rows = absent(gone, back) if overdeleted else nothing
    new_rows = new if inserted else nothing
    return SetDelta(absent(new_rows, lost_rows), absent(lost_rows, new_rows))


def _temporary(stratum: RecursiveStratum, *phases: str) -> tuple[str, ...]:
    return tuple(total(phase, name) for phase in phases for name in sorted(stratum.names))


def _stratum(
    definitions: tuple[Definition, ...], subgoals: Subgoals, before: Mapping[str, Definition]
) -> RecursiveStratum:
    names = frozenset(definition.name for definition in definitions)
    kept, dropped, added = {}, {}, {}
    for d in definitions:
        new = rules_of(d, names)
        old = rules_of(before[d.name], names) if d.name in before else ()
        kept[d.name] = tuple(rule for rule in new if rule in old)
        added[d.name] = tuple(rule for rule in new if rule not in old)
        dropped[d.name] = tuple(rule for rule in old if rule not in new)
    return RecursiveStratum(definitions, subgoals, kept, dropped, added)


def _together(one: Maintained, other: Maintained) -> Maintained:
    return Maintained(
        {**one.deltas, **other.deltas},
        one.overdeleted + other.overdeleted,
        one.rederived + other.rederived,
        one.inserted + other.inserted,
        (*one.temporary, *other.temporary),
    )
