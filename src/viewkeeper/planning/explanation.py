"""How a view is maintained, told from the same steps that are executed."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, assert_never

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.relations import Relation
from viewkeeper.algebra.walk import base_tables
from viewkeeper.maintenance.id_diffs import Apply
from viewkeeper.maintenance.id_diffs.by_default import is_of_rows
from viewkeeper.maintenance.id_diffs.strategy import ID_DIFFS, hidden, hidden_name
from viewkeeper.maintenance.incremental import Incremental
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.summary import Summary
from viewkeeper.maintenance.names import SUMMARY_DELTA, of_script
from viewkeeper.maintenance.steps import (
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Step,
)
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.maintenance.summary_delta.figures import figures
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts as Changes
from viewkeeper.maintenance.summary_delta.sources import first_aggregation, is_merged
from viewkeeper.planning.accesses import Accesses, accesses
from viewkeeper.planning.cost import Estimate
from viewkeeper.planning.phases import phases
from viewkeeper.planning.physical import Facts, Physical, lowered, shown
from viewkeeper.planning.physical.plan import leaves
from viewkeeper.planning.planner import RECOMPUTE, Choice
from viewkeeper.planning.rules_told import made_by, rule_of
from viewkeeper.planning.shared_work import SharedWork
from viewkeeper.report import Reason
from viewkeeper.sql.render import render, state_name
from viewkeeper.sql.show import show

Lower = Callable[[Relation], Physical]
"""How a plan would be run."""


def unbound(plan: Relation) -> Physical:
    """How a plan would be run if nothing were known of what it reads."""
    return lowered(plan, Facts({}))


FIGURES = "As mumick97 writes it (Figures 2, 3, 6 and 7)"


@dataclass(frozen=True)
class ExplainedStep:
    """One step of the Δ-script: what it does, and the SQL that does it.

    `name` is what it makes, and `reads` what it reads; `how` says how that is run, `rule` by which rule of
    which paper.
    """

    title: str
    sql: str
    name: str = ""
    reads: tuple[str, ...] = ()
    how: str = ""
    rule: str = ""


@dataclass(frozen=True)
class Explanation:
    """How one view is, or would be, maintained: the choice, all alternatives, the state kept, the Δ-script.

    `expected` is the cost of every strategy that could do it, `rejected` the reason of every one that could
    not. `last` is what the last refresh of the view was expected to cost, and did. `parent` is the view whose
    summary-delta this one's comes from, and `figures` how mumick97 writes the summary-delta and the refresh.
    `shares` are steps that are done once for this view and for others, which it names. `fresh` are keys whose
    rows are looked up in the changes, because all their changed values are new or gone. `note` says what the
    view's text leaves open. `strata` are the names of what is done for each stored relation; `alone` is why a
    view is no summary table that takes part in a lattice, and `no_ids` why rows are stored without IDs.
    `accesses` are those of updates by ID-based diffs, as katsis15 reckons them. `files` is who reads and
    writes files of an object store.
    """

    view: str
    strategy: str
    reason: Reason
    expected: tuple[tuple[str, Estimate], ...]
    rejected: tuple[tuple[str, Reason], ...]
    changed: tuple[str, ...]
    plan: str
    state: tuple[tuple[str, int | None], ...]
    steps: tuple[ExplainedStep, ...]
    last: Mapping[str, Any] | None = None
    parent: str | None = None
    figures: str = ""
    shares: Mapping[str, list[str]] = field(default_factory=dict)
    fresh: tuple[str, ...] = ()
    note: str = ""
    strata: Mapping[str, str] = field(default_factory=dict)
    alone: Reason | None = None
    files: str = ""
    no_ids: Reason | None = None
    accesses: tuple[Accesses, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{self.view}: {self.strategy}",
            f"  {self.reason}",
            f"  for changes of {', '.join(self.changed) or 'nothing'}",
            *([f"  {self.note}"] if self.note else []),
            *(
                f"  {'takes' if name == self.strategy else 'or'} {name}: {cost}"
                for name, cost in self.expected
            ),
            *(f"  not {name}: {reason}" for name, reason in self.rejected),
            *(f"  {relation}: {done}" for relation, done in self.strata.items() if len(self.strata) > 1),
            *(f"  {line}" for line in self.why_alone()),
            *([f"  stored without IDs: {self.no_ids}"] if self.no_ids else []),
            *(f"  with indexes, {one}" for one in self.accesses),
            *(f"  keeps {kept}" for kept in self.kept()),
            *([f"  by way of {self.parent}"] if self.parent else []),
            *(f"  {shared}" for shared in shared_with(self.shares)),
            *(f"  {key} only came or went: looked up in the changes" for key in self.fresh),
            *([f"  last: {self.last_refresh()}"] if self.last else []),
            *([f"  {self.files}"] if self.files else []),
            "",
            "The view:",
            _indented(self.plan),
        ]
        for number, step in enumerate(self.steps, start=1):
            parts += ["", f"Step {number}. {step.title}", *([_indented(step.sql)] if step.sql else [])]
        if self.figures:
            parts += ["", f"{FIGURES}:", _indented(self.figures)]
        return "\n".join(parts)

    def why_alone(self) -> list[str]:
        """Why the view takes part in no lattice; one that is maintained otherwise is no summary table at
        all."""
        if self.alone is None:
            return []
        is_summed_up = SUMMARY_DELTA in (self.strategy, *self.strata.values())
        return [f"{'in no lattice' if is_summed_up else 'no summary table'}: {self.alone}"]

    def kept(self) -> list[str]:
        """The relations stored for the view, with their sizes."""
        return [name if rows is None else f"{name} ({rows:,} rows)" for name, rows in self.state]

    def last_refresh(self) -> str:
        """One line on what the last refresh did and cost."""
        last = self.last or {}
        details = last.get("details", {})
        line = f"{last.get('strategy')} in {last.get('seconds', 0):.2g} s"
        if "estimate" in details:
            line += f", expected {details['estimate']['seconds']:.2g} s"
        line += f"; {last.get('rows_read', 0):,} rows read, {last.get('rows_written', 0):,} written"
        line += f"; by way of {details['parent']}" if details.get("parent") else ""
        return "; ".join([line, *shared_with(details.get("shares", {}))])

    def to_dict(self) -> dict[str, Any]:
        return {
            "view": self.view,
            "strategy": self.strategy,
            "reason": {"code": self.reason.code, "sentence": self.reason.sentence},
            "expected": {name: cost.to_dict() for name, cost in self.expected},
            "rejected": [{"strategy": n, "code": r.code, "sentence": r.sentence} for n, r in self.rejected],
            "changed": list(self.changed),
            "plan": self.plan,
            "state": [{"relation": name, "rows": rows} for name, rows in self.state],
            "steps": [{**asdict(step), "reads": list(step.reads)} for step in self.steps],
            "last": dict(self.last) if self.last else None,
            "parent": self.parent,
            "shares": dict(self.shares),
            "fresh": list(self.fresh),
            "figures": self.figures,
            "note": self.note,
            "strata": dict(self.strata),
            "alone": None if self.alone is None else asdict(self.alone),
            "no_ids": None if self.no_ids is None else asdict(self.no_ids),
            "accesses": [{**asdict(one), "speedup": one.speedup} for one in self.accesses],
        }

    def _repr_html_(self) -> str:
        """For notebooks: the choice as a table, the plan and each step to unfold."""
        text = html.escape
        head = f"<b>{text(self.view)}</b>: {text(self.strategy)}. {text(self.reason.sentence)}"
        costs = [(name, str(cost)) for name, cost in self.expected]
        refused = [(name, str(reason)) for name, reason in self.rejected]
        rows = "".join(f"<tr><td>{text(n)}</td><td>{text(why)}</td></tr>" for n, why in (*costs, *refused))
        more = [("The view", self.plan), *((step.title, step.sql) for step in self.steps)]
        more += [(FIGURES, self.figures)] if self.figures else []
        folded = "".join(
            f"<details><summary>{text(title)}</summary><pre>{text(body)}</pre></details>"
            for title, body in more
        )
        kept = f"<p>Keeps {text(', '.join(self.kept()))}.</p>" if self.state else ""
        kept += "".join(f"<p>{text(shared)}.</p>" for shared in shared_with(self.shares))
        kept += f"<p>{text(self.note.capitalize())}.</p>" if self.note else ""
        last = f"<p>Last: {text(self.last_refresh())}.</p>" if self.last else ""
        return f"<div><p>{head}</p><table>{rows}</table>{kept}{last}{folded}</div>"


def explanation(
    view: View,
    batch: Batch,
    choice: Choice,
    last: Mapping[str, Any] | None = None,
    edge: Edge | None = None,
    common: SharedWork | None = None,
    lower: Lower = unbound,
) -> Explanation:
    """What a refresh of this view would do with these changes, and with what other views go through; `lower`
    tells how a plan would be run."""
    common = common or SharedWork({view.name: choice.taken.script})
    script = (*common.parts_of(view.name), *common.scripts[view.name])
    steps = [
        replace(explained, name=explained.name or made_by(step), rule=rule_of(step))
        for step in script
        for explained in _explained(step, lower)
    ]
    is_summary_delta = isinstance(choice.strategy, Incremental) and is_merged(view, batch)
    plan = "\n\n".join(f"{s.name} =\n{show(s.query)}" for s in view.strata if s.query is not None)
    return Explanation(
        view.name,
        choice.strategy.name,
        choice.reason,
        tuple((one.strategy.name, one.expected) for one in choice.alternatives),
        choice.rejected,
        tuple(sorted(batch.changes)),
        plan or view.sql,
        tuple((s.name, batch.stored.sizes.get(s.name)) for s in choice.strategy.state(view)),
        tuple(steps),
        last,
        edge.parent.name if edge is not None and is_summary_delta else None,
        _figures(view, batch, edge) if is_summary_delta else "",
        common.sharers(view.name),
        () if choice.strategy is RECOMPUTE else tuple(str(keys) for keys in batch.fresh),
        strata=of_script(view, choice.taken.script),
        alone=_why_alone(view, choice),
        no_ids=_why_no_ids(view, choice),
        accesses=_accesses(view, batch, choice),
    )


def _why_alone(view: View, choice: Choice) -> Reason | None:
    """Why a view that is maintained change by change is no summary, and gets and gives no summary-deltas."""
    is_maintained = isinstance(choice.strategy, Incremental)
    return view.summary if is_maintained and isinstance(view.summary, Reason) else None


def _why_no_ids(view: View, choice: Choice) -> Reason | None:
    """Why rows are stored without IDs; a view that asked for ID-based diffs is told of a refusal."""
    refused = any(why == view.by_ids for _, why in choice.rejected)
    is_row = view.top.state is None and view.top.fixpoint is None and view.top.buffer is None
    return view.by_ids if isinstance(view.by_ids, Reason) and is_row and not refused else None


def _accesses(view: View, batch: Batch, choice: Choice) -> tuple[Accesses, ...]:
    """The accesses of each table's update, where rows are updated by ID-based diffs; a row that is updated
    goes and comes."""
    if choice.strategy.name != ID_DIFFS or view.query is None or not is_of_rows(view.query):
        return ()
    updates = {name: one.rows / 2 for name, one in batch.changes.items() if one.updates is not None}
    tables, rows = base_tables(view.query), batch.stored.sizes
    return tuple(accesses(view.name, tables, name, diff, rows) for name, diff in updates.items())


def shared_with(shares: Mapping[str, list[str]]) -> list[str]:
    """One phrase for each result that several views use."""
    return [f"shares {name} with {', '.join(views)}" for name, views in shares.items()]


def _figures(view: View, batch: Batch, edge: Edge | None) -> str:
    if not isinstance(view.summary, Summary):
        return ""
    first = None if edge is not None else first_aggregation(view.summary.cube, batch)
    changes = Changes(batch.changed, batch.only_inserts)
    return figures(view.summary.cube, changes, edge, first.parent if first is not None else None)


def _explained(step: Step, lower: Lower) -> list[ExplainedStep]:
    match step:
        case Compute():
            return _sql_steps(f"Compute {step.name} ({step.note})", step.plan, lower)
        case AppendLayer() if is_empty(step.plan):
            return []
        case AppendLayer():
            verb = "Replace groups of" if step.replaces else "Append to"
            return _sql_steps(f"{verb} {step.relation} ({step.note})", step.plan, lower)
        case ReplaceMain():
            told = ", and log what is different" if step.compared else ""
            title = f"Write {step.relation} anew ({step.note}){told}"
            return (
                [ExplainedStep(title, step.sql)] if step.plan is None else _sql_steps(title, step.plan, lower)
            )
        case EvaluateFixpoint() | MaintainFixpoint():
            return [ExplainedStep(title, _rounds(plans)) for title, plans in phases(step)]
        case ApplyDiffs():
            return _diffs(step, lower)
        case _:
            assert_never(step)


def _diffs(step: ApplyDiffs, lower: Lower) -> list[ExplainedStep]:
    """The Δ-script for every base-table diff that may have rows; the logs are steps of their own."""
    found: list[ExplainedStep] = []
    logs = {log for _, log, _ in step.flags}
    for one in step.definition.script(step.possible).steps:
        if isinstance(one, Apply):
            found.append(ExplainedStep(f"Append {one.diff.name} to {one.target}: {one}", ""))
        elif hidden_name(one.name) not in logs:
            title = f"Compute {one.name}" if one.schema is None else f"Compute {one.name}: {one.schema}"
            found += _sql_steps(title, hidden(one.executable), lower)
    return found


def _rounds(plans: Mapping[str, Relation]) -> str:
    return "\n\n".join(f"-- {title}\n{render(plan)}" for title, plan in plans.items())


def _sql_steps(title: str, plan: Relation, lower: Lower) -> list[ExplainedStep]:
    """The physical plan of a plan, fragment by fragment, as it is run."""
    physical = lower(plan)
    found = []
    for fragment, (words, sql) in zip(physical.fragments, shown(physical), strict=True):
        of = f"Name {fragment.name}" if fragment.name else title
        read = tuple(sorted({state_name(leaf) for leaf in leaves(fragment.plan)}))
        found.append(ExplainedStep(f"{of}: {words}" if words else of, sql, fragment.name, read, words))
    return found


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
