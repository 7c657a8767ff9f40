"""The plans that merge the layers of a relation with a key, told by what its footers say of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewkeeper.algebra.merge import layers as merge
from viewkeeper.algebra.merge.id_layers import DiffRows
from viewkeeper.algebra.merge.signed_ids import as_diffs
from viewkeeper.algebra.merge.spec import MergeSpec
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.storage.relation import Layer, RelationState, by_schema, diff_schema, signed_layers


def leaf(name: str, columns: Iterable[str]) -> Reference:
    """What a plan calls main, or layers."""
    return Reference(name, tuple(columns))


def layer_schema(state: RelationState) -> tuple[Column, ...]:
    """The columns that a keyed relation's layers store."""
    assert state.merge is not None
    names = set(merge.layer_columns(state.merge))
    order = (Column(merge.SEQUENCE, "bigint"), Column(merge.REPLACES, "boolean"))
    return (*(column for column in state.columns if column.name in names), *order)


def signed_schema(state: RelationState) -> tuple[Column, ...]:
    """The columns that the signed layers of a bag with a key store, their place in the order among them."""
    own = Column(COUNT, "bigint", nullable=False), Column(merge.SEQUENCE, "bigint")
    return (*state.columns, *own)


@dataclass(frozen=True)
class DiffLeaf:
    """What stands for some layers in plans over ID-based diffs, and the columns that are read of them."""

    name: str
    layers: tuple[Layer, ...]
    columns: tuple[Column, ...]

    @property
    def rows(self) -> Reference:
        return leaf(self.name, (column.name for column in self.columns))


def diffs_in(state: RelationState, layers: Iterable[Layer]) -> tuple[list[DiffRows], list[DiffLeaf]]:
    """Layers that name rows by IDs: one diff for each schema, and two for those that are signed rows."""
    layers = tuple(layers)
    diffs: list[DiffRows] = []
    leaves: list[DiffLeaf] = []
    signed = signed_layers(layers)
    if signed:
        leaves.append(DiffLeaf("signed", signed, signed_schema(state)))
        diffs += as_diffs(leaves[0].rows, state.ids, len(signed) > 1)
    for number, (schema, own) in enumerate(by_schema(layers).items()):
        leaves.append(DiffLeaf(f"diff{number}", own, diff_schema(state, schema)))
        diffs.append(DiffRows(schema, leaves[-1].rows, len(own) > 1))
    return diffs, leaves


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
