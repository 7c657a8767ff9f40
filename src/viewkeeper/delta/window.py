"""Window functions and top-k.

    N = R_new ⋉ A,   A = partitions that δR mentions
    Δ ω(R) = ω(N) − ω(N ⊎ −δR)

Without PARTITION BY there is one partition, which every change affects; a top-k is the same with
an order and a limit.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.algebra.build import minus
from viewkeeper.algebra.relations import Relation, TopK, Window
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict


def delta_window(rel: Window, child: Operand) -> Relation:
    near = child.new
    if rel.partition:
        near = restrict(near, mentioned(child.delta, rel.partition))
    return minus(replace(rel, child=near), replace(rel, child=child.old_part(near)))


def delta_top_k(rel: TopK, child: Operand) -> Relation:
    return minus(rel, replace(rel, child=child.old))
