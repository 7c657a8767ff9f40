"""Duplicate elimination: gupta93 statement (2), for the rows that the delta mentions.

    N = R_new ⋉ δR
    Δ set(R) = set(N) − set(N ⊎ −δR)

A row whose number of derivations changes but stays positive is in both sets and cancels: the flow
of changes stops here, as Example 5.1 wants.
"""

from __future__ import annotations

from viewkeeper.algebra.build import minus
from viewkeeper.algebra.relations import Distinct, Relation
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict


def delta_distinct(rel: Distinct, child: Operand) -> Relation:
    near = restrict(child.new, mentioned(child.delta, rel.columns))
    return minus(Distinct(near), Distinct(child.old_part(near)))
