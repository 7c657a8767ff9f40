"""Tuple-based diffs (t-diffs): the same scripts with a join that completes every diff at once.

    Δᵘ_L ⋈ R^post,  Δ⁻_L ⋈ R^pre          one diff row for each view row that changes

This is what i-diffs are compared with (katsis15, sections 6 and 7): the diffs of a join name each
pair by all of its IDs, and therefore read the other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from viewkeeper.algebra.build import projected, union_all
from viewkeeper.algebra.expressions import Named, column, columns_of, literal, rename_columns, same
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Filter, Join, JoinKind, Project, Relation, Scan, State
from viewkeeper.maintenance.id_diffs.diffs import Diff, pre
from viewkeeper.maintenance.id_diffs.ids import Subview, subviews
from viewkeeper.maintenance.id_diffs.rules.change import Propagated
from viewkeeper.maintenance.id_diffs.rules.join import condition, join
from viewkeeper.maintenance.id_diffs.rules.touched import SIGN


def tuple_join(view: Subview, diff: Diff, side: int) -> Iterator[Propagated]:
    """The diffs of `join`, completed to all IDs of the pairs: those that pass. Pairs that an update makes or
    loses are named by all IDs already, also where the other side has none."""
    for change in join(view, diff, side):
        passes = change.schema.kind is diff.schema.kind is not DiffKind.INSERT
        yield _completed(view, change, diff, side) if passes else change


def _completed(view: Subview, change: Propagated, diff: Diff, side: int) -> Propagated:
    """A diff that passed, joined with the other side."""
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
    return Propagated(new, projected(pairs, (*ids, *rest)))


def _named(view: Subview, ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(view.merged.get(name, name) for name in ids)


def complete_update(below: Subview, diffs: Sequence[Diff]) -> Relation | None:
    """The signed changes that one t-diff tells by itself: whole rows before and after.

    It must name rows by all IDs, know all their values, and name no row that is not there.
    """
    if len(diffs) != 1 or diffs[0].schema.kind is not DiffKind.UPDATE:
        return None
    rows, schema = diffs[0].rows, diffs[0].schema
    known = set(schema.pre) & set(schema.post)
    if set(schema.ids) != set(below.ids) or not set(below.attributes) <= known:
        return None
    if not _names_rows_only(below, frozenset(schema.updated)):
        return None
    old = (Named(name, column(name if name in schema.ids else pre(name))) for name in below.columns)
    return union_all(
        (
            projected(rows, (*old, Named(SIGN, literal(-1)))),
            projected(rows, (*same(below.columns), Named(SIGN, literal(1)))),
        ),
        (*below.columns, SIGN),
    )


def _names_rows_only(view: Subview, updated: frozenset[str]) -> bool:
    """Whether a t-diff could decide every condition on its way up, so that it says nothing too much.

    It knows all columns of its table, and of what it was joined with the IDs.
    """
    match view.plan:
        case Scan():
            return True
        case Filter():
            return not _has_join(view) and _names_rows_only(view.inputs[0], updated)
        case Project():
            used = (columns_of(o.expr) for o in view.plan.outputs if o.name in updated)
            return _names_rows_only(view.inputs[0], frozenset().union(*used))
        case Join(kind=JoinKind.INNER):
            sides = [side for side in view.inputs if updated & set(side.columns)]
            if len(sides) != 1:
                return False
            compared = columns_of(view.plan.on) & set(sides[0].columns)
            decided = compared <= set(sides[0].ids) or not _has_join(sides[0])
            return decided and _names_rows_only(sides[0], updated)
        case _:
            return False


def _has_join(view: Subview) -> bool:
    return any(isinstance(below.plan, Join) for below in subviews(view))
