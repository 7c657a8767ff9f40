"""Aggregation by any function: the groups that the delta mentions are computed anew.

    N = R_new ⋉ A,   A = groups that δR mentions
    Δ γ(R) = γ(N) − γ(N ⊎ −δR)

gupta93 Algorithm 6.1 for functions that are not incrementally computable. N ⊎ −δR is the old state
of the affected groups, so that R is evaluated once. Without group-by columns there is exactly one
group and one row, before and after; it is always affected. Where the old aggregates are stored,
`delta/stored_aggregate.py` needs no R at all.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.build import minus, projected
from viewkeeper.algebra.relations import Aggregate, Relation
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict_by


def delta_aggregate(rel: Aggregate, child: Operand) -> Relation:
    near = affected_groups(rel, child.new, child.delta)
    return minus(replace(rel, child=near), replace(rel, child=child.old_part(near)))


def affected_groups(rel: Aggregate, source: Relation, delta: Relation) -> Relation:
    """The rows of `source` in the groups that `delta` mentions."""
    if not rel.keys:
        return source
    groups = mentioned(projected(delta, rel.keys), rel.key_names)
    return restrict_by(source, groups, tuple((key.expr, key.name) for key in rel.keys))
