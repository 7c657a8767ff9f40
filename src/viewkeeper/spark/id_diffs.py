"""Runs the Δ-script of a view that is kept by ID-based diffs: computes the diffs, appends the layers."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.relations import Project, Reference, Relation, Scan, State
from viewkeeper.algebra.walk import children, rewrite, scans
from viewkeeper.delta.share import shared
from viewkeeper.maintenance.id_diffs.inline import inlined
from viewkeeper.maintenance.id_diffs.script import Apply, Compute, computations
from viewkeeper.maintenance.id_diffs.strategy import hidden, hidden_name
from viewkeeper.planning.steps import ApplyDiffs, diffs_present
from viewkeeper.spark.engine import RESULTS
from viewkeeper.spark.engine import columns_of as columns_of_frame
from viewkeeper.spark.layer_frames import place
from viewkeeper.sql.render import state_name
from viewkeeper.storage.id_layers import diff_schema
from viewkeeper.storage.layers import SEQUENCE
from viewkeeper.storage.relation import DataFile, DiffKind, IdDiff, RelationState

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution

SIDE_BY_SIDE = 2
"""How many diffs are written at the same time: each is a small job."""


LARGE = 80
"""Spark plans a result anew wherever it is used: one with more operators than this is written out first."""

SCAN = 5
"""About how many operators stand behind a stored relation and its layers."""


def run_diffs(execution: Execution, step: ApplyDiffs) -> None:
    """The script for the base-table diffs that have rows."""
    script = step.definition.script(diffs_present(step, frozenset(execution.empty)))
    there = {one.name for one in computations(script) if hidden_name(one.name) in execution.frames}
    steps, results = tuple(inlined(script.steps, there)), _Results(execution)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        writer = _Writer(execution, pool)
        for one in steps:
            match one:
                case Compute():
                    if any(
                        scan.at is State.NEW and writer.is_pending(scan.table) for scan in scans(one.query)
                    ):
                        writer.settle()
                    results.compute(hidden_name(one.name), hidden(one.executable))
                case Apply():
                    writer.write(one)
        writer.settle()


@dataclass
class _Results:
    """The results of a script, with the number of operators that Spark sees behind each."""

    execution: Execution
    operators: dict[str, int] = field(default_factory=dict)

    def compute(self, name: str, plan: Relation) -> None:
        """A result that is large to plan is written out: several steps use it, or it is applied."""
        frames, engine = self.execution.frames, self.execution.engine
        if name in frames:
            return
        frame, self.operators[name] = self._frame(name, plan)
        if self.operators[name] > LARGE:
            columns = columns_of_frame(frame)
            files = engine.write_result(frame, self.execution.expected)
            frame, self.operators[name] = engine.files(RESULTS, files, columns), 1
        frames[name] = frame

    def _frame(self, name: str, plan: Relation) -> tuple[DataFrame, int]:
        parts, rest = shared(rewrite(plan, _narrowed), lambda number: f"__part{number}{name}")
        for part in parts:
            self.compute(part.name, part.plan)
        frame = self.execution.engine.plan(rest, {**self._leaves(rest), **self.execution.frames})
        return frame, self._behind(rest)

    def _leaves(self, plan: Relation) -> dict[str, DataFrame]:
        """The stored relations that a plan reads, each with the columns that it needs of them."""
        columns: dict[str, set[str]] = {}
        for scan in scans(plan):
            columns.setdefault(state_name(scan), set()).update(bound.source.name for bound in scan.bound)
        return {
            state_name(scan): self.execution.source(scan, frozenset(columns[state_name(scan)])).frame
            for scan in scans(plan)
        }

    def _behind(self, node: Relation) -> int:
        if isinstance(node, Reference):
            return self.operators.get(node.name, 1)
        own = SCAN if isinstance(node, Scan) else 1
        return own + sum(self._behind(child) for child in children(node))


def _narrowed(node: Relation) -> Relation:
    """A scan that only a projection reads has the columns that this needs."""
    if not isinstance(node, Project) or not isinstance(node.child, Scan):
        return node
    needed = {name for output in node.outputs for name in columns_of(output.expr)}
    bound = tuple(item for item in node.child.bound if item.name in needed)
    return replace(node, child=replace(node.child, bound=bound)) if bound else node


@dataclass
class _Writer:
    """Diffs on their way to be layers. They are appended in the order of the script."""

    execution: Execution
    pool: ThreadPoolExecutor
    pending: list[tuple[str, IdDiff, Future[tuple[DataFile, ...]]]] = field(default_factory=list)

    def is_pending(self, target: str) -> bool:
        return any(name == target for name, _, _ in self.pending)

    def write(self, step: Apply) -> None:
        draft, engine = self.execution.draft, self.execution.engine
        state = draft.relations[step.target]
        diff = layer_schema(state, step)
        texts = [
            f"CAST(`{c.name}` AS {c.type}) AS `{c.name}`"
            for c in diff_schema(state, diff)
            if c.name != SEQUENCE
        ]
        before = sum(name == step.target for name, _, _ in self.pending)
        at = place(draft.next_sequence(step.target) + before)
        rows = self.execution.frames[hidden_name(step.diff.name)].selectExpr(*texts)
        written = self.pool.submit(engine.write, rows, state.folder, self.execution.expected, at)
        self.pending.append((step.target, diff, written))

    def settle(self) -> None:
        """Waits for what is being written, and appends it."""
        written = [(name, diff, future.result()) for name, diff, future in self.pending]
        self.pending.clear()
        for name, diff, files in written:
            self.execution.append_diff(name, files, diff)


def layer_schema(state: RelationState, step: Apply) -> IdDiff:
    """The layer that a diff becomes: its key and columns in the order of the relation."""
    if step.inserts_unmatched:
        kind, wanted = DiffKind.INSERT, set(state.names)
    elif step.deletes:
        kind, wanted = DiffKind.DELETE, set(step.key)
    else:
        kind, wanted = DiffKind.UPDATE, {*step.key, *step.sets}
    key = tuple(name for name in state.names if name in step.key)
    return IdDiff(kind, key, tuple(name for name in state.names if name in wanted - set(key)))
