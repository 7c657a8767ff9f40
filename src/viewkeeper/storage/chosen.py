"""Some groups of a keyed relation: they are chosen in main and in its layers, before these are merged.

    merge(main, layers) ⋉ K  =  merge(main ⋉ K, layers ⋉ K)          where K is about columns of the key

Main is read once, and only the chosen groups are added up; a merge of all groups looks at main twice.
"""

from __future__ import annotations

from viewkeeper.algebra.build import projected, renamed
from viewkeeper.algebra.expressions import Named, column, columns_of, rename_columns
from viewkeeper.algebra.relations import Join, JoinKind, Reference, Relation, Scan, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.storage.layers import merged_whole
from viewkeeper.storage.relation import RelationState


def chooses_groups(node: Relation) -> Scan | None:
    """The scan of which a semi-join chooses rows; none where the node is something else."""
    if not isinstance(node, Join) or node.kind is not JoinKind.SEMI or not isinstance(node.left, Scan):
        return None
    scan = node.left
    return None if scan.at is State.DELTA or COUNT in scan.columns else scan


def chosen(node: Relation, state: RelationState, main: Reference, layers: Reference) -> Relation:
    """The groups that a semi-join chooses, merged; the node itself where it looks at more than their keys."""
    scan = chooses_groups(node)
    assert isinstance(node, Join)
    assert scan is not None
    assert state.merge is not None
    stored = {item.name: item.source.name for item in scan.bound}
    if not {stored[name] for name in columns_of(node.on) if name in stored} <= set(state.merge.key):
        return node
    other = {name: f"__chosen{number}" for number, name in enumerate(node.right.columns)}
    keys, on = renamed(node.right, other), rename_columns(node.on, {**stored, **other})
    stored_rows, later = (Join(rows, keys, JoinKind.SEMI, on) for rows in (main, layers))
    replacing = any(layer.replaces for layer in state.overlay)
    merged = merged_whole(stored_rows, later, state.merge, state.columns, replacing)
    return projected(merged, (Named(item.name, column(item.source.name)) for item in scan.bound))
