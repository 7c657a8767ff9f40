"""Recursions inside a view as stored strata, one relation per definition (gupta93 sections 3 and 7).

    WITH RECURSIVE p(x, y) AS (… UNION …) SELECT x, COUNT(*) FROM p GROUP BY x
      → __v_1 = fixpoint p, a set
        v     = state of COUNT by (x) over __v_1

A UNION recursion is stored as a set and maintained by DRed; a UNION ALL recursion is stored as a bag
with the round of each row in `__level`, and maintained level by level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viewkeeper import limits
from viewkeeper.algebra.build import bound_columns, named_like, union_all
from viewkeeper.algebra.relations import Definition, Fixpoint, Project, Relation, Scan, State
from viewkeeper.algebra.walk import base_tables
from viewkeeper.delta.rules import delta
from viewkeeper.errors import CannotMaintain, Unsupported
from viewkeeper.maintenance.recursion.levels import LEVEL, recursion
from viewkeeper.maintenance.recursion.unfold import branches, rules_of, union_branches
from viewkeeper.maintenance.steps import EvaluateFixpoint, MaintainFixpoint
from viewkeeper.maintenance.strategy import Batch, Progress, Stratum, View


def is_storable(fixpoint: Fixpoint) -> bool:
    """Whether rounds can maintain it. Recursion over a set that has no meaning is an error."""
    if fixpoint.distinct:
        names = frozenset(definition.name for definition in fixpoint.definitions)
        return all(rules_of(definition, names) is not None for definition in fixpoint.definitions)
    try:
        parts = recursion(fixpoint)
        for rel in (parts.base, parts.step):
            delta(rel, frozenset(base_tables(rel)))
    except (Unsupported, CannotMaintain):
        return False
    return True


def recursive_strata(fixpoint: Fixpoint, names: Mapping[str, str]) -> tuple[Stratum, ...]:
    """One stratum per definition, the one that the fixpoint yields last."""
    relations = tuple((definition.name, names[definition.name]) for definition in fixpoint.definitions)
    others = [d.name for d in fixpoint.definitions if d.name != fixpoint.result]
    return tuple(
        Stratum(names[result], replace(fixpoint, result=result), relations=relations)
        for result in (*others, fixpoint.result)
    )


def fixpoint_shown(rel: Relation) -> Fixpoint | None:
    """The fixpoint that a view is, under the view's column names; None where it is more than that."""
    if isinstance(rel, Fixpoint):
        return rel
    if not isinstance(rel, Project) or not isinstance(rel.child, Fixpoint):
        return None
    shown = [output.expr.name for output in rel.outputs if output.is_column]
    if len(shown) < len(rel.outputs) or tuple(shown) != rel.child.columns:
        return None
    return _renamed(rel.child, rel.columns)


def _renamed(fixpoint: Fixpoint, columns: tuple[str, ...]) -> Fixpoint:
    def rename(definition: Definition) -> Definition:
        if definition.name != fixpoint.result:
            return definition
        found = branches(definition.body) if fixpoint.distinct else union_branches(definition.body)
        bodies = [named_like(branch, columns) for branch in found]
        return Definition(definition.name, columns, union_all(bodies, columns))

    return replace(fixpoint, definitions=tuple(rename(d) for d in fixpoint.definitions))


def stored_names(fixpoint: Fixpoint, name: str) -> tuple[str, ...]:
    """The columns that are stored of a definition."""
    columns = next(d.columns for d in fixpoint.definitions if d.name == name)
    return columns if fixpoint.distinct else (*columns, LEVEL)


def stored_rows(fixpoint: Fixpoint, relations: tuple[tuple[str, str], ...]) -> dict[str, Scan]:
    """The definitions' rows before the change."""
    return {
        name: Scan(relation, bound_columns(stored_names(fixpoint, name)), State.OLD)
        for name, relation in relations
    }


def evaluate_fixpoint(stratum: Stratum, view: View, batch: Batch) -> EvaluateFixpoint:
    """The step that writes a recursion anew, all its definitions together."""
    assert stratum.fixpoint is not None
    return EvaluateFixpoint(stratum.fixpoint, stratum.relations, view.limit, batch.stored.counted)


def maintain_fixpoint(
    stratum: Stratum, before: Stratum | None, work: Progress, view: View, batch: Batch
) -> MaintainFixpoint:
    """The step that maintains a recursion, all its definitions together, through a batch."""
    assert stratum.fixpoint is not None
    inputs = work.inputs(stratum) | (frozenset() if before is None else work.inputs(before))
    only_inserts = {name for name, change in batch.changes.items() if change.only_inserts}
    return MaintainFixpoint(
        stratum.fixpoint,
        stratum.relations,
        view.limit,
        batch.stored.counted,
        inserted=inputs,
        deleted=inputs - only_inserts,
        computed=work.computed,
        keys=_keys(view),
        before=None if before is None else before.fixpoint,
        share=limits.LIMITS.overdeleted_share if batch.may_recompute else None,
        only_from=() if before is not None else work.only_from(stratum),
    )


def _keys(view: View) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Which of the view's own relations are sets, and by which columns."""
    sets = [(s.name, s.fixpoint.columns) for s in view.strata if s.fixpoint and s.fixpoint.distinct]
    groups = [(s.name, s.state.keys) for s in view.strata if s.state is not None]
    return (*sets, *groups)
