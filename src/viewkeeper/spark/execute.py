"""Runs a Δ-script: binds the leaves of each plan to stored relations, lowers it, writes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.clock import is_clock
from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.merge.spec import IdDiff
from viewkeeper.algebra.relations import Form, Reference, Relation, Scan, State, Values
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.engine.port import Place
from viewkeeper.engine.rows import Held
from viewkeeper.maintenance.numbered_parts import part_of
from viewkeeper.maintenance.steps import (
    BESIDE,
    AppendLayer,
    ApplyDiffs,
    Compute,
    EvaluateFixpoint,
    MaintainFixpoint,
    ReplaceMain,
    Script,
    Step,
    delta_name,
    flag,
    is_needed,
)
from viewkeeper.planning.physical import Input, Physical
from viewkeeper.planning.physical.plan import Leaf
from viewkeeper.planning.rules_told import made_by
from viewkeeper.rewrite.at_instant import at_instant
from viewkeeper.rewrite.bounds import bounds
from viewkeeper.spark.anew import write_anew
from viewkeeper.spark.arrow import has_plain_types
from viewkeeper.spark.constants import Constants
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.frames import Answer, columns_of, counted, slot
from viewkeeper.spark.id_diffs import run_diffs
from viewkeeper.spark.known_inputs import Inputs, opened
from viewkeeper.spark.layer_frames import cast_to, layer_columns, place
from viewkeeper.spark.pinned import Pinned
from viewkeeper.spark.read import Read, Reader, Source, for_users
from viewkeeper.spark.recursion import run_evaluation, run_maintenance
from viewkeeper.spark.user_text import dated_text
from viewkeeper.sql.parse import clocks_read
from viewkeeper.sql.render import state_name
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.storage import clocks
from viewkeeper.storage.footers import OneOf
from viewkeeper.storage.relation import DataFile, Layer, RelationState
from viewkeeper.tracing import span


def _silent(line: str) -> None:
    """Progress that nobody listens to."""


@dataclass(frozen=True)
class Result:
    """What a script has computed, and how many rows it has; what is `held` is on the driver."""

    rows: Answer | None
    number: int
    held: Held | None = None


@dataclass
class Execution(Pinned):
    """One view's script at work; `expected` is about how many rows it will write."""

    rows_written: int = 0
    groups_recomputed: int = 0
    skipped: int = 0
    frames: dict[str, Answer] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    recomputed: list[str] = field(default_factory=list)
    progress: Callable[[str], None] = _silent
    expected: int | None = None
    told: list[dict[str, Any]] = field(default_factory=list)

    def run(self, script: Script) -> None:
        with self.engine.keeping():
            for step in script:
                if is_needed(step, frozenset(self.empty)):
                    self._timed(step)
                else:
                    self.skipped += 1
                    self._mark_empty(step)

    def _timed(self, step: Step) -> None:
        """Runs a step, and tells the rows that it wrote and the seconds that it took."""
        name, before, started = made_by(step), self.rows_written, time.perf_counter()
        with span("viewkeeper.step", step=type(step).__name__, makes=name):
            self._run(step)
        rows = self.sizes.get(name, self.rows_written - before)
        self.told.append({"step": name, "rows": rows, "seconds": round(time.perf_counter() - started, 4)})

    def _run(self, step: Step) -> None:
        match step:
            case Compute(held=True):
                self._hold(step)
            case Compute(counted=True):
                self._write_result(step)
            case Compute():
                self.frames[step.name] = self.answer(step.plan, is_part=True)
            case AppendLayer():
                self._append(step)
                if not self.layers(step.relation):
                    self.empty.add(delta_name(step.relation))
            case ReplaceMain():
                write_anew(self, step.relation, self.query_of(step.plan, step.sql), step.compared)
            case EvaluateFixpoint():
                run_evaluation(self, step)
            case MaintainFixpoint():
                run_maintenance(self, step)
            case ApplyDiffs():
                run_diffs(self, step)

    def frame(self, plan: Relation) -> DataFrame:
        """The DataFrame of a plan with explicit counts."""
        return self.engine.frame(self.answer(plan))

    def answer(self, plan: Relation, is_part: bool = False) -> Answer:
        """The rows of a plan with explicit counts, wherever it is run."""
        timed = at_instant(plan, self._shown)
        if part_of(timed) is None:
            timed = rewrite(timed, self._own_part) if self.held else timed
        return self.inputs(self._opened(timed, timed is not plan)).answer(timed, is_part)

    def physical(self, plan: Relation) -> Physical:
        """How a plan would be run now; nothing is. What it reads and is not there yet is not known."""
        plan = at_instant(plan, self._shown)
        known = (scan for scan in scans(plan) if scan.table in self.draft.relations)
        return self.inputs({state_name(scan): self.source(scan) for scan in known}).physical(plan)

    def _shown(self, scan: Scan) -> Values:
        """What a clock shows, or how that has changed, as rows of a plan."""
        state = self._state(scan)
        if scan.at is not State.DELTA:
            return replace(clocks.row(state), columns=scan.columns)
        return replace(clocks.change(self.old.get(scan.table, state), state), columns=scan.columns)

    def _opened(self, plan: Relation, is_timed: bool) -> dict[str, Source]:
        """What a plan reads; of one that depends on the clock, the files in which its rows may be."""
        if not is_timed:
            return opened(plan, self.source)
        found = bounds(plan, state_name, Constants(self.engine).beside)
        wanted = {name: OneOf(ranges) for name, ranges in found.items()}
        return opened(plan, lambda scan: self.source(scan, wanted=wanted.get(state_name(scan))))

    def inputs(self, sources: Mapping[str, Source]) -> Inputs:
        """What is known of stored relations, and of what was computed so far."""
        return Inputs(self.engine, sources, {**self.held, **self.frames}, self._known, has_values=True)

    def _known(self, leaf: Leaf) -> Input:
        """How many rows there are behind a leaf of a plan, and what its key is."""
        state = self.draft.relations.get(leaf.table) if isinstance(leaf, Scan) else None
        key = () if state is None else state.merge.key if state.merge else state.key
        return Input(self.rows_behind(leaf), key=key)

    def rows_behind(self, leaf: Scan | Reference) -> float:
        """At most how many rows a leaf has, as far as that is known; a group that layers mention has one row
        before and one after, and an ID-based diff may name every row."""
        if isinstance(leaf, Reference):
            return self.sizes.get(leaf.name, inf)
        if is_clock(leaf.table):
            return 2
        if leaf.at is State.DELTA:
            layers = self.layers(leaf.table)
            if any(layer.diff is not None for layer in layers):
                return 2 * self.size(leaf)
            return 2 * sum(layer.rows for layer in layers) or inf
        return self.size(leaf)

    def _own_part(self, node: Relation) -> Relation:
        """What a plan takes from a result that the driver holds, as a result by itself."""
        part = part_of(node)
        if part is None or part.result not in self.held:
            return node
        name = f"{part.result}__{part.number}"
        if name not in self.frames:
            own = self.answer(node)
            self.frames[name] = self.engine.stored(own) if isinstance(own, Held) else own
            self.sizes[name] = own.rows if isinstance(own, Held) else self.held[part.result].rows
        return Reference(name, node.columns)

    def result(self, name: str) -> Result:
        """A result that was written or fetched, for scripts of other views."""
        return Result(self.frames.get(name), self.sizes.get(name, 0), self.held.get(name))

    def supply(self, name: str, result: Result) -> None:
        """A result of another script, which plans of this one refer to; what the driver holds is not read."""
        if result.held is not None:
            self.held[name] = result.held
        if result.rows is not None:
            self.frames[name] = result.rows
            self.sizes[name] = result.number
            self.rows_read += result.number

    def supply_layers(self, name: str, state: RelationState, layers: tuple[Layer, ...]) -> None:
        """The rows of some layers of a keyed relation, as they were appended."""
        source = Reader(self.engine).layer_rows(state, layers)
        self.supply(name, Result(source.frame, source.rows))

    def shaped(self, plan: Relation, like: DataFrame) -> DataFrame:
        """The DataFrame of a plan, with the names and types of another one."""
        frame = self.frame(plan).toDF(*(f"c{number}" for number in range(len(like.columns))))
        columns = zip(frame.columns, like.schema.fields, strict=True)
        return frame.select(*(F.col(mine).cast(f.dataType).alias(f.name) for mine, f in columns))

    def _hold(self, step: Compute) -> None:
        """Fetches a result; one that the driver cannot hold is written, and its parts are read from there."""
        frame = self.frame(step.plan)
        columns, most = columns_of(frame), self.engine.limits.result_held
        may_fit = has_plain_types(columns) and (self.expected or 0) <= most
        table = self.engine.collected(frame, most + 1) if may_fit else None
        if table is not None and table.num_rows <= most:
            self.held[step.name] = Held(table, columns)
        else:
            self._keep(step, self.engine.write_result(frame), columns)

    def _write_result(self, step: Compute) -> None:
        """Results whose size decides what follows are written beside the data until the refresh is done."""
        rows = self.answer(step.plan)
        if isinstance(rows, Held):
            self._note(step, rows.rows, rows)
            self.empty |= {flag(step.name, mark) for mark in step.flags if rows.is_zero(mark)}
            return
        files = self.engine.write_result(rows, None if step.shared else self.expected)
        self._keep(step, files, columns_of(rows))

    def _keep(self, step: Compute, files: tuple[DataFile, ...], columns: tuple[Column, ...]) -> None:
        number = sum(file.rows for file in files)
        frame = self.engine.files(RESULTS, files, columns)
        self._note(step, number, self.engine.sought(frame, number))
        self._mark_flags(step.name, step.flags, files)

    def _note(self, step: Compute, number: int, rows: Answer) -> None:
        self.sizes[step.name], self.frames[step.name] = number, rows
        if not number:
            self.empty.add(step.name)

    def _mark_flags(self, name: str, flags: tuple[str, ...], files: tuple[DataFile, ...]) -> None:
        """Notes whether a result has no rows, and whether none of its rows has a flag."""
        if not files:
            self.empty.add(name)
        for mark in flags:
            if all(file.ranges.get(mark, (0, 1))[1] == 0 for file in files):
                self.empty.add(flag(name, mark))

    def _mark_empty(self, step: Step) -> None:
        if isinstance(step, AppendLayer) and step.kept:
            self.empty |= {step.kept, *(flag(step.kept, name) for name in step.flags)}
        elif isinstance(step, Compute):
            self.empty |= {step.name, *(flag(step.name, name) for name in step.flags)}
            for relation in [name for name in self.draft.relations if delta_name(name) == step.name]:
                self.mark_unchanged(relation)
        elif isinstance(step, MaintainFixpoint):
            for _, relation in step.relations:
                self.mark_unchanged(relation)

    def mark_unchanged(self, relation: str) -> None:
        """The change of a relation is known to be empty; steps that read more than it may still run."""
        name = delta_name(relation)
        self.empty.add(name)
        self.frames[name] = self.engine.empty(counted(self.draft.relations[relation].columns))

    def _append(self, step: AppendLayer) -> None:
        if is_empty(step.plan):
            return
        state = self.draft.relations[step.relation]
        rows = self.answer(step.plan)
        if isinstance(rows, Held) and not step.kept and self._write_held(step, state, rows):
            return
        frame = self.engine.frame(rows)
        columns = layer_columns(state, frame.columns)
        more = [c for c in columns_of(frame) if c.name.startswith(BESIDE) or c.name in step.flags]
        frame = cast_to(frame, (*columns, *more))
        at = self._place(step, state)
        files = self.engine.write(frame, state.folder, self.expected, at)
        written = self._appended(step, files)
        if step.kept and state.merge is not None:
            self.sizes[step.kept] = written
            self._mark_flags(step.kept, step.flags, files)
            is_marked = any(flag(step.kept, mark) not in self.empty for mark in step.flags)
            if is_marked or any(column.name.startswith(BESIDE) for column in more):
                key = [column for column in columns if column.name in state.merge.key]
                kept = self.engine.files(state.folder, files, (*key, *more))
                self.frames[step.kept] = kept.toDF(*(name.removeprefix(BESIDE) for name in kept.columns))

    def _write_held(self, step: AppendLayer, state: RelationState, rows: Held) -> bool:
        """Writes a layer of rows that are held, where they are in the types that are stored."""
        columns = layer_columns(state, rows.table.column_names)
        if not rows.has(columns):
            return False
        at = self._place(step, state)
        self._appended(step, self.engine.write(rows.select(columns), state.folder, at=at))
        return True

    def _place(self, step: AppendLayer, state: RelationState) -> Place:
        number = self.draft.next_sequence(step.relation)
        if state.merge is None:
            return place(number) if state.key else {}
        return place(number, step.replaces)

    def _appended(self, step: AppendLayer, files: tuple[DataFile, ...]) -> int:
        """Names the files of a layer in the draft; the number of their rows."""
        self.draft.append(step.relation, files, step.replaces, whole=step.whole)
        written = sum(file.rows for file in files)
        self.rows_written += written
        self.groups_recomputed += written if step.recomputed else 0
        self.forget(step.relation)
        return written

    def append_diff(self, relation: str, files: tuple[DataFile, ...], diff: IdDiff) -> None:
        """Appends an ID-based diff; what the relation was before can still be read."""
        self.draft.append(relation, files, diff=diff)
        self.rows_written += sum(file.rows for file in files)
        self._forget_new(relation)

    def write_change(self, relation: str, frame: DataFrame, is_set: bool = False) -> None:
        """Appends signed rows to a bag and keeps them as its change; of a set, no row has a second copy."""
        state = self.draft.relations[relation]
        rows = cast_to(frame, layer_columns(state, frame.columns))
        self._changed(relation, self.engine.write(rows, state.folder, self.expected), is_set)

    def write_rows(self, relation: str, rows: Held, is_set: bool = False) -> None:
        """The same with rows that are on the driver, in the types that are stored."""
        state = self.draft.relations[relation]
        ordered = rows.select(layer_columns(state, rows.table.column_names))
        self._changed(relation, self.engine.write(ordered, state.folder), is_set)

    def _changed(self, relation: str, files: tuple[DataFile, ...], is_set: bool) -> None:
        state = self.draft.relations[relation]
        self.draft.append(relation, files, last_copies=is_set)
        self.rows_written += sum(file.rows for file in files)
        self.forget(relation)
        self.frames[delta_name(relation)] = self.engine.files(state.folder, files, counted(state.columns))
        if not files:
            self.empty.add(delta_name(relation))

    def query_of(self, plan: Relation | None, sql: str) -> DataFrame:
        """A query at the new state: its plan where there is one, else the user's own text."""
        return self._text(sql) if plan is None else self.frame(plan)

    def _text(self, sql: str) -> DataFrame:
        """The user's own text over the visible rows of the new state."""
        sql = dated_text(sql, clocks_read(sql, self.engine.zone), self.draft.relations)
        names = {name: self.draft.catalog.spelled(name) or name for name in tables_read(sql)}
        frames = {}
        for used, name in names.items():
            source = self._open(Read(name, State.NEW, Form.ROWS))
            frames[used] = for_users(source.frame, self.draft.relations[name].columns)
            self.rows_read += source.rows
        frame = self.engine.text(spliced(sql, slot), frames)
        inner = [inner_column(name) for name in frame.columns]
        return frame if inner == frame.columns else frame.toDF(*inner)
