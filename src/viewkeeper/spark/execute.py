"""Runs a Δ-script: binds the leaves of each plan to stored relations, lowers it, writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.merge.spec import IdDiff
from viewkeeper.algebra.relations import Form, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import rewrite, scans
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
from viewkeeper.spark.arrow import has_plain_types
from viewkeeper.spark.engine import RESULTS, Engine, columns_of, counted, slot
from viewkeeper.spark.held import Held, Result
from viewkeeper.spark.id_diffs import run_diffs, take_log
from viewkeeper.spark.known_inputs import Inputs, opened
from viewkeeper.spark.layer_frames import Place, cast_to, layer_columns, place
from viewkeeper.spark.read import Read, Reader, Source, for_users
from viewkeeper.spark.recursion import run_evaluation, run_maintenance
from viewkeeper.sql.render import relation_name, state_name
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.storage.delta_log import commit_main, main_files
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import DataFile, Layer, RelationState


def _silent(line: str) -> None:
    """Progress that nobody listens to."""


@dataclass
class Execution:
    """One view's script at work. `old` holds its inputs as they were at its last refresh; `expected` is about
    how many rows it will write."""

    engine: Engine
    draft: Draft
    old: Mapping[str, RelationState]
    rows_read: int = 0
    rows_written: int = 0
    groups_recomputed: int = 0
    skipped: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    frames: dict[str, DataFrame] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    sources: dict[Read, Source] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    recomputed: list[str] = field(default_factory=list)
    progress: Callable[[str], None] = _silent
    expected: int | None = None

    def run(self, script: Script) -> None:
        with self.engine.keeping():
            for step in script:
                if is_needed(step, frozenset(self.empty)):
                    self._run(step)
                else:
                    self.skipped += 1
                    self._mark_empty(step)

    def _run(self, step: Step) -> None:
        match step:
            case Compute(held=True):
                self._hold(step)
            case Compute(counted=True):
                if not take_log(self, step):
                    self._write_result(step)
            case Compute():
                self.frames[step.name] = self.frame(step.plan, is_part=True)
            case AppendLayer():
                self._append(step)
                if not self.layers(step.relation):
                    self.empty.add(delta_name(step.relation))
            case ReplaceMain():
                self.write_main(step.relation, self.query_of(step.plan, step.sql))
            case EvaluateFixpoint():
                run_evaluation(self, step)
            case MaintainFixpoint():
                run_maintenance(self, step)
            case ApplyDiffs():
                run_diffs(self, step)

    def frame(self, plan: Relation, is_part: bool = False) -> DataFrame:
        """The DataFrame of a plan with explicit counts."""
        plan = rewrite(plan, self._own_part) if self.held else plan
        return self.inputs(opened(plan, self.source)).run(plan, is_part)

    def physical(self, plan: Relation) -> Physical:
        """How a plan would be run now; nothing is. What it reads and is not there yet is not known."""
        known = (scan for scan in scans(plan) if scan.table in self.draft.relations)
        return self.inputs({state_name(scan): self.source(scan) for scan in known}).physical(plan)

    def inputs(self, sources: Mapping[str, Source]) -> Inputs:
        """What is known of stored relations, and of what was computed so far."""
        return Inputs(self.engine, sources, self.frames, self._known, has_values=True)

    def _known(self, leaf: Leaf) -> Input:
        """How many rows there are behind a leaf of a plan, and what its key is."""
        state = self.draft.relations.get(leaf.table) if isinstance(leaf, Scan) else None
        key = () if state is None else state.merge.key if state.merge else state.key
        return Input(self.rows_behind(leaf), key=key)

    def rows_behind(self, leaf: Scan | Reference) -> float:
        """At most how many rows a leaf has, as far as that is known; a group that layers mention has one row
        before and one after."""
        if isinstance(leaf, Reference):
            return self.sizes.get(leaf.name, inf)
        if leaf.at is State.DELTA:
            return 2 * sum(layer.rows for layer in self.layers(leaf.table)) or inf
        return self.size(leaf)

    def _own_part(self, node: Relation) -> Relation:
        """What a plan takes from a result that the driver holds, as a result by itself."""
        part = part_of(node)
        if part is None or part.result not in self.held:
            return node
        name = f"{part.result}__{part.number}"
        if name not in self.frames:
            own = self.held[part.result].part(part)
            self.frames[name] = self.engine.kept(own.table, own.columns)
            self.sizes[name] = own.table.num_rows
        return Reference(name, node.columns)

    def result(self, name: str) -> Result:
        """A result that was written or fetched, for scripts of other views."""
        return Result(self.frames.get(name), self.sizes.get(name, 0), self.held.get(name))

    def supply(self, name: str, result: Result) -> None:
        """A result of another script, which plans of this one refer to; what the driver holds is not read."""
        if result.held is not None:
            self.held[name] = result.held
        if result.frame is not None:
            self.frames[name] = result.frame
            self.sizes[name] = result.rows
            self.rows_read += result.rows

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

    def _own(self, plan: Relation) -> Held | None:
        """What a plan just takes from a result that the driver holds."""
        part = part_of(plan)
        return self.held[part.result].part(part) if part is not None and part.result in self.held else None

    def _write_result(self, step: Compute) -> None:
        """Results whose size decides what follows are written beside the data until the refresh is done."""
        if (own := self._own(step.plan)) is not None:
            self._keep(step, self.engine.keep_result(own.table), own.columns)
            self.engine.held(self.frames[step.name], own.table)
            return
        frame = self.frame(step.plan)
        columns = columns_of(frame)
        self._keep(step, self.engine.write_result(frame, None if step.shared else self.expected), columns)

    def _keep(self, step: Compute, files: tuple[DataFile, ...], columns: tuple[Column, ...]) -> None:
        self.sizes[step.name] = sum(file.rows for file in files)
        frame = self.engine.files(RESULTS, files, columns)
        self.frames[step.name] = self.engine.sought(frame, self.sizes[step.name])
        self._mark_flags(step.name, step.flags, files)

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

    def source(self, scan: Scan, columns: frozenset[str] | None = None) -> Source:
        """The stored relation behind a scan, in the form that the scan asks for; `columns` are those that
        must be right, where not all need be."""
        read = Read(scan.table, scan.at, scan.form, columns)
        if read not in self.sources:
            self.sources[read] = source = self._open(read)
            self.note_read(relation_name(scan), source.rows)
        return self.sources[read]

    def note_read(self, name: str, rows: int) -> None:
        """Rows of files that were opened, for the report."""
        self.rows_read += rows
        self.reads[name] = self.reads.get(name, 0) + rows

    def _open(self, read: Read) -> Source:
        if self.engine.is_netting:
            return self._open_net(read)
        reader, state = Reader(self.engine), self._state(read)
        match read.form:
            case Form.CHANGES:
                old = self.old.get(read.table, state)
                return reader.changes(old, state, self.draft.between(old, state))
            case Form.SIGNED:
                return reader.counted(state)
            case Form.ROWS:
                return reader.rows(state, needed=read.columns)

    def _open_net(self, read: Read) -> Source:
        """The same, net of what came and went, and written out: Spark would move conditions before that."""
        reader, state = Reader(self.engine), self._state(read)
        match read.form:
            case Form.CHANGES:
                old = self.old.get(read.table, state)
                found = reader.netted(reader.changes(old, state, self.draft.between(old, state)))
            case Form.SIGNED | Form.ROWS:
                found = reader.rows(state, needed=read.columns)
        is_whole = read.form is not Form.CHANGES and not state.has_pending_deletes
        rows = found if is_whole else replace(found, frame=self.engine.written_out(found.frame))
        return reader.signed(rows, state.names) if read.form is Form.SIGNED else rows

    def _state(self, read: Read | Scan) -> RelationState:
        """The state of a stored relation that is read."""
        new = self.draft.relations[read.table]
        return self.old.get(read.table, new) if read.at is State.OLD else new

    def _append(self, step: AppendLayer) -> None:
        if is_empty(step.plan):
            return
        state = self.draft.relations[step.relation]
        if (table := self._held_layer(step, state)) is not None:
            self._appended(step, self.engine.write_table(table, state.folder))
            return
        frame = self.frame(step.plan)
        columns = layer_columns(state, frame.columns)
        more = [c for c in columns_of(frame) if c.name.startswith(BESIDE) or c.name in step.flags]
        frame = cast_to(frame, (*columns, *more))
        at = self._place(step) if state.merge is not None else {}
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

    def _held_layer(self, step: AppendLayer, state: RelationState) -> pa.Table | None:
        """The layer of a keyed relation where the driver has all of it, in the types that are stored."""
        own = self._own(step.plan)
        if own is None or step.kept or state.merge is None:
            return None
        columns = layer_columns(state, own.table.column_names)
        return own.layer(columns, self._place(step)) if own.has(columns) else None

    def _place(self, step: AppendLayer) -> Place:
        return place(self.draft.next_sequence(step.relation), step.replaces)

    def _appended(self, step: AppendLayer, files: tuple[DataFile, ...]) -> int:
        """Names the files of a layer in the draft; the number of their rows."""
        self.draft.append(step.relation, files, step.replaces, whole=step.whole)
        written = sum(file.rows for file in files)
        self.rows_written += written
        self.groups_recomputed += written if step.recomputed else 0
        self._forget(step.relation)
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

    def write_rows(self, relation: str, table: pa.Table, is_set: bool = False) -> None:
        """The same with rows that are on the driver, in the types that are stored."""
        state = self.draft.relations[relation]
        ordered = table.select([column.name for column in layer_columns(state, table.column_names)])
        self._changed(relation, self.engine.write_table(ordered, state.folder), is_set)

    def _changed(self, relation: str, files: tuple[DataFile, ...], is_set: bool) -> None:
        state = self.draft.relations[relation]
        self.draft.append(relation, files, last_copies=is_set)
        self.rows_written += sum(file.rows for file in files)
        self._forget(relation)
        self.frames[delta_name(relation)] = self.engine.files(state.folder, files, counted(state.columns))
        if not files:
            self.empty.add(delta_name(relation))

    def only_gained(self, relation: str) -> bool:
        """Whether a bag has gained rows and lost none, as the footers of its layers tell."""
        layers = self.layers(relation)
        return bool(layers) and all(layer.only_inserts for layer in layers)

    def only_lost(self, relation: str) -> bool:
        """Whether a bag has lost rows and gained none."""
        layers = self.layers(relation)
        return bool(layers) and all(layer.only_deletes for layer in layers)

    def layers(self, relation: str) -> tuple[Layer, ...]:
        """What happened to a relation since; none where that is not known."""
        state = self.draft.relations[relation]
        return self.draft.between(self.old.get(relation, state), state)

    def size(self, scan: Scan) -> int:
        """The rows of the files behind a scan, without opening them."""
        return self._state(scan).stored_rows

    def write_main(self, relation: str, frame: DataFrame) -> None:
        """Writes a relation anew."""
        state = self.draft.relations[relation]
        files = self.engine.write(cast_to(frame, state.columns), state.folder, self.expected)
        removed = main_files(self.engine.folder.delta_address(state.folder), state.main_version)
        version = commit_main(
            self.engine.folder, state.folder, state.main_version, state.columns, files, removed
        )
        rows = sum(file.rows for file in files)
        self.draft.put(
            relation,
            replace(
                state,
                main_version=version,
                main_rows=rows,
                overlay=(),
                log=(),
                complete_since=self.draft.version,
            ),
        )
        self.rows_written += rows
        self._forget(relation)

    def query_of(self, plan: Relation | None, sql: str) -> DataFrame:
        """A query at the new state: its plan where there is one, else the user's own text."""
        return self._text(sql) if plan is None else self.frame(plan)

    def _text(self, sql: str) -> DataFrame:
        """The user's own text over the visible rows of the new state."""
        names = {name: self.draft.catalog.spelled(name) or name for name in tables_read(sql)}
        frames = {}
        for used, name in names.items():
            source = self._open(Read(name, State.NEW, Form.ROWS))
            frames[used] = for_users(source.frame, self.draft.relations[name].columns)
            self.rows_read += source.rows
        frame = self.engine.text(spliced(sql, slot), frames)
        inner = [inner_column(name) for name in frame.columns]
        return frame if inner == frame.columns else frame.toDF(*inner)

    def _forget(self, relation: str) -> None:
        """A relation that was written to must be opened anew."""
        for read in [read for read in self.sources if read.table == relation]:
            del self.sources[read]

    def _forget_new(self, relation: str) -> None:
        """What the relation was before can still be read."""
        for read in [r for r in self.sources if r.table == relation and r.at is State.NEW]:
            del self.sources[read]
