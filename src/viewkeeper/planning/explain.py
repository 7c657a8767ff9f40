"""How a view is maintained, told from the same steps that are executed."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.show import show
from viewkeeper.delta.share import shared
from viewkeeper.maintenance.id_diffs import Apply
from viewkeeper.maintenance.id_diffs.strategy import hidden, hidden_name
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.planning.phases import phases
from viewkeeper.planning.planner import Choice
from viewkeeper.planning.steps import (
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Step,
)
from viewkeeper.report import Reason
from viewkeeper.sql.render import render


@dataclass(frozen=True)
class ExplainedStep:
    """One step of the Δ-script: what it does, and the SQL that does it."""

    title: str
    sql: str


@dataclass(frozen=True)
class Explanation:
    """Strategy, reasons, rejected alternatives, state kept and Δ-script of one view."""

    view: str
    strategy: str
    reason: Reason
    rejected: tuple[tuple[str, Reason], ...]
    changed: tuple[str, ...]
    plan: str
    state: tuple[str, ...]
    steps: tuple[ExplainedStep, ...]

    def __str__(self) -> str:
        parts = [
            f"{self.view}: {self.strategy}",
            f"  {self.reason}",
            f"  for changes of {', '.join(self.changed) or 'nothing'}",
            *(f"  not {name}: {reason}" for name, reason in self.rejected),
            *(f"  keeps {name}" for name in self.state),
            "",
            "The view:",
            _indented(self.plan),
        ]
        for number, step in enumerate(self.steps, start=1):
            parts += ["", f"Step {number}. {step.title}", *([_indented(step.sql)] if step.sql else [])]
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "view": self.view,
            "strategy": self.strategy,
            "reason": {"code": self.reason.code, "sentence": self.reason.sentence},
            "rejected": [{"strategy": n, "code": r.code, "sentence": r.sentence} for n, r in self.rejected],
            "changed": list(self.changed),
            "plan": self.plan,
            "state": list(self.state),
            "steps": [{"title": step.title, "sql": step.sql} for step in self.steps],
        }

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def explanation(view: View, batch: Batch, choice: Choice) -> Explanation:
    """What a refresh of this view would do with these changes."""
    script = choice.strategy.plan(view, batch)
    steps = [explained for step in script for explained in _explained(step)]
    plan = "\n\n".join(f"{s.name} =\n{show(s.query)}" for s in view.strata if s.query is not None)
    return Explanation(
        view.name,
        choice.strategy.name,
        choice.reason,
        choice.rejected,
        tuple(sorted(batch.changes)),
        plan or view.sql,
        tuple(stratum.name for stratum in choice.strategy.state(view)),
        tuple(steps),
    )


def _explained(step: Step) -> list[ExplainedStep]:
    match step:
        case Compute():
            return _sql_steps(f"Compute {step.name} ({step.note})", step.plan)
        case AppendLayer() if is_empty(step.plan):
            return []
        case AppendLayer():
            verb = "Replace groups of" if step.replaces else "Append to"
            found = _sql_steps(f"{verb} {step.relation} ({step.note})", step.plan)
            if step.recomputed is not None:
                found += _sql_steps(f"and for {step.relation} the groups computed anew", step.recomputed)
            return found
        case ReplaceMain():
            title = f"Write {step.relation} anew ({step.note})"
            return [ExplainedStep(title, step.sql)] if step.plan is None else _sql_steps(title, step.plan)
        case EvaluateFixpoint() | MaintainFixpoint():
            return [ExplainedStep(title, _rounds(plans)) for title, plans in phases(step)]
        case ApplyDiffs():
            return _diffs(step)
        case _:
            assert_never(step)


def _diffs(step: ApplyDiffs) -> list[ExplainedStep]:
    """The Δ-script for every base-table diff that may have rows; the logs are steps of their own."""
    found: list[ExplainedStep] = []
    logs = {log for _, log, _ in step.flags}
    for one in step.definition.script(step.possible).steps:
        if isinstance(one, Apply):
            found.append(ExplainedStep(f"Append {one.diff.name} to {one.target}: {one}", ""))
        elif hidden_name(one.name) not in logs:
            title = f"Compute {one.name}" if one.schema is None else f"Compute {one.name}: {one.schema}"
            found += _sql_steps(title, hidden(one.executable))
    return found


def _rounds(plans: Mapping[str, Relation]) -> str:
    return "\n\n".join(f"-- {title}\n{render(plan)}" for title, plan in plans.items())


def _sql_steps(title: str, plan: Relation) -> list[ExplainedStep]:
    """The SQL of a plan; what it uses twice is shown as a step of its own, as it is run."""
    parts, rest = shared(plan)
    named = [ExplainedStep(f"Keep {part.name}", render(part.plan)) for part in parts]
    return [*named, ExplainedStep(title, render(rest))]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
