"""Which rule of which paper is behind a step, in a few words for people."""

from __future__ import annotations

from typing import assert_never

from viewkeeper.maintenance.steps import (
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Step,
)

SUMMARY_DELTA = "mumick97, section 4.1: a summary-delta table, computed from the changes alone"
MERGED = "mumick97, section 4.2: the summary-delta is merged into the groups that are stored"
LOST = "mumick97, section 4.2, and quass96: groups that may have lost an extreme are computed anew"
COUNTING = "gupta93, section 4: counting, one signed change for each row that came or went"
CHANGE = "gupta93, section 4: the change of a stratum, which the strata above it read"
DRED = "gupta93, section 7: overdelete, rederive, insert"
SEMI_NAIVE = "semi-naive evaluation: rounds, until one derives nothing new"
DIFFS = "katsis15, Tables 4 to 13: ID-based diffs, operator by operator"
LOG = "katsis15, section 4: the modification log of a table as ID-based diffs"
SHARED = "mumick97, section 5: what several views need is computed once"
RECOMPUTED = "the view's own query, evaluated anew"
LOOKED_AT = "quass96: the changed groups beside the stored ones, looked at once"
KEPT = "the first rows and some spare ones, merged with the change"


def rule_of(step: Step) -> str:
    """The rule behind a step."""
    match step:
        case AppendLayer(note="summary-delta"):
            return MERGED
        case AppendLayer(recomputed=True) | AppendLayer(replaces=True):
            return LOST
        case AppendLayer():
            return COUNTING
        case Compute():
            return _of_result(step)
        case ReplaceMain():
            return RECOMPUTED
        case EvaluateFixpoint():
            return SEMI_NAIVE
        case MaintainFixpoint():
            return DRED
        case ApplyDiffs():
            return DIFFS
        case _:
            assert_never(step)


def _of_result(step: Compute) -> str:
    if step.shared:
        return SHARED
    if step.log is not None:
        return LOG
    if "⋈ stored" in step.note:
        return LOOKED_AT
    if step.note.startswith("Δ("):
        return CHANGE
    if step.note.startswith("buffer"):
        return KEPT
    return SUMMARY_DELTA if "delta" in step.note or "prepare" in step.note else LOST


def made_by(step: Step) -> str:
    """What a step makes: the result that it computes, or the relation that it changes."""
    match step:
        case Compute():
            return step.name
        case AppendLayer() | ReplaceMain():
            return step.relation
        case EvaluateFixpoint() | MaintainFixpoint():
            return ", ".join(relation for _, relation in step.relations)
        case ApplyDiffs():
            return step.definition.name
        case _:
            assert_never(step)
