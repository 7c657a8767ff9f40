"""Stored relations as DataFrames, at a pinned state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from viewkeeper.algebra.build import matching, restricted_to
from viewkeeper.algebra.counts import consolidated, weighted
from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.merge import layers as merge
from viewkeeper.algebra.merge.id_layers import DiffRows, identified, touched
from viewkeeper.algebra.merge.overlay import laid_over
from viewkeeper.algebra.merge.spec import DiffKind, MergeSpec
from viewkeeper.algebra.relations import Distinct, Form, Negate, Reference, Relation, State, UnionAll
from viewkeeper.algebra.schema import COUNT, Column, is_hidden
from viewkeeper.engine.rows import Held
from viewkeeper.spark.declared import as_declared, with_char_types
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.followed import gone_from, rows_in_files
from viewkeeper.spark.frames import Answer, counted
from viewkeeper.spark.maps import comparable, entry_columns, map_columns, restored
from viewkeeper.storage.clocks import change, row
from viewkeeper.storage.delta_log import main_files
from viewkeeper.storage.following.known import files_of
from viewkeeper.storage.footers import OneOf, Wanted, overlaps
from viewkeeper.storage.merge_plans import diffs_in, keyed_plan, layer_schema, leaf, whole_plan
from viewkeeper.storage.overflow import far_moved
from viewkeeper.storage.relation import DataFile, Layer, RelationState


@dataclass(frozen=True)
class Read:
    """What is read of a stored relation: which state of it, in which form, which columns must be right, where
    not all need be, and which rows are wanted, where others may be left out."""

    table: str
    at: State
    form: Form
    columns: frozenset[str] | None = None
    wanted: OneOf | None = None


@dataclass(frozen=True)
class Source:
    """Rows of a stored relation, how many the files behind them hold, and their form; `merged`: they are not
    just what files hold."""

    opened: DataFrame | Callable[[], DataFrame]
    rows: int
    form: Form = Form.ROWS
    merged: bool = False
    held: Held | None = None

    @property
    def frame(self) -> DataFrame:
        return self.opened if isinstance(self.opened, DataFrame) else self.opened()

    @property
    def answer(self) -> Answer:
        """The rows wherever they are."""
        return self.frame if self.held is None else self.held

    @property
    def counted(self) -> bool:
        """Whether it carries `__count`."""
        return self.form is not Form.ROWS


class Reader:
    """Reads relations of one engine's warehouse."""

    def __init__(self, engine: SparkEngine) -> None:
        self.engine = engine

    def visible(self, state: RelationState, settled: bool = False) -> DataFrame:
        """What a user's text sees: the merged rows, without the engine's own columns.

        `settled`: no condition of the text is evaluated for a row that is gone. Spark moves none below one
        that is not deterministic.
        """
        frame = for_users(self.rows(state).frame, state.columns)
        return frame.where("spark_partition_id() >= 0") if settled and state.has_gone_rows else frame

    def declared(self, state: RelationState) -> DataFrame:
        """The same, with columns that are known not to be NULL where they are declared so."""
        return as_declared(self.visible(state), state.columns)

    def rows(
        self, state: RelationState, ranges: Wanted | None = None, needed: frozenset[str] | None = None
    ) -> Source:
        """Main and overlay merged, one row per copy, with all stored columns; what is not `needed` may be
        out of date."""
        if state.clock is not None:
            return self._shown(row(state))
        if state.is_identified or state.has_diffs:
            return self._identified_rows(state, needed)
        if state.merge is None:
            return self._bag_rows(state, ranges)
        columns = layer_schema(state)
        if state.since_whole:
            layers = self._layers(state, state.since_whole, columns)
            return self._merged(
                state, whole_plan(_compared_shape(state), state.merge, columns), {"layers": layers}
            )
        main = self._main(state, ranges)
        if not state.overlay:
            return main
        layers = self._layers(state, state.overlay, columns)
        is_small = main.rows + layers.rows <= self.engine.limits.one_task
        plan = keyed_plan(_compared_shape(state), state.merge, [c.name for c in columns], is_small)
        return self._merged(state, plan, {"main": main, "layers": layers})

    def counted(self, state: RelationState, ranges: Wanted | None = None) -> Source:
        """The relation as signed rows, with `__count`; a bag is not merged for it."""
        source = self.bag(state, ranges)
        return source if source.counted else self.signed(source, state.names)

    def signed(self, rows: Source, names: Iterable[str]) -> Source:
        """Rows with a count of one each."""
        plan = merge.counted_bag(leaf("main", names), None)
        return Source(self.engine.plan(plan, {"main": rows.frame}), rows.rows, Form.SIGNED)

    def netted(self, changes: Source) -> Source:
        """Changes without what came and went."""
        names = tuple(changes.frame.columns)
        frame = self.engine.plan(consolidated(leaf("changes", names)), {"changes": changes.frame})
        return replace(changes, opened=frame, held=None)

    def bag(self, state: RelationState, ranges: Wanted | None = None) -> Source:
        """The relation with or without counts, whichever costs nothing: for linear operators."""
        if state.merge is not None or not state.overlay or state.has_diffs:
            return self.rows(state, ranges)
        if all(layer.only_inserts for layer in state.overlay):
            return self.rows(state, ranges)
        main = self._main(state, ranges)
        layers = self._layers(state, state.overlay, counted(state.columns), ranges)
        plan = merge.counted_bag(leaf("main", state.names), leaf("layers", (*state.names, COUNT)))
        return replace(self._merged(state, plan, {"main": main, "layers": layers}), form=Form.SIGNED)

    def changes(self, old: RelationState, new: RelationState, layers: tuple[Layer, ...]) -> Source:
        """The signed rows that the layers made of `old` to become `new`, unconsolidated."""
        if new.clock is not None:
            return self._shown(change(old, new), Form.CHANGES)
        if new.is_identified or any(layer.diff is not None for layer in layers):
            return self._identified_changes(old, new, layers)
        if new.merge is None:
            files = [file for layer in layers for file in layer.files]
            return self.source(self._few(new, files), files)
        if new.merge.key and _continues(old, new, layers):
            return self._keyed_changes(old, new, new.merge, layers)
        before, after = self.rows(old), self.rows(new)
        frames, rows = {"before": before.frame, "after": after.frame}, before.rows + after.rows
        sides: tuple[Relation, Relation]
        sides = leaf("before", new.names), leaf("after", new.names)
        if new.merge.key:
            keys = self._layers(new, layers, tuple(c for c in new.columns if c.name in new.merge.key))
            frames["keys"], rows = keys.frame, rows + keys.rows
            touched = Distinct(leaf("keys", new.merge.key))
            sides = matching(sides[0], touched), matching(sides[1], touched)
        plan = UnionAll((Negate(sides[0]), sides[1]))
        return Source(self.compared(new, weighted(plan), frames), rows, Form.CHANGES)

    def _shown(self, rows: Relation, form: Form = Form.ROWS) -> Source:
        """What a clock shows, or how that changed; no file is opened."""
        return Source(lambda: self.engine.in_one_task(self.engine.plan(rows, {}), 1), 0, form)

    def source(self, rows: Answer, files: Iterable[DataFile]) -> Source:
        """Changes of a bag, wherever they are."""
        number = sum(file.held for file in files)
        held = rows if isinstance(rows, Held) else None
        return Source(lambda: self.engine.frame(rows), number, Form.CHANGES, held=held)

    def _keyed_changes(
        self, old: RelationState, new: RelationState, spec: MergeSpec, layers: tuple[Layer, ...]
    ) -> Source:
        """The groups that new layers mention, as they were and as they are: no other group is merged."""
        columns = layer_schema(new)
        names = tuple(column.name for column in columns)
        sources = {
            "main": self._main(new, None),
            "later": self._layers(new, layers, columns),
            **({"earlier": self._layers(old, old.overlay, columns)} if old.overlay else {}),
        }
        later = leaf("later", names)
        mentioned = Distinct(restricted_to(later, spec.key))
        before = [matching(leaf("main", new.names), mentioned)]
        if old.overlay:
            before.append(matching(leaf("earlier", names), mentioned))
        replacing = any(layer.replaces for layer in (*old.overlay, *layers))
        plan = merge.changes(before, later, spec, entry_columns(new.columns), replacing)
        frame = self.compared(new, plan, {name: source.frame for name, source in sources.items()})
        return Source(frame, sum(source.rows for source in sources.values()), Form.CHANGES)

    def layer_rows(self, state: RelationState, layers: Iterable[Layer]) -> Source:
        """The rows of some layers of a keyed relation, as they were appended."""
        return self._layers(state, layers, layer_schema(state))

    def layer_files(self, state: RelationState, files: Iterable[DataFile]) -> DataFrame:
        """The rows of one bag's layer, with counts."""
        return rows_in_files(self.engine, state, files, counted(state.columns))

    def net_changes(self, state: RelationState, files: Sequence[DataFile]) -> Source:
        """The rows of a followed table that came or went, without those that only moved to another file."""
        frame = rows_in_files(self.engine, state, files, counted(state.columns))
        plan = consolidated(leaf("changes", (*state.names, COUNT)))
        net = self.compared(state, plan, {"changes": frame})
        return Source(net, sum(file.held for file in files), Form.CHANGES)

    def are_there(self, state: RelationState, files: Iterable[DataFile]) -> bool:
        """Whether files of a relation are still there."""
        if state.followed is None:
            return self.engine.are_there(state.folder, files)
        return not self.why_gone(state, files)

    def why_gone(self, state: RelationState, files: Iterable[DataFile]) -> str:
        """Why files of a followed table cannot be read any more; empty where they can."""
        return "" if state.followed is None else gone_from(state.followed, files)

    def _few(self, state: RelationState, files: Sequence[DataFile]) -> Answer:
        """The signed rows of changes, which the driver holds where they are few and our own."""
        if any(file.part is not None for file in files):
            return rows_in_files(self.engine, state, files, counted(state.columns))
        return self.engine.open(state.folder, files, counted(state.columns))

    def _bag_rows(self, state: RelationState, ranges: Wanted | None) -> Source:
        if not state.has_pending_deletes:
            return self._inserted_rows(state, ranges)
        is_small = state.main_rows + state.overlay_rows <= self.engine.limits.one_task
        in_turn = not is_small and self._in_turn(state)
        pieces = None if ranges or is_small else self.pieces(state)
        if pieces is not None:
            leaves = leaf("main", state.names), leaf("layers", (*state.names, COUNT))
            plan = merge.bag_in_turn(leaves[0], [(leaves[1], True)], state.key, state.has_null_keys)
            main, laid = pieces
            layers = Source(self.engine.frame(laid), state.overlay_rows)
            return replace(self._merged(state, plan, {"main": main, "layers": layers}), merged=False)
        main = self._main(state, ranges)
        groups = [(layer,) for layer in state.overlay] if in_turn else [state.overlay]
        sources = {
            f"layers{number}": self._layers(state, group, counted(state.columns), ranges)
            for number, group in enumerate(groups)
        }
        plan = _bag_plan(state, [leaf(name, (*state.names, COUNT)) for name in sources], is_small, in_turn)
        return self._merged(state, plan, {"main": main, **sources})

    def pieces(self, state: RelationState) -> tuple[Source, Held] | None:
        """Main, and what layers of few rows did to it, laid over each other by the driver; None where a bag
        is merged in another way, or needs no merging."""
        if state.merge is not None or not state.has_pending_deletes:
            return None
        laid = self._laid(state)
        return None if laid is None else (self._main(state, None), laid)

    def _in_turn(self, state: RelationState) -> bool:
        """Whether a bag's layers are few, and delete whole rows: then each is laid over those before it."""
        return state.deletes_whole_rows and len(state.overlay) <= self.engine.limits.layers_joined

    def _inserted_rows(self, state: RelationState, ranges: Wanted | None) -> Source:
        """A bag whose layers only insert is all of its files, those of main and of layers alike: a row of a
        layer counts once."""
        layers = (file for layer in state.overlay for file in layer.files)
        return self._files(state, (*self._main_files(state), *layers), state.columns, ranges)

    def _laid(self, state: RelationState) -> Held | None:
        """Layers of few rows that delete whole rows as one layer, where it can be held."""
        if not state.deletes_whole_rows or state.overlay_rows > self.engine.limits.laid:
            return None
        columns = counted(state.columns)
        files = [layer.files for layer in state.overlay if layer.files]
        layers = [self.engine.open(state.folder, own, columns, self.engine.limits.laid) for own in files]
        names = [f"layer{number}" for number in range(len(layers))]
        plan = laid_over([leaf(name, (*state.names, COUNT)) for name in names], state.names)
        return self.engine.here(plan, dict(zip(names, layers, strict=True)))

    def _merged(self, state: RelationState, plan: Relation, sources: Mapping[str, Source]) -> Source:
        """A plan over main and layers; where they have few rows, their result is one partition too."""
        frame = self.compared(state, plan, {name: source.frame for name, source in sources.items()})
        rows = sum(source.rows for source in sources.values())
        return Source(self.engine.in_one_task(frame, rows), rows, merged=True)

    def compared(self, state: RelationState, plan: Relation, frames: Mapping[str, DataFrame]) -> DataFrame:
        """A plan that compares rows of a relation, which may have maps."""
        if not map_columns(state.columns):
            return self.engine.plan(plan, frames)
        own = {name: comparable(frame, state.columns) for name, frame in frames.items()}
        return restored(self.engine.plan(plan, own), state.columns)

    def _identified_rows(self, state: RelationState, needed: frozenset[str] | None) -> Source:
        """Files cannot be left out by their ranges: a diff may set any column. Diffs that set columns which
        nobody asks for can."""
        main = self._main(state, None)
        overlay = [layer for layer in state.overlay if needed is None or _matters(layer, needed)]
        if not overlay:
            return main
        diffs, frames, rows = self.diffs(state, overlay)
        wide = far_moved(state, overlay)
        plan = identified(leaf("main", state.names), diffs, entry_columns(state.columns), wide)
        frame = self.compared(state, plan, {**frames, "main": main.frame})
        return Source(frame, main.rows + rows)

    def _identified_changes(
        self, old: RelationState, new: RelationState, layers: tuple[Layer, ...]
    ) -> Source:
        before, after = self.rows(old), self.rows(new)
        diffs, frames, rows = self.diffs(new, layers)
        sides = [touched(leaf(name, new.names), diffs) for name in ("before", "after")]
        leaves = {**frames, "before": before.frame, "after": after.frame}
        plan = UnionAll((Negate(sides[0]), sides[1]))
        return Source(self.engine.plan(weighted(plan), leaves), before.rows + after.rows + rows, Form.CHANGES)

    def diffs(
        self, state: RelationState, layers: Iterable[Layer]
    ) -> tuple[list[DiffRows], dict[str, DataFrame], int]:
        """The ID-based diffs of some layers, one for each schema, with their frames and their rows."""
        found, leaves = diffs_in(state, layers)
        sources = {one.name: self._layers(state, one.layers, one.columns) for one in leaves}
        frames = {name: source.frame for name, source in sources.items()}
        return found, frames, sum(source.rows for source in sources.values())

    def _main(self, state: RelationState, ranges: Wanted | None) -> Source:
        return self._files(state, self._main_files(state), state.columns, ranges)

    def _main_files(self, state: RelationState) -> tuple[DataFile, ...]:
        if state.followed is not None:
            return files_of(state.followed)
        return main_files(self.engine.folder, state.folder, state.main_version)

    def _layers(
        self,
        state: RelationState,
        layers: Iterable[Layer],
        columns: tuple[Column, ...],
        ranges: Wanted | None = None,
    ) -> Source:
        files = [file for layer in layers for file in layer.files]
        return self._files(state, files, columns, ranges)

    def _files(
        self,
        state: RelationState,
        files: Iterable[DataFile],
        columns: tuple[Column, ...],
        ranges: Wanted | None,
    ) -> Source:
        wanted = [file for file in files if not ranges or overlaps(file, ranges)]
        return Source(rows_in_files(self.engine, state, wanted, columns), sum(file.held for file in wanted))


