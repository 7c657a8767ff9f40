"""Table 7: γ of any function. The groups that a change touches are computed again.

    groups  =  π_G changes
    now     =  γ_G,f (Input^post ⋉_G groups)
    Δ⁻      =  groups ▷ now              Δ⁺ = now ▷ Output^pre              Δᵘ = now ⋈ Output^pre

And without any look at the data: a deletion that names whole groups by their key deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.algebra.build import projected, renamed
from viewkeeper.algebra.expressions import Named, column, null_safe_match, same
from viewkeeper.algebra.merge.spec import DiffKind
from viewkeeper.algebra.relations import Aggregate, Distinct, Join, JoinKind, Relation, State
from viewkeeper.maintenance.id_diffs.diffs import (
    Diff,
    DiffSchema,
    delete_schema,
    named_by,
    pre,
    truly_changed,
)
from viewkeeper.maintenance.id_diffs.ids import Subview
from viewkeeper.maintenance.id_diffs.rules.change import Propagated, deleted, in_order, inserted
from viewkeeper.maintenance.id_diffs.rules.touched import Fate


def whole_groups(view: Subview, diff: Diff) -> Propagated | None:
    """Table 7, first rule: a deletion by columns that are grouping columns, if `diff` is one."""
    plan = _aggregate(view)
    group_of = {key.expr.name: key.name for key in plan.keys if key.is_column}
    ids = diff.schema.ids
    if diff.schema.kind is not DiffKind.DELETE or not ids or not set(ids) <= set(group_of):
        return None
    schema = delete_schema(view.name, tuple(group_of[name] for name in ids))
    return Propagated(schema, projected(diff.rows, (Named(group_of[name], column(name)) for name in ids)))


def touched_groups(view: Subview, changes: Relation) -> Relation:
    return Distinct(projected(changes, _aggregate(view).keys))


def computed_again(view: Subview, groups: Relation) -> Relation:
    """The touched groups in the post-state; the one group there is, without grouping columns."""
    plan = _aggregate(view)
    rows: Relation = view.inputs[0].at(State.NEW)
    if not plan.keys:
        return Aggregate(rows, (), plan.aggregates)
    names = {key.name: f"__by_{key.name}" for key in plan.keys}
    by = (Named(names[key.name], key.expr) for key in plan.keys)
    keyed = projected(rows, (*same(rows.columns), *by))
    found = named_by(keyed, renamed(groups, names), tuple(names.values()))
    return Aggregate(found, tuple(Named(k.name, column(names[k.name])) for k in plan.keys), plan.aggregates)


def recomputation(view: Subview, groups: Relation, now: Relation, fate: Fate) -> Iterator[Propagated]:
    names = view.attributes
    old = renamed(view.at(State.OLD), {name: pre(name) for name in view.columns})
    on = null_safe_match((key, pre(key)) for key in view.ids)
    if fate.deaths:
        yield deleted(view, named_by(groups, now, view.ids, JoinKind.ANTI))
    if fate.births:
        yield inserted(view, Join(now, old, JoinKind.ANTI, on))
    schema = DiffSchema(DiffKind.UPDATE, view.name, view.ids, names, names, fate.updated)
    both = Join(now, old, JoinKind.INNER, on)
    yield Propagated(schema, truly_changed(in_order(both, schema), schema, fate.updated))


def _aggregate(view: Subview) -> Aggregate:
    assert isinstance(view.plan, Aggregate)
    return view.plan
