"""Which formula of `layers` merges the layers of a keyed relation, told by what its footers say of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from viewkeeper.algebra.merge import layers as merge
from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.algebra.schema import Column
from viewkeeper.storage.relation import Layer, RelationState


def leaf(name: str, columns: Iterable[str]) -> Reference:
    """What a plan calls main, or layers."""
    return Reference(name, tuple(columns))


def layer_schema(state: RelationState) -> tuple[Column, ...]:
    """The columns that a keyed relation's layers store."""
    assert state.merge is not None
    names = set(merge.layer_columns(state.merge))
    order = (Column(merge.SEQUENCE, "bigint"), Column(merge.REPLACES, "boolean"))
    return (*(column for column in state.columns if column.name in names), *order)


def keyed_plan(state: RelationState, spec: MergeSpec, columns: Sequence[str], is_small: bool) -> Relation:
    """Main and layers by key. `is_small`: all of main takes part, of which there is little."""
    leaves = leaf("main", state.names), leaf("layers", columns)
    replacing = any(layer.replaces for layer in state.overlay)
    if is_small or not spec.key:
        return merge.merged_whole(*leaves, spec, state.columns, replacing)
    if all(_replaces_all(layer) for layer in state.overlay):
        return merge.replaced(*leaves, spec, state.columns, len(state.overlay) > 1)
    return merge.merged(*leaves, spec, state.columns, replacing)


def whole_plan(state: RelationState, spec: MergeSpec, columns: Sequence[Column]) -> Relation:
    """A keyed relation all of whose rows are in a layer, and in those that came after it."""
    layers = leaf("layers", [column.name for column in columns])
    return merge.from_whole(layers, spec, state.columns, len(state.since_whole) > 1)


def _replaces_all(layer: Layer) -> bool:
    """Whether every row of a layer replaces, as its footers tell: folded layers may be mixed."""
    return all(file.ranges.get(merge.REPLACES, (False, False))[0] for file in layer.files)
