"""Stored relations as Arrow tables, at a pinned state: what `spark/read.py` gives as DataFrames.

    rows(state)            main ⊕ layers, by the formulas of `storage/layers.py` and `storage/id_layers.py`
    signed(old, new)       the rows that came and went between two states

Columns that nobody asks for are not read, nor are files whose ranges say that no row of them is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from viewkeeper import limits
from viewkeeper.algebra.build import apart, matching, minus, restricted_to
from viewkeeper.algebra.counts import ONE, consolidated, weighted
from viewkeeper.algebra.expressions import Scalar, column, literal, null_safe_match, same
from viewkeeper.algebra.merge.id_layers import DiffRows, identified, touched
from viewkeeper.algebra.merge.layers import merged_bag
from viewkeeper.algebra.prune import needed_columns, pruned
from viewkeeper.algebra.relations import (
    Distinct,
    Expand,
    Filter,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    UnionAll,
)
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.arrow.files import file_rows
from viewkeeper.arrow.plans import rows as plan_rows
from viewkeeper.arrow.ranges import ranges_of
from viewkeeper.errors import MissingFile, NeedsSpark
from viewkeeper.storage.delta_log import main_files
from viewkeeper.storage.feed import logged
from viewkeeper.storage.footers import overlaps
from viewkeeper.storage.merge_plans import diffs_in, keyed_plan, layer_schema, leaf, whole_plan
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.overflow import far_moved
from viewkeeper.storage.relation import DataFile, Layer, RelationState

Leaf = tuple[tuple[DataFile, ...], tuple[Column, ...]]
"""The files that a reference stands for, and the columns that they have."""

Leaves = Mapping[str, Leaf]
Ranges = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class States:
    """Reads states of relations of one warehouse."""

    folder: Folder

    def rows(
        self, state: RelationState, columns: Sequence[str] | None = None, where: Scalar | None = None
    ) -> pa.Table:
        """The rows of a state, one per copy, for which a condition holds, and some of their columns."""
        _must_be_own(state)
        plan, leaves = self._merged(state, {} if where is None else ranges_of(where))
        chosen = plan if where is None else Filter(plan, where)
        wanted = restricted_to(chosen, state.names if columns is None else columns)
        return self._run(state, wanted, leaves)

    def signed(self, old: RelationState, new: RelationState) -> pa.Table:
        """The rows that came and went between two states, with counts."""
        _must_be_own(new)
        layers = logged(old, new)
        if layers is None:
            return self._compared(old, new)
        try:
            return self._logged(old, new, layers)
        except MissingFile:  # vacuum has left nothing of layers that only an old version needs
            return self._compared(old, new)

    def _run(self, state: RelationState, plan: Relation, leaves: Leaves) -> pa.Table:
        lean = pruned(plan)
        needed = needed_columns(lean)
        used: dict[str, frozenset[str]] = {}
        for node, names in needed.items():
            if isinstance(node, Reference):
                used[node.name] = used.get(node.name, frozenset()) | names
        tables = {name: self._leaf(state, leaves[name], names) for name, names in used.items()}
        return plan_rows(lean, tables)

    def _leaf(self, state: RelationState, of: Leaf, names: frozenset[str] | None = None) -> pa.Table:
        files, columns = of
        used = [one for one in columns if names is None or one.name in names]
        return file_rows(self.folder, state.folder, files, used)

    def _merged(self, state: RelationState, ranges: Ranges) -> tuple[Relation, Leaves]:
        """The plan that merges main and layers, and the files that it reads."""
        main = leaf("main", state.names)
        if state.has_diffs:
            return self._identified(state, main)
        if state.merge is None:
            return self._bag(state, main, ranges)
        if not state.overlay:
            return main, {"main": (self._main(state, ranges), state.columns)}
        by_key = {name: ends for name, ends in ranges.items() if name in state.merge.key}
        columns = layer_schema(state)
        if state.since_whole:
            layers = _files(state.since_whole, by_key)
            return whole_plan(state, state.merge, columns), {"layers": (layers, columns)}
        leaves = {
            "main": (self._main(state, by_key), state.columns),
            "layers": (_files(state.overlay, by_key), columns),
        }
        is_small = state.main_rows + state.overlay_rows <= limits.LIMITS.merged_whole
        return keyed_plan(state, state.merge, [c.name for c in columns], is_small), leaves

    def _bag(self, state: RelationState, main: Relation, ranges: Ranges) -> tuple[Relation, Leaves]:
        stored = self._main(state, ranges)
        layers = _files(state.overlay, ranges)
        if not state.has_pending_deletes:
            return main, {"main": ((*stored, *layers), state.columns)}
        signed = _counted(state)
        changes = leaf("layers", [one.name for one in signed])
        plan = merged_copies(main, changes)
        if state.key:
            plan = merged_bag(main, changes, state.key, state.has_null_keys)
        return plan, {"main": (stored, state.columns), "layers": (layers, signed)}

    def _identified(self, state: RelationState, main: Relation) -> tuple[Relation, Leaves]:
        """No file can be left out by its ranges: a diff may set any column."""
        diffs, leaves = _diffs(state, state.overlay)
        plan = identified(main, diffs, state.columns, far_moved(state, state.overlay))
        return plan, {"main": (self._main(state, {}), state.columns), **leaves}

    def _main(self, state: RelationState, ranges: Ranges) -> tuple[DataFile, ...]:
        files = main_files(self.folder, state.folder, state.main_version)
        return tuple(file for file in files if overlaps(file, ranges))

    def _logged(self, old: RelationState, new: RelationState, layers: tuple[Layer, ...]) -> pa.Table:
        files = _files(layers)
        if new.is_identified or any(layer.diff is not None for layer in layers):
            diffs, leaves = _diffs(new, layers)
            tables = {name: self._leaf(new, of) for name, of in leaves.items()}
            return self._compared(old, new, lambda rel: touched(rel, diffs), tables)
        if new.merge is None:
            return self._leaf(new, (files, _counted(new)))
        key = tuple(one for one in new.columns if new.merge is not None and one.name in new.merge.key)
        if not key:
            return self._compared(old, new)
        named = Distinct(leaf("keys", [one.name for one in key]))
        keys = self._leaf(new, (files, key))
        return self._compared(old, new, lambda rel: matching(rel, named), {"keys": keys})

    def _compared(
        self,
        old: RelationState,
        new: RelationState,
        restricted: Callable[[Relation], Relation] = lambda rel: rel,
        tables: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:
        """The difference of two states, or of those of their rows that can differ."""
        after, before = (restricted(leaf(name, new.names)) for name in ("after", "before"))
        both = {"before": self.rows(old), "after": self.rows(new)}
        return plan_rows(consolidated(weighted(minus(after, before))), {**both, **(tables or {})})


def merged_copies(main: Relation, layers: Relation) -> Relation:
    """The rows of a bag without a key: copies are counted of those rows that equal a deleted one."""
    net = consolidated(restricted_to(layers, (*main.columns, COUNT)))
    gone = Filter(net, exp.LT(this=column(COUNT), expression=literal(0)))
    came = Filter(net, exp.GT(this=column(COUNT), expression=literal(0)))
    other, names = apart(main, restricted_to(gone, main.columns))
    on = null_safe_match((name, names[name]) for name in main.columns)
    near = Project(Join(main, other, JoinKind.SEMI, on), (*same(main.columns), ONE))
    left = Expand(consolidated(UnionAll((near, gone))))
    rest = Join(main, other, JoinKind.ANTI, on)
    return UnionAll((rest, *(restricted_to(rel, main.columns) for rel in (left, Expand(came)))))


def _must_be_own(state: RelationState) -> None:
    if state.followed is not None:
        raise NeedsSpark(
            "it is followed, and others own its files.", f"They are those of {state.followed.address}."
        )


def _counted(state: RelationState) -> tuple[Column, ...]:
    return (*state.columns, Column(COUNT, "bigint", nullable=False))


def _files(layers: Iterable[Layer], ranges: Ranges | None = None) -> tuple[DataFile, ...]:
    return tuple(file for layer in layers for file in layer.files if overlaps(file, ranges or {}))


def _diffs(state: RelationState, layers: Iterable[Layer]) -> tuple[list[DiffRows], dict[str, Leaf]]:
    """The ID-based diffs of some layers, one for each schema, and the files that they stand for."""
    found, leaves = diffs_in(state, layers)
    return found, {one.name: (_files(one.layers), one.columns) for one in leaves}


__all__ = ["States"]
