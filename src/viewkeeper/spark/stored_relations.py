"""Making, filling and folding stored relations."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.merge import layers as merge
from viewkeeper.algebra.merge.id_layers import can_fold, last
from viewkeeper.algebra.merge.net_effect import net_effect
from viewkeeper.algebra.merge.signed_ids import folded as folded_signed
from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.relations import Reference
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.frames import counted
from viewkeeper.spark.layer_frames import cast_to, place
from viewkeeper.spark.read import Reader
from viewkeeper.storage.compaction import Fold, fold_of
from viewkeeper.storage.delta_log import commit_main, create_main, main_files
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.merge_plans import layer_schema, signed_schema
from viewkeeper.storage.overflow import doubtful_sums, far_moved
from viewkeeper.storage.relation import (
    DataFile,
    Layer,
    RelationState,
    by_schema,
    diff_schema,
    sequence,
    signed_layers,
)


def new_relation(
    engine: SparkEngine,
    name: str,
    columns: tuple[Column, ...],
    commit: int,
    key: tuple[str, ...] = (),
    merge_spec: MergeSpec | None = None,
    files: Sequence[DataFile] = (),
    folder: str | None = None,
) -> RelationState:
    """A relation whose main holds the given files."""
    folder = folder or folder_for(name)
    version = create_main(engine.folder, folder, columns, files)
    rows = sum(file.rows for file in files)
    return RelationState(folder, columns, version, rows, merge_spec, key, complete_since=commit)


def folder_for(name: str) -> str:
    """A folder that no other relation, dropped ones included, has had; its name is safe anywhere."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", shown(name))[:60]
    return f"relations/{plain}-{uuid.uuid4().hex[:8]}"


def ordered(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The frame with its files ordered by some columns, so that their ranges hardly overlap."""
    return frame.repartitionByRange(*columns).sortWithinPartitions(*columns) if columns else frame


def fold(engine: SparkEngine, draft: Draft, name: str, forced: bool = False) -> int:
    """Folds a relation's overlay as far as it is worth it; returns the rows written."""
    state = draft.relations[name]
    if not state.is_stored:
        return 0
    _check_sums(engine, state)
    match fold_of(state, forced):
        case Fold.NOTHING:
            return 0
        case Fold.ADOPT:
            return _adopt(engine, draft, name)
        case Fold.LAYERS:
            return _fold_layers(engine, draft, name)
        case Fold.MAIN:
            return _fold_main(engine, draft, name)


def _check_sums(engine: SparkEngine, state: RelationState) -> None:
    """Raises Spark's own error where a sum that was added to no longer fits; one action, if in doubt."""
    if state.merge is None or not state.overlay:
        return
    doubtful = doubtful_sums(state, main_files(engine.folder, state.folder, state.main_version))
    if doubtful:
        engine.rows(Reader(engine).rows(state).frame.agg(*[F.max(name) for name in doubtful]), 1)


def _adopt(engine: SparkEngine, draft: Draft, name: str) -> int:
    """Insert-only layers become files of main as they are: Delta readers ignore `__count`."""
    state = draft.relations[name]
    files = [file for layer in state.overlay for file in layer.files]
    version = commit_main(engine.folder, state.folder, state.main_version, state.columns, files)
    rows = state.stored_rows
    draft.put(name, replace(state, main_version=version, main_rows=rows, overlay=()))
    return 0


def _fold_layers(engine: SparkEngine, draft: Draft, name: str) -> int:
    """Many small layers become one; main stays as it is."""
    state = draft.relations[name]
    if state.has_diffs:
        return _fold_diffs(engine, draft, name)
    columns = counted(state.columns) if state.merge is None else layer_schema(state)
    files = [file for layer in state.overlay for file in layer.files]
    leaf = Reference("layers", tuple(c.name for c in columns if c.name != COUNT), state.merge is None)
    frame = engine.files(state.folder, files, columns)
    plan = net_effect(leaf) if state.merge is None else merge.folded(leaf, state.merge)
    folded = engine.plan(plan, {"layers": frame}).selectExpr(*_casts(columns))
    has_ids = state.merge is None and state.key and name in draft.catalog.views
    at = place(sequence(state.overlay[-1].commit)) if has_ids else {}
    written = engine.write(folded, state.folder, state.overlay_rows, at)
    replaces = any(layer.replaces for layer in state.overlay)
    layer = Layer(state.overlay[-1].commit, written, replaces)
    draft.put(name, replace(state, overlay=(layer,) if layer.rows else ()))
    return layer.rows


def _fold_diffs(engine: SparkEngine, draft: Draft, name: str) -> int:
    """ID-based diffs of one schema become one layer, with the last row of each key, or the sum of moves."""
    state, folded = draft.relations[name], []
    reader, own, signed = Reader(engine), by_schema(state.overlay), signed_layers(state.overlay)
    fewest = len(own) + bool(signed)
    if len(state.overlay) == fewest or not can_fold(own) or far_moved(state, state.overlay):
        return _fold_main(engine, draft, name)
    if signed:
        folded.append(_fold_signed(engine, state, signed))
    diffs, frames, _ = reader.diffs(state, [layer for layer in state.overlay if layer.diff is not None])
    for diff, layers in zip(diffs, own.values(), strict=True):
        if len(layers) == 1:
            folded.append(layers[0])
            continue
        rows = cast_to(engine.plan(last(diff), frames), diff_schema(state, diff.schema))
        files = engine.write(rows, state.folder, sum(layer.rows for layer in layers))
        folded.append(Layer(layers[-1].commit, files, diff=diff.schema))
    draft.put(name, replace(state, overlay=tuple(folded)))
    return sum(layer.rows for layer in folded)


def _fold_signed(engine: SparkEngine, state: RelationState, layers: tuple[Layer, ...]) -> Layer:
    """Signed layers among ID-based diffs as one; each row keeps its place."""
    if len(layers) == 1:
        return layers[0]
    columns = signed_schema(state)
    frame = engine.files(state.folder, [file for layer in layers for file in layer.files], columns)
    plan = folded_signed(Reference("signed", tuple(c.name for c in columns)), state.key)
    rows = cast_to(engine.plan(plan, {"signed": frame}), columns)
    files = engine.write(rows, state.folder, sum(layer.rows for layer in layers))
    return Layer(layers[-1].commit, files)


def _fold_main(engine: SparkEngine, draft: Draft, name: str) -> int:
    """Main is written anew with everything merged; keyed relations are ordered by their key."""
    state = draft.relations[name]
    source = Reader(engine).rows(state)
    key = state.key or (state.merge.key if state.merge else ())
    frame = source.frame if source.rows <= 200_000 else ordered(source.frame, key)
    files = engine.write(frame, state.folder, source.rows)
    removed = main_files(engine.folder, state.folder, state.main_version)
    version = commit_main(engine.folder, state.folder, state.main_version, state.columns, files, removed)
    rows = sum(file.rows for file in files)
    draft.put(name, replace(state, main_version=version, main_rows=rows, overlay=()))
    return rows


def _casts(columns: Sequence[Column]) -> list[str]:
    return [f"CAST(`{c.name}` AS {c.type}) AS `{c.name}`" for c in columns]
