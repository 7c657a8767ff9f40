"""Tuple-based diffs (t-diffs): the same scripts with a join that completes every diff at once.

    Δᵘ_L ⋈ R^post,  Δ⁻_L ⋈ R^pre          one diff row for each view row that changes

This is what i-diffs are compared with (katsis15, sections 6 and 7): the diffs of a join name each
pair by all of its IDs, and therefore read the other side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.algebra.build import projected
from viewkeeper.algebra.expressions import Named, column, columns_of, rename_columns
from viewkeeper.algebra.relations import Join, JoinKind, State
from viewkeeper.maintenance.id_diffs.diffs import Diff, DiffKind, pre
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.rules.change import Change
from viewkeeper.maintenance.id_diffs.rules.join import condition, join


def tuple_join(view: Subview, diff: Diff, side: int) -> Iterator[Change]:
    """The diffs of `join`, completed to all IDs of the pairs; an insertion is complete already."""
    for change in join(view, diff, side):
        yield change if change.schema.kind is DiffKind.INSERT else _completed(view, change, diff, side)


def _completed(view: Subview, change: Change, diff: Diff, side: int) -> Change:
    """A diff that passed, joined with the other side; one that names lost pairs is left as it is."""
    schema, other, on = diff.schema, view.inputs[1 - side], condition(view)
    before = change.schema.kind is DiffKind.DELETE
    known = schema.known_before if before else schema.known_after
    whole = set(schema.ids) == set(view.inputs[side].ids) and change.schema.ids == _named(view, schema.ids)
    if not whole or not columns_of(on) & set(view.inputs[side].columns) <= known:
        return change
    if before:
        on = rename_columns(on, {name: pre(name) for name in schema.pre})
    pairs = Join(diff.rows, other.at(State.OLD if before else State.NEW), JoinKind.INNER, on)
    new = replace(change.schema, ids=view.ids)
    taken = {view.merged.get(name, name): name for name in (*other.ids, *schema.ids)}
    ids = (Named(name, column(taken[name])) for name in view.ids)
    rest = (Named(name, column(name)) for name in new.columns if name not in view.ids)
    return Change(new, projected(pairs, (*ids, *rest)))


def _named(view: Subview, ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(view.merged.get(name, name) for name in ids)
