"""The rounds of a recursion as plans to read: what starts each phase, and what a round derives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.counts import consolidated, is_counted, plain, weighted
from viewkeeper.algebra.relations import Fixpoint, Relation
from viewkeeper.delta.rules import delta
from viewkeeper.maintenance.dred.algorithm import loops
from viewkeeper.maintenance.dred.changed_subgoals import Changes
from viewkeeper.maintenance.recursion.levels import recursion
from viewkeeper.maintenance.recursion.port import Derivation
from viewkeeper.maintenance.recursion.seminaive import Loop, World, first_evaluation
from viewkeeper.maintenance.recursion.stored_strata import stored_rows
from viewkeeper.maintenance.recursion.strata import strata
from viewkeeper.maintenance.steps import EvaluateFixpoint, MaintainFixpoint
from viewkeeper.maintenance.strategy import bound

Phase = tuple[str, Mapping[str, Relation]]


def phases(step: EvaluateFixpoint | MaintainFixpoint) -> Iterator[Phase]:
    """Each phase with its plans, seeds first; phases that nothing starts are left out."""
    names = ", ".join(relation for _, relation in step.relations)
    if not step.fixpoint.distinct:
        yield f"Levels of {names}", _levels(step.fixpoint, step)
        return
    for loop in _loops(step):
        seeds, rounds = _plans("seed of ", loop.seeds, step), _plans("round of ", loop.steps, step)
        if seeds:
            until = ", until a round derives nothing" if rounds else ""
            once = _plans("", loop.begun, step)
            yield f"{loop.phase} of {names}{until}", {**once, **seeds, **rounds}


def _loops(step: EvaluateFixpoint | MaintainFixpoint) -> list[Loop]:
    if isinstance(step, MaintainFixpoint):
        changes = Changes(step.inserted, step.deleted, dict(step.keys))
        found = loops(step.fixpoint, stored_rows(step.fixpoint, step.relations), changes, step.before)
        return [one for loop in found for one in (loop.first, loop) if one is not None]
    world = World(lambda rel: rel, {})
    return [first_evaluation(stratum, world) for stratum in strata(step.fixpoint.definitions)]


def _plans(
    title: str, derivations: Mapping[str, Derivation], step: EvaluateFixpoint | MaintainFixpoint
) -> dict[str, Relation]:
    return {
        f"{title}{name}": plain(bound(derivation.relation, step.counted))
        for name, derivation in derivations.items()
        if not derivation.is_void
    }


def _levels(fixpoint: Fixpoint, step: EvaluateFixpoint | MaintainFixpoint) -> dict[str, Relation]:
    """The first level, or its change, and what makes the next level from the one before."""
    parts = recursion(fixpoint)
    base, title = parts.base, "level 0"
    if isinstance(step, MaintainFixpoint):
        base, title = delta(parts.base, step.inserted), "change of level 0"
    plans = {title: base, "step to the next level": parts.step}
    found = {name: bound(rel, step.counted) for name, rel in plans.items() if not is_empty(rel)}
    return {
        name: consolidated(weighted(rel)) if is_counted(rel) else plain(rel) for name, rel in found.items()
    }
