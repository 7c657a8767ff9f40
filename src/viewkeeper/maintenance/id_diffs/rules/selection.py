"""Table 6: σ_φ(X). A row may enter, leave or stay when an update touches φ.

    Δ⁺          σ_φ Δ⁺
    Δ⁻          σ_φ(pre) Δ⁻
    Δᵘ          update  σ_φ(pre) σ_φ(post) Δᵘ
                insert  σ_φ(Input^post ⋉ σ_¬φ(pre) Δᵘ)      only if φ looks at what is updated
                delete  π_I' σ_φ(pre) σ_¬φ(post) Δᵘ         only then; asks Input^post if φ(post) is unknown

A conjunct that the diff cannot decide is left out, which says too much and nothing untrue. ¬φ holds
where φ is NULL, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.algebra.build import filtered
from viewkeeper.algebra.expressions import Scalar, columns_of
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Filter, Relation, State
from viewkeeper.maintenance.id_diffs.diffs import (
    Diff,
    DiffSchema,
    before,
    delete_schema,
    fails,
    is_known,
    named_by,
    was_known,
)
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, deleted, in_order, inserted, passed


def selection(view: Subview, diff: Diff) -> Iterator[Propagated]:
    assert isinstance(view.plan, Filter)
    condition, schema = view.plan.condition, diff.schema
    match schema.kind:
        case DiffKind.INSERT:
            yield inserted(view, filtered(diff.rows, condition))
        case DiffKind.DELETE:
            yield passed(view, schema, filtered(diff.rows, was_known(condition, schema)))
        case DiffKind.UPDATE:
            yield passed(view, schema, staying(diff.rows, condition, schema))
            if columns_of(condition) & set(schema.updated):
                yield _entering(view, diff, condition)
                yield _leaving(view, diff, condition)


def staying(rows: Relation, condition: Scalar, schema: DiffSchema) -> Relation:
    """The updates of rows that met the condition and still do, as far as the diff can tell."""
    return filtered(filtered(rows, was_known(condition, schema)), is_known(condition, schema))


def _entering(view: Subview, diff: Diff, condition: Scalar) -> Propagated:
    schema, rows = diff.schema, filtered(diff.rows, is_known(condition, diff.schema))
    if columns_of(condition) <= schema.known_before:
        rows = filtered(rows, fails(before(condition, schema)))
    return inserted(view, filtered(named_by(view.inputs[0].at(State.NEW), rows, schema.ids), condition))


def _leaving(view: Subview, diff: Diff, condition: Scalar) -> Propagated:
    schema = diff.schema
    rows = filtered(diff.rows, was_known(condition, schema))
    if columns_of(condition) <= schema.known_after:
        gone = delete_schema(view.name, schema.ids, schema.pre)
        return Propagated(gone, in_order(filtered(rows, fails(condition)), gone))
    still_below = named_by(view.inputs[0].at(State.NEW), rows, schema.ids)
    return deleted(view, filtered(still_below, fails(condition)))
