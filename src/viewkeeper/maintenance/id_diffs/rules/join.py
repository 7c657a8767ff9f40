"""Tables 4 and 10: L × R and L ⋈_φ R. Here the compactness of i-diffs comes from.

    Δ⁺_L            Δ⁺ ⋈ R^post
    Δ⁻_L, Δᵘ_L      pass as they are: a row of L names all its pairs, R is not looked at
    Δᵘ_L on φ       besides: insert (L^post ⋉ Δᵘ) ⋈ R^post, and delete the pairs that no longer match

Pairs that no longer match cannot be found by R^post alone, for R may have changed as well:

    (a)  φ compares x = y with IDs y of R     the pairs were (I', y = x_pre): nothing is read
    (b)  the diff knows X before and after    (Δᵘ ⋈_φ(X_pre) R^pre) ▷ (Δᵘ ⋈_φ(X_post) R^post)
    (c)  otherwise                            (V^pre ⋉ Δᵘ) ▷ (L^post ⋉ Δᵘ) ⋈ R^post

The rules for diffs of R are the same, mirrored.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of, conjuncts, rename_columns
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Join, JoinKind, Relation, State
from viewkeeper.maintenance.id_diffs.diffs import (
    Diff,
    DiffSchema,
    changed,
    delete_schema,
    is_known,
    named_by,
    pre,
    truly_changed,
    was_known,
)
from viewkeeper.maintenance.id_diffs.ids import Subview, columns_compared, same_type
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, deleted, in_order, inserted, passed
from viewkeeper.maintenance.id_diffs.rules.selection import staying


def join(view: Subview, diff: Diff, side: int) -> Iterator[Propagated]:
    """`side` is 0 for a diff of the left input and 1 for one of the right input."""
    schema, on = diff.schema, condition(view)
    match schema.kind:
        case DiffKind.INSERT:
            yield inserted(view, Join(diff.rows, view.inputs[1 - side].at(State.NEW), JoinKind.INNER, on))
        case DiffKind.DELETE:
            yield passed(view, schema, filtered(diff.rows, was_known(on, schema)), view.merged)
        case DiffKind.UPDATE:
            yield passed(view, schema, staying(diff.rows, on, schema), view.merged)
            touched = columns_of(on) & set(schema.updated)
            if touched:
                yield _new_pairs(view, diff, side, touched)
                yield _lost_pairs(view, diff, side, touched)


def condition(view: Subview) -> Scalar:
    assert isinstance(view.plan, Join)
    return view.plan.on


def _new_pairs(view: Subview, diff: Diff, side: int, touched: frozenset[str]) -> Propagated:
    schema, on = diff.schema, condition(view)
    rows = filtered(truly_changed(diff.rows, schema, sorted(touched)), is_known(on, schema))
    return inserted(view, _pairs_now(view, rows, schema, side))


def _pairs_now(view: Subview, rows: Relation, schema: DiffSchema, side: int) -> Relation:
    """The pairs of the post-state whose row of this side the diff names."""
    mine = named_by(view.inputs[side].at(State.NEW), rows, schema.ids)
    return Join(mine, view.inputs[1 - side].at(State.NEW), JoinKind.INNER, condition(view))


def _lost_pairs(view: Subview, diff: Diff, side: int, touched: frozenset[str]) -> Propagated:
    schema = diff.schema
    rows = truly_changed(diff.rows, schema, sorted(touched))
    compared = columns_of(condition(view)) & set(view.inputs[side].columns)
    if ids := _ids_compared(view, schema, side, touched):
        return _named_by_old_values(view, diff.rows, schema, ids)
    if compared <= schema.known_before & schema.known_after:
        return _no_longer_matching(view, rows, schema, side)
    named = _only(rows, {view.merged.get(name, name): name for name in schema.ids})
    before = named_by(view.at(State.OLD), named, named.columns)
    now = _pairs_now(view, rows, schema, side)
    return deleted(view, named_by(before, now, view.ids, JoinKind.ANTI))


def _ids_compared(view: Subview, schema: DiffSchema, side: int, touched: frozenset[str]) -> dict[str, str]:
    """Touched columns and the IDs of the other side equal to them, if φ compares them in no other way.

    An ID that the diff names already, or that two columns are compared with, does not tell old pairs
    from new ones.
    """
    found: dict[str, str] = {}
    for part in conjuncts(condition(view)):
        if not columns_of(part) & touched:
            continue
        pair = columns_compared(part)
        if pair is None:
            return {}
        mine, theirs = pair
        if theirs in touched:
            mine, theirs = theirs, mine
        own, other = view.inputs[side], view.inputs[1 - side]
        if theirs not in other.ids or mine not in schema.pre or mine in found:
            return {}
        if not same_type(own, mine, other, theirs):
            return {}
        found[mine] = theirs
    names = [view.merged.get(name, name) for name in (*schema.ids, *found.values())]
    return found if len(set(names)) == len(names) else {}


def _named_by_old_values(
    view: Subview, rows: Relation, schema: DiffSchema, ids: dict[str, str]
) -> Propagated:
    """Case (a): the partners before the change had the old values as IDs."""
    rows = filtered(rows, changed(ids, exact=False))
    named = {view.merged.get(name, name): column(name) for name in schema.ids}
    for mine, theirs in ids.items():
        named[view.merged.get(theirs, theirs)] = column(pre(mine))
    gone = delete_schema(view.name, tuple(named), schema.pre)
    kept = (Named(pre(name), column(pre(name))) for name in schema.pre)
    return Propagated(gone, projected(rows, (*(Named(n, e) for n, e in named.items()), *kept)))


def _no_longer_matching(view: Subview, rows: Relation, schema: DiffSchema, side: int) -> Propagated:
    """Case (b): partners by the old values in R^pre, less partners by the new ones in R^post."""
    on, other = condition(view), view.inputs[1 - side]
    old_names = {name: pre(name) for name in schema.pre}
    ids = _pair_ids(view, schema.ids, other.ids)
    gone = delete_schema(view.name, tuple(ids))
    before = Join(rows, other.at(State.OLD), JoinKind.INNER, rename_columns(on, old_names))
    now = Join(rows, other.at(State.NEW), JoinKind.INNER, on)
    lost = named_by(_only(before, ids), _only(now, ids), gone.ids, JoinKind.ANTI)
    return Propagated(gone, in_order(lost, gone))


def _pair_ids(view: Subview, mine: tuple[str, ...], theirs: tuple[str, ...]) -> dict[str, str]:
    """The IDs of a pair under the names that they have in the join."""
    names: dict[str, str] = {}
    for name in (*mine, *theirs):
        names.setdefault(view.merged.get(name, name), name)
    return names


def _only(rel: Relation, ids: dict[str, str]) -> Relation:
    return projected(rel, (Named(new, column(old)) for new, old in ids.items()))
