"""EXCEPT and INTERSECT, with and without ALL: only rows that the deltas mention are looked at.

    A = rows of δL and δR;   N_L = L_new ⋉ A,   N_R = R_new ⋉ A
    Δ(L op R) = (N_L op N_R) − ((N_L ⊎ −δL) op (N_R ⊎ −δR))

How often a row stands in the result depends only on how often that very row stands in L and in R.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.build import minus, union_all
from viewkeeper.algebra.relations import Difference, Intersection, Relation
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict


def delta_set_operation(rel: Difference | Intersection, left: Operand, right: Operand) -> Relation:
    changes = union_all((left.delta, right.delta), rel.columns)
    rows = mentioned(changes, rel.columns)
    near_left = restrict(left.new, rows)
    near_right = restrict(right.new, rows, dict(zip(rel.right.columns, rel.columns, strict=True)))
    was = replace(rel, left=left.old_part(near_left), right=right.old_part(near_right))
    return minus(replace(rel, left=near_left, right=near_right), was)
