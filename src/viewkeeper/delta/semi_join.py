"""Semi and anti joins (EXISTS, IN, NOT EXISTS, NOT IN), on any condition.

gupta93 Definition 6.1, generalised from negated subgoals to conditions:

    Δ(L ⋉ R) = (δL ⋉ R_new) ⊎ ((M ⋉ R_new) − (M ⋉ R_old))     M = L_old ⋉ δR

A row of L_old that meets the condition with no changed row of R has the same partners as before;
only the rows of M may have gained their first partner or lost their last. Possible partners of δL
and M are read once, at the new state; the old state is that without δR. The anti join is the same
with ▷ in place of ⋉. Nothing is assumed of the condition: NOT IN, whose condition also holds where
a comparison is NULL, needs no rule of its own.
"""

from __future__ import annotations

from viewkeeper.algebra.build import joined, minus, union_all
from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.delta.keys import mentioned
from viewkeeper.delta.restrict import partners_of_left, partners_of_right
from viewkeeper.delta.states import Input


def delta_semi_join(join: Join, left: Input, right: Input) -> Relation:
    near = _near_the_change(join, left.old, right.delta)
    few = union_all((left.delta, near), join.columns)
    partners = partners_of_left(right.new, few, join.on, also_scans=True)
    before = right.old if partners == right.new else right.old_part(partners)
    moved = _joined(join, left.delta, partners)
    turned = minus(_joined(join, near, partners), _joined(join, near, before))
    return union_all((moved, turned), join.columns)


def _joined(join: Join, few: Relation, partners: Relation) -> Relation:
    return joined(few, partners, join.kind, join.on)


def _near_the_change(join: Join, left: Relation, delta: Relation) -> Relation:
    """M: the rows of the left side that meet the condition with a changed row."""
    used = tuple(name for name in delta.columns if name in columns_of(join.on))
    changed = mentioned(delta, used)
    return joined(partners_of_right(left, changed, join.on), changed, JoinKind.SEMI, join.on)
