"""Runs a Δ-script: binds the leaves of each plan to stored relations, lowers it, writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from viewkeeper.algebra.build import is_empty
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.relations import Relation, Scan, State
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.algebra.walk import rewrite, scans
from viewkeeper.draft import Draft
from viewkeeper.planning.steps import AppendLayer, Compute, ReplaceMain, Script, Step
from viewkeeper.spark.engine import Engine, slot
from viewkeeper.spark.read import Reader, Source
from viewkeeper.sql.render import state_name
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.storage.changes import net_effect
from viewkeeper.storage.delta_log import commit_main, main_files
from viewkeeper.storage.relation import Layer, RelationState


@dataclass
class Execution:
    """One view's script at work. `old` holds its inputs as they were at its last refresh."""

    engine: Engine
    draft: Draft
    old: Mapping[str, RelationState]
    rows_read: int = 0
    rows_written: int = 0
    frames: dict[str, DataFrame] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)

    def run(self, script: Script) -> None:
        try:
            for step in script:
                self._run(step)
        finally:
            for frame in self.frames.values():
                frame.unpersist()

    def _run(self, step: Step) -> None:
        match step:
            case Compute():
                self.frames[step.name] = self.frame(step.plan, step.signed).persist()
            case AppendLayer():
                self._append(step)
            case ReplaceMain():
                self._replace(step)

    def frame(self, plan: Relation, signed: bool) -> DataFrame:
        """The DataFrame of a plan, with `__count` when signed and else one row per copy."""
        bound = self._bound(plan)
        return self.explicit(weighted(bound) if signed else plain(bound))

    def explicit(self, plan: Relation) -> DataFrame:
        """The DataFrame of a plan whose counts are explicit already."""
        leaves = {state_name(scan): self._source(scan).frame for scan in scans(plan)}
        return self.engine.plan(plan, {**leaves, **self.frames})

    def _bound(self, plan: Relation) -> Relation:
        """The plan with each scan marked by whether its stored form carries counts."""

        def mark(node: Relation) -> Relation:
            if isinstance(node, Scan) and node.at is not State.DELTA:
                return replace(node, counted=self._source(node).counted)
            return node

        return rewrite(plan, mark)

    def _source(self, scan: Scan) -> Source:
        name = state_name(scan)
        if name not in self.sources:
            source = self._open(scan)
            self.sources[name] = source
            self.rows_read += source.rows
        return self.sources[name]

    def _open(self, scan: Scan) -> Source:
        reader, new = Reader(self.engine), self.draft.relations[scan.table]
        old = self.old.get(scan.table, new)
        match scan.at:
            case State.NEW:
                return reader.bag(new)
            case State.OLD:
                return reader.bag(old)
            case State.DELTA:
                return reader.changes(old, new, layers_between(old, new))

    def _append(self, step: AppendLayer) -> None:
        if is_empty(step.plan):
            return
        state = self.draft.relations[step.relation]
        if step.signed:
            frame = self.explicit(net_effect(self._bound(step.plan)))
        else:
            frame = self.frame(step.plan, signed=False)
        columns = _layer_schema(state, step.signed, frame.columns)
        files = self.engine.write(_cast(frame, columns), state.folder)
        self.draft.append(step.relation, files, step.replaces)
        self.rows_written += sum(file.rows for file in files)
        self._forget(step.relation)

    def _replace(self, step: ReplaceMain) -> None:
        state = self.draft.relations[step.relation]
        frame = self.query_of(step.plan, step.sql)
        files = self.engine.write(_cast(frame, state.columns), state.folder)
        removed = main_files(self.engine.folder.delta_address(state.folder), state.main_version)
        version = commit_main(
            self.engine.folder, state.folder, state.main_version, state.columns, files, removed
        )
        rows = sum(file.rows for file in files)
        self.draft.put(
            step.relation,
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
        self._forget(step.relation)

    def query_of(self, plan: Relation | None, sql: str) -> DataFrame:
        """A query at the new state: its plan where there is one, else the user's own text."""
        return self._text(sql) if plan is None else self.frame(plan, signed=False)

    def _text(self, sql: str) -> DataFrame:
        """The user's own text over the visible rows of the new state."""
        names = {name: self.draft.catalog.spelled(name) or name for name in tables_read(sql)}
        frames = {}
        for used, name in names.items():
            source = Reader(self.engine).rows(self.draft.relations[name])
            frames[used] = Reader(self.engine).visible(self.draft.relations[name])
            self.rows_read += source.rows
        return self.engine.text(spliced(sql, slot), frames)

    def _forget(self, relation: str) -> None:
        """A relation that was written to must be opened anew."""
        for name in [n for n in self.sources if n == relation or n.startswith(f"{relation}__")]:
            del self.sources[name]


def layers_between(old: RelationState, new: RelationState) -> tuple[Layer, ...]:
    """The changes that lead from one state of a relation to another."""
    known = {layer.files for layer in old.log}
    return tuple(layer for layer in new.log if layer.files not in known)


def _layer_schema(state: RelationState, signed: bool, names: list[str]) -> tuple[Column, ...]:
    columns = tuple(column for column in state.columns if column.name in names)
    return (*columns, Column(COUNT, "bigint", nullable=False)) if signed else columns


def _cast(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """The frame with these columns, in order, by position where the names agree."""
    types = dict(frame.dtypes)
    texts = [
        f"`{c.name}`" if types.get(c.name) == c.type else f"CAST(`{c.name}` AS {c.type}) AS `{c.name}`"
        for c in columns
    ]
    return frame.selectExpr(*texts)