def for_users(frame: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """The frame without the engine's own columns, the others under the user's names and as CHAR(n) where
    they are declared so."""
    hidden = [name for name in frame.columns if is_hidden(name)]
    return with_char_types(with_shown(frame.drop(*hidden) if hidden else frame), columns)


def with_shown(frame: DataFrame) -> DataFrame:
    """The frame with its columns under the user's names."""
    names = [shown(name) for name in frame.columns]
    return frame if names == frame.columns else frame.toDF(*names)


def _compared_shape(state: RelationState) -> RelationState:
    """The state with the types that its columns have in plans which compare rows."""
    return replace(state, columns=entry_columns(state.columns)) if map_columns(state.columns) else state


def _continues(old: RelationState, new: RelationState, layers: tuple[Layer, ...]) -> bool:
    """Whether a relation only had layers appended: nothing was folded or written anew meanwhile."""
    return old.main_version == new.main_version and (*old.overlay, *layers) == new.overlay


def _matters(layer: Layer, columns: frozenset[str]) -> bool:
    """Whether a diff adds or removes rows, or sets one of the columns."""
    if layer.diff is None or layer.diff.kind not in (DiffKind.UPDATE, DiffKind.MOVE):
        return True
    return not columns.isdisjoint(layer.diff.sets)


def _bag_plan(state: RelationState, layers: list[Reference], is_small: bool, in_turn: bool) -> Relation:
    main = leaf("main", state.names)
    if is_small:
        return merge.bag_whole(main, layers[0])
    if in_turn:
        inserts = [not layer.only_deletes for layer in state.overlay]
        in_order = list(zip(layers, inserts, strict=True))
        return merge.bag_in_turn(main, in_order, state.key, state.has_null_keys)
    return merge.merged_bag(main, layers[0], state.key, state.has_null_keys)
