"""Runs the Δ-script of a view that is kept by ID-based diffs: computes the diffs, appends the layers."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.merge.layers import SEQUENCE
from viewkeeper.algebra.merge.spec import DiffKind, IdDiff
from viewkeeper.algebra.prune import pruned
from viewkeeper.algebra.relations import Project, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import children, rewrite, scans
from viewkeeper.engine.rows import Held
from viewkeeper.maintenance import steps as planned
from viewkeeper.maintenance.id_diffs.inline import inlined
from viewkeeper.maintenance.id_diffs.schemas import base_tables
from viewkeeper.maintenance.id_diffs.script import Apply, ComputeDiff, computations
from viewkeeper.maintenance.id_diffs.strategy import hidden, hidden_name
from viewkeeper.maintenance.steps import delta_name
from viewkeeper.planning.physical import Input
from viewkeeper.planning.physical.plan import Leaf
from viewkeeper.side_by_side import workers
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import Answer
from viewkeeper.spark.frames import columns_of as columns_of_frame
from viewkeeper.spark.known_inputs import Inputs
from viewkeeper.spark.layer_frames import cast_to, place
from viewkeeper.spark.read import Source
from viewkeeper.sql.render import state_name
from viewkeeper.storage.relation import DataFile, RelationState, diff_schema

if TYPE_CHECKING:
    from viewkeeper.spark.execute import Execution

SIDE_BY_SIDE = 2
"""How many diffs are written at the same time: each is a small job."""


def run_diffs(execution: Execution, step: planned.ApplyDiffs) -> None:
    """The script for the base-table diffs that have rows."""
    definition = step.definition.widened if execution.engine.is_netting else step.definition
    script = definition.script(planned.diffs_present(step, frozenset(execution.empty)))
    results = _Results(execution, _changed_share(execution, step))
    there = {one.name for one in computations(script) if results.has(hidden_name(one.name))}
    steps = tuple(inlined(script.steps, there))
    with workers(sum(isinstance(one, Apply) for one in steps), SIDE_BY_SIDE) as pool:
        writer = _Writer(execution, pool, results)
        for one in steps:
            match one:
                case ComputeDiff():
                    if any(
                        scan.at is State.NEW and writer.is_pending(scan.table) for scan in scans(one.query)
                    ):
                        writer.settle()
                    results.compute(hidden_name(one.name), hidden(one.executable))
                case Apply():
                    writer.write(one)
        writer.settle()


def _changed_share(execution: Execution, step: planned.ApplyDiffs) -> float:
    """Which part of a table went through changes, at most: about as much of a cache is near them. A row that
    is updated goes and comes."""
    return max((_share(execution, table) for table in _tables(execution, step)), default=1.0)


def _tables(execution: Execution, step: planned.ApplyDiffs) -> list[str]:
    found = base_tables(step.definition.top, step.definition.schemas)
    return [table.name for table in found if delta_name(table.name) not in execution.empty]


def _share(execution: Execution, table: str) -> float:
    rows = sum(layer.rows for layer in execution.layers(table))
    return rows / 2 / max(1, execution.draft.relations[table].stored_rows)


@dataclass
class _Results:
    """The results of a script, and the number of operators that Spark sees behind each. `share` is which part
    of what is stored will be looked up, about."""

    execution: Execution
    share: float
    operators: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.execution.frames

    def compute(self, name: str, plan: Relation) -> None:
        """A result that is large to plan is written out: several steps use it, or it is applied."""
        frames, engine = self.execution.frames, self.execution.engine
        if self.has(name):
            return
        own = self._here(plan)
        if own is not None:
            frames[name] = own
            return
        frame, self.operators[name] = self._frame(name, plan)
        if self.operators[name] > engine.limits.diff_operators:
            columns = columns_of_frame(frame)
            files = engine.write_result(frame, self.execution.expected)
            frame, self.operators[name] = engine.files(RESULTS, files, columns), 1
        frames[name] = frame

    def _here(self, plan: Relation) -> Held | None:
        """The rows of a plan that is placed on the driver; what is stored is opened when it is looked at."""
        narrow, engine = rewrite(pruned(plan), _narrowed), self.execution.engine
        changed = [scan for scan in scans(narrow) if scan.at is State.DELTA]
        sources = {state_name(scan): self.execution.source(scan) for scan in changed}
        frames = self.execution.frames
        most = engine.limits.diff_lookups
        inputs = Inputs(engine, sources, frames, self._known, False, self.share, self._look_up, most)
        return inputs.here(narrow)

    def _known(self, leaf: Leaf) -> Input:
        return Input(read=self.execution.size(leaf)) if isinstance(leaf, Scan) else Input()

    def _look_up(self, plan: Relation) -> pa.Table | None:
        """The rows of a stored relation that known keys name; None where they are many."""
        engine = self.execution.engine
        sources, most = self._sources(plan), engine.limits.driver_join
        frame = Inputs(engine, sources, {}).run(plan)
        fits = sum(source.rows for source in sources.values()) <= engine.limits.diff_fetched
        table = engine.fetched(frame) if fits else engine.collected(frame, most + 1)
        return table if table.num_rows <= most else None

    def _frame(self, name: str, plan: Relation) -> tuple[DataFrame, int]:
        parts, rest = shared(rewrite(plan, _narrowed), lambda number: f"__part{number}{name}")
        for part in parts:
            self.compute(part.name, part.plan)
        frame = self.execution.inputs(self._sources(rest)).run(rest)
        return frame, self._behind(rest)

    def _sources(self, plan: Relation) -> dict[str, Source]:
        """The stored relations that a plan reads, each with the columns that it needs of them."""
        columns: dict[str, set[str]] = {}
        for scan in scans(plan):
            columns.setdefault(state_name(scan), set()).update(bound.source.name for bound in scan.bound)
        return {
            state_name(scan): self.execution.source(scan, frozenset(columns[state_name(scan)]))
            for scan in scans(plan)
        }

    def _behind(self, node: Relation) -> int:
        if isinstance(node, Reference):
            return self.operators.get(node.name, 1)
        own = self.execution.engine.limits.scan_operators if isinstance(node, Scan) else 1
        return own + sum(self._behind(child) for child in children(node))


def _narrowed(node: Relation) -> Relation:
    """A scan that only a projection reads has the columns that this needs."""
    if not isinstance(node, Project) or not isinstance(node.child, Scan):
        return node
    needed = {COUNT, *(name for output in node.outputs for name in columns_of(output.expr))}
    bound = tuple(item for item in node.child.bound if item.name in needed)
    return replace(node, child=replace(node.child, bound=bound)) if bound else node


@dataclass
class _Writer:
    """Diffs on their way to be layers. They are appended in the order of the script."""

    execution: Execution
    pool: Executor
    results: _Results
    pending: list[tuple[str, IdDiff, Future[tuple[DataFile, ...]]]] = field(default_factory=list)

    def is_pending(self, target: str) -> bool:
        return any(name == target for name, _, _ in self.pending)

    def write(self, step: Apply) -> None:
        draft, engine = self.execution.draft, self.execution.engine
        state = draft.relations[step.target]
        diff = layer_schema(state, step)
        columns = [column for column in diff_schema(state, diff) if column.name != SEQUENCE]
        before = sum(name == step.target for name, _, _ in self.pending)
        at = place(draft.next_sequence(step.target) + before)
        name = hidden_name(step.diff.name)
        found = self.execution.frames[name]
        rows: Answer
        if isinstance(found, Held) and found.has(columns):
            rows = found.select(columns)
        else:
            rows = cast_to(engine.frame(found), tuple(columns))
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
    kind = DiffKind(step.diff.schema.kind.value)
    wanted = {DiffKind.INSERT: state.names, DiffKind.DELETE: ()}.get(kind, step.sets)
    key = tuple(name for name in state.names if name in step.key)
    sets = tuple(name for name in state.names if name in wanted and name not in key)
    return IdDiff(kind, key, sets, step.diff.schema.counts)
