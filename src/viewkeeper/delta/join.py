"""Inner joins on any condition: gupta93 Definition 4.1, one term per changed input.

    Δ(L ⋈ R) = δL ⋈ R_old ⊎ L_new ⋈ δR

New states stand to the left of a delta and old ones to the right. Nested joins thus give n terms
for n changed inputs, where blakeley86's truth table has 2ⁿ − 1 rows. A self-join is no special case.
"""

from __future__ import annotations

from viewkeeper.algebra.build import joined, union_all
from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.delta.restrict import partners_of_left, partners_of_right
from viewkeeper.delta.states import Input


def delta_inner_join(join: Join, left: Input, right: Input) -> Relation:
    after = partners_of_left(right.old, left.delta, join.on)
    before = partners_of_right(left.new, right.delta, join.on)
    from_left = joined(left.delta, after, JoinKind.INNER, join.on)
    from_right = joined(before, right.delta, JoinKind.INNER, join.on)
    return union_all((from_left, from_right), join.columns)
