"""Semi and anti joins (EXISTS, IN, NOT EXISTS, NOT IN), on any condition.

gupta93 Definition 6.1, generalised from negated subgoals to conditions:

    Δ(L ⋉ R) = (δL ⋉ R_new) ⊎ ((M ⋉ R_new) − (M ⋉ R_old))     M = L_old ⋉ δR

A row of L_old that meets the condition with no changed row of R has the same partners as before;
only the rows of M may have gained their first partner or lost their last. The anti join is the
same with ▷ in place of ⋉. Nothing is assumed of the condition: NOT IN, whose condition also holds
where a comparison is NULL, needs no rule of its own.
"""

from __future__ import annotations

from viewkeeper.algebra.build import joined, minus, union_all
from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.delta.keys import mentioned
from viewkeeper.delta.restrict import partners_of_left, partners_of_right
from viewkeeper.delta.states import Input


def delta_semi_join(join: Join, left: Input, right: Input) -> Relation:
    moved = _driven_by(join, left.delta, right.new)
    near = _near_the_change(join, left.old, right.delta)
    turned = minus(_driven_by(join, near, right.new), _driven_by(join, near, right.old))
    return union_all((moved, turned), join.columns)


def _near_the_change(join: Join, left: Relation, delta: Relation) -> Relation:
    """M: the rows of the left side that meet the condition with a changed row."""
    used = tuple(name for name in delta.columns if name in columns_of(join.on))
    changed = mentioned(delta, used)
    return joined(partners_of_right(left, changed, join.on), changed, JoinKind.SEMI, join.on)


def _driven_by(join: Join, few: Relation, right: Relation) -> Relation:
    """The join for a few rows of the left side: only their possible partners are read."""
    return joined(few, partners_of_left(right, few, join.on, also_scans=True), join.kind, join.on)
