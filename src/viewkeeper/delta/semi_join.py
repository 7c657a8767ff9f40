"""Semi and anti joins (EXISTS, IN, NOT EXISTS, NOT IN), on any condition.

gupta93 Definition 6.1, generalised from negated subgoals to conditions:

    Δ(L ⋉ R) = (δL ⋉ R_new) ⊎ ((M ⋉ R_new) − (M ⋉ R_old))     M = L_old ⋉ δR

A row of L_old that meets the condition with no changed row of R has the same partners as before;
only the rows of M may have gained their first partner or lost their last. Possible partners of δL
and M are read once, at the new state; the old state is that without δR. The anti join is the same
with ▷ in place of ⋉. Nothing is assumed of the condition: NOT IN, whose condition also holds where
a comparison is NULL, needs no rule of its own.

Where only R changes, and columns are compared for equality and nothing else, keys turn and not rows:

    Δ(L ⋉_{l=r} R) = L ⋈_{l=r} Δset(π_r R)        Δ(L ▷_{l=r} R) = −(L ⋈_{l=r} Δset(π_r R))

The keys that gained their first row or lost their last are found in one look at R, and few are left of them.
"""

from __future__ import annotations

from viewkeeper.algebra.build import filtered, joined, minus, negated, restricted_to, union_all
from viewkeeper.algebra.expressions import Scalar, columns_of, conjunction, conjuncts
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Relation
from viewkeeper.delta.distinct import delta_distinct
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.equalities import equates_one_type
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import partners_of_left, partners_of_right


def delta_semi_join(join: Join, left: Operand, right: Operand) -> Relation:
    if left.is_unchanged and (own := _conditions_beside_keys(join)) is not None:
        return _by_turned_keys(join, left.new, right, own)
    near = _near_the_change(join, left.old, right.delta)
    few = union_all((left.delta, near), join.columns)
    partners = partners_of_left(right.new, few, join.on, also_scans=True)
    before = right.old if partners == right.new else right.old_part(partners)
    moved = _joined(join, left.delta, partners)
    turned = minus(_joined(join, near, partners), _joined(join, near, before))
    return union_all((moved, turned), join.columns)


def _conditions_beside_keys(join: Join) -> list[Scalar] | None:
    """The conditions on the right side alone, where all others equate columns of one type with each other;
    else None: values of other types may be equal to one value, and different from each other."""
    parts = list(conjuncts(join.on))
    own = [part for part in parts if columns_of(part) and columns_of(part) <= set(join.right.columns)]
    others = [part for part in parts if part not in own]
    return own if others and all(equates_one_type(join, part) for part in others) else None


def _by_turned_keys(join: Join, left: Relation, right: Operand, own: list[Scalar]) -> Relation:
    on = conjunction(part for part in conjuncts(join.on) if part not in own)
    names = tuple(name for name in join.right.columns if name in columns_of(on))

    def keys(rel: Relation) -> Relation:
        return restricted_to(filtered(rel, conjunction(own)), names)

    rows = Operand(keys(right.old), keys(right.new), keys(right.delta))
    turned = delta_distinct(Distinct(rows.new), rows)
    near = partners_of_right(left, mentioned(rows.delta, names), on)
    change = restricted_to(joined(near, turned, JoinKind.INNER, on), join.columns)
    return change if join.kind is JoinKind.SEMI else negated(change)


def _joined(join: Join, few: Relation, partners: Relation) -> Relation:
    return joined(few, partners, join.kind, join.on)


def _near_the_change(join: Join, left: Relation, delta: Relation) -> Relation:
    """M: the rows of the left side that meet the condition with a changed row."""
    used = tuple(name for name in delta.columns if name in columns_of(join.on))
    changed = mentioned(delta, used)
    return joined(partners_of_right(left, changed, join.on), changed, JoinKind.SEMI, join.on)
