"""How what is done for a view is called: by its strata, each of which has one algorithm.

A recursion is maintained by DRed, an aggregate by its summary-delta, and all else by counting. A view is
called by what its top stratum is; where that only selects, projects and unites rows of the strata below it
(HAVING, GROUPING SETS), by what these are, if it is one thing.
"""

from __future__ import annotations

from viewkeeper.algebra.relations import Filter, Fixpoint, Project, Relation, Scan, UnionAll
from viewkeeper.algebra.walk import base_tables, children, nodes
from viewkeeper.maintenance.id_diffs.strategy import ID_DIFFS, TUPLE_DIFFS
from viewkeeper.maintenance.steps import (
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Script,
)
from viewkeeper.maintenance.strategy import Stratum, View

COUNTING = "counting"
SUMMARY_DELTA = "summary-delta"
DRED = "dred"
RECOMPUTE = "recompute"


def of_stratum(stratum: Stratum) -> str:
    """What maintains one stratum."""
    if stratum.query is not None and any(isinstance(node, Fixpoint) for node in nodes(stratum.query)):
        return DRED
    if stratum.state is not None and stratum.state.aggregate.aggregates:
        return SUMMARY_DELTA
    return COUNTING


def of_view(view: View) -> str:
    """What maintains a view, stratum by stratum, in one word."""
    below = {stratum.name: stratum for stratum in view.strata[:-1]}
    top = view.top
    if top.query is None or top.state is not None or top.buffer is not None or not _passes(top.query):
        return of_stratum(top)
    names = {of_stratum(below[table]) if table in below else COUNTING for table in base_tables(top.query)}
    return names.pop() if len(names) == 1 else COUNTING


def _passes(rel: Relation) -> bool:
    """Whether a plan only selects, projects and unites rows."""
    if not isinstance(rel, (Scan, Filter, Project, UnionAll)):
        return False
    return all(map(_passes, children(rel)))


def of_script(view: View, script: Script) -> dict[str, str]:
    """What a script does for each stored relation of a view."""
    strata = {stratum.name: of_stratum(stratum) for stratum in view.strata}
    found: dict[str, str] = {}
    for step in script:
        match step:
            case AppendLayer():
                found[step.relation] = strata.get(step.relation, COUNTING)
            case MaintainFixpoint():
                found |= {relation: DRED for _, relation in step.relations}
            case EvaluateFixpoint():
                found |= {relation: RECOMPUTE for _, relation in step.relations}
            case ReplaceMain():
                found[step.relation] = RECOMPUTE
            case ApplyDiffs():
                found[view.name] = TUPLE_DIFFS if step.definition.tuple_based else ID_DIFFS
            case Compute():
                pass
    return found
