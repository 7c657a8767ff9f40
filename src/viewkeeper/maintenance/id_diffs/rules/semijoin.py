"""Table 13: L ▷_φ(X,Y) R, and L ⋉ R, whose rules are the same with insertions and deletions swapped.

Left diffs pass; what an update of X or an insertion makes of a row is decided by R^post. A right diff
names rows of L that may change sides:

    Δ⁺_R     these rows of L have a match now:     L^post ⋉ Δ⁺
    Δ⁻_R     these had one, maybe their last:      (L^post ⋉_φ(X, Y_pre) Δ⁻), decided by R^post
    Δᵘ_R     both, if it updates Y; the rows of Δᵘ that R^post lacks give no match
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    columns_of,
    conjunction,
    conjuncts,
    not_,
    rename_columns,
)
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Relation, State
from viewkeeper.maintenance.id_diffs.diffs import (
    Diff,
    DiffSchema,
    delete_schema,
    named_by,
    pre,
    truly_changed,
)
from viewkeeper.maintenance.id_diffs.ids import Subview, columns_compared, same_type
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, deleted, in_order, inserted, passed

_OPPOSITE = {JoinKind.SEMI: JoinKind.ANTI, JoinKind.ANTI: JoinKind.SEMI}


def semijoin(view: Subview, diff: Diff, side: int) -> Iterator[Propagated]:
    if side == 0:
        yield from _left(view, diff)
    else:
        yield from _right(view, diff)


def _left(view: Subview, diff: Diff) -> Iterator[Propagated]:
    join = _join(view)
    right, schema = view.inputs[1].at(State.NEW), diff.schema
    match schema.kind:
        case DiffKind.INSERT:
            yield inserted(view, Join(diff.rows, right, join.kind, join.on))
        case DiffKind.DELETE:
            yield passed(view, schema, diff.rows)
        case DiffKind.UPDATE:
            yield passed(view, schema, diff.rows)
            touched = columns_of(join.on) & set(schema.updated)
            if touched:
                rows = truly_changed(diff.rows, schema, sorted(touched))
                yield from _decided_again(view, rows, schema)


def _decided_again(view: Subview, rows: Relation, schema: DiffSchema) -> Iterator[Propagated]:
    """Rows of the left side whose X changed: in or out, as R^post has it."""
    join = _join(view)
    left, right = view.inputs[0].at(State.NEW), view.inputs[1].at(State.NEW)
    named = named_by(left, rows, schema.ids)
    yield inserted(view, Join(named, right, join.kind, join.on))
    if columns_of(join.on) & set(left.columns) <= schema.known_after:
        gone = delete_schema(view.name, schema.ids)
        known = projected(rows, (Named(n, column(n)) for n in (*schema.ids, *schema.post)))
        yield Propagated(gone, in_order(Join(known, right, _OPPOSITE[join.kind], join.on), gone))
    else:
        yield deleted(view, Join(named, right, _OPPOSITE[join.kind], join.on))


def _right(view: Subview, diff: Diff) -> Iterator[Propagated]:
    schema, compared = diff.schema, columns_of(_join(view).on) & set(view.inputs[1].columns)
    match schema.kind:
        case DiffKind.INSERT:
            yield _matched(view, diff.rows)
        case DiffKind.DELETE:
            yield _perhaps_unmatched(view, diff, diff.rows)
        case DiffKind.UPDATE if compared & set(schema.updated):
            rows = truly_changed(diff.rows, schema, sorted(compared & set(schema.updated)))
            yield _matched(view, named_by(view.inputs[1].at(State.NEW), rows, schema.ids))
            yield _perhaps_unmatched(view, diff, rows)


def _matched(view: Subview, right: Relation) -> Propagated:
    """Rows of the left side that have a match for certain: `right` holds rows of R^post."""
    join = _join(view)
    if join.kind is JoinKind.ANTI and (ids := _ids_compared(view)):
        gone = delete_schema(view.name, tuple(ids.values()))
        comparable = conjunction(not_(exp.Is(this=column(name), expression=exp.null())) for name in ids)
        outputs = (Named(mine, column(theirs)) for theirs, mine in ids.items())
        named = projected(filtered(right, comparable), outputs)
        return Propagated(gone, Distinct(named))
    found = Join(view.inputs[0].at(State.NEW), right, JoinKind.SEMI, join.on)
    return inserted(view, found) if join.kind is JoinKind.SEMI else deleted(view, found)


def _ids_compared(view: Subview) -> dict[str, str]:
    """Right columns and the left IDs equal to them, if the condition is nothing but such equalities.

    Then the left rows that match are named without a look at them.
    """
    left, right = view.inputs
    found: dict[str, str] = {}
    for part in conjuncts(_join(view).on):
        pair = columns_compared(part)
        if pair is None:
            return {}
        mine, theirs = pair
        if mine in right.columns:
            mine, theirs = theirs, mine
        if mine not in left.ids or theirs not in right.columns or theirs in found or mine in found.values():
            return {}
        if not same_type(left, mine, right, theirs):
            return {}
        found[theirs] = mine
    return found


def _perhaps_unmatched(view: Subview, diff: Diff, rows: Relation) -> Propagated:
    """Rows of the left side that lost a match, as R^post decides."""
    join, schema = _join(view), diff.schema
    left, right = view.inputs
    if columns_of(join.on) & set(right.columns) <= schema.known_before:
        lost, on = _with_old_values(rows, schema, join.on)
    else:
        lost, on = named_by(right.at(State.OLD), rows, schema.ids), join.on
    candidates = Join(left.at(State.NEW), lost, JoinKind.SEMI, on)
    decided = Join(candidates, right.at(State.NEW), JoinKind.ANTI, join.on)
    return deleted(view, decided) if join.kind is JoinKind.SEMI else inserted(view, decided)


def _with_old_values(rows: Relation, schema: DiffSchema, on: Scalar) -> tuple[Relation, Scalar]:
    names = [*schema.ids, *(pre(name) for name in schema.pre)]
    return projected(rows, (Named(n, column(n)) for n in names)), _on_before(on, schema)


def _on_before(on: Scalar, schema: DiffSchema) -> Scalar:
    return rename_columns(on, {name: pre(name) for name in schema.pre})


def _join(view: Subview) -> Join:
    assert isinstance(view.plan, Join)
    return view.plan
