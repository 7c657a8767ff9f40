"""The delta rules, all on one page.

    value(Δ(Q)) = value(Q, NEW) − value(Q, OLD)        for every Q over signed bags

blakeley86 section 5 (select, project, join), gupta93 sections 4 and 6 (one rule per subgoal,
negation, aggregation), quass96 section 3 (union, difference). Only terms of relations that
changed remain: the delta of an unchanged input is empty, and the empty relation vanishes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from viewkeeper.algebra.build import empty
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Consolidate,
    Difference,
    Distinct,
    Expand,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.walk import base_tables, children
from viewkeeper.delta.aggregate import delta_aggregate
from viewkeeper.delta.clock import delta_of_timed
from viewkeeper.delta.difference import delta_set_operation
from viewkeeper.delta.distinct import delta_distinct
from viewkeeper.delta.fixpoint import refuse_fixpoint
from viewkeeper.delta.join import delta_inner_join
from viewkeeper.delta.linear import delta_linear, delta_scan
from viewkeeper.delta.semi_join import delta_semi_join
from viewkeeper.delta.states import Operand, old
from viewkeeper.delta.window import delta_top_k, delta_window
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.rewrite.join_block import join_block
from viewkeeper.rewrite.outer_join import as_inner_and_anti
from viewkeeper.rewrite.pushdown import pushed_down
from viewkeeper.rewrite.whole_keys import delta_of_whole_keys


@lru_cache(maxsize=4096)
def delta(rel: Relation, changed: frozenset[str], fresh: tuple[FreshKeys, ...] = ()) -> Relation:
    """ΔQ for a plan whose scans are at NEW, when the relations in `changed` have changed.

    `fresh` are keys of which whole ones came or went: queries that are local to one need no other rule.
    """
    if changed.isdisjoint(base_tables(rel)):
        return empty(rel.columns)
    match rel:
        case Scan():
            return delta_scan(rel)
        case Filter() | Join(kind=JoinKind.INNER) if (better := pushed_down(rel)) != rel:
            return delta(better, changed, fresh)
        case _ if (whole := delta_of_whole_keys(rel, changed, fresh)) is not None:
            return whole
        case Project() if timed := delta_of_timed(rel, changed, lambda part: delta(part, changed, fresh)):
            return timed
        case Join(kind=JoinKind.INNER):
            block = join_block(rel)
            return delta_inner_join(block, _inputs(block.inputs, changed, fresh))
        case Filter() | Project() | Lateral() | UnionAll() | Negate() | Consolidate():
            return delta_linear(rel, tuple(delta(child, changed, fresh) for child in children(rel)))
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI):
            return delta_semi_join(rel, *_inputs(children(rel), changed, fresh))
        case Join():
            return delta(as_inner_and_anti(rel), changed, fresh)
        case Distinct():
            return delta_distinct(rel, *_inputs(children(rel), changed, fresh))
        case Difference() | Intersection():
            return delta_set_operation(rel, *_inputs(children(rel), changed, fresh))
        case Aggregate():
            return delta_aggregate(rel, *_inputs(children(rel), changed, fresh))
        case Window():
            return delta_window(rel, *_inputs(children(rel), changed, fresh))
        case TopK():
            return delta_top_k(rel, *_inputs(children(rel), changed, fresh))
        case Fixpoint():
            return refuse_fixpoint(rel)
        case Values() | Reference() | Affected() | Expand():
            raise MalformedPlan(f"{type(rel).__name__} is no part of a view: it has no delta")
        case _:
            assert_never(rel)


def _inputs(
    rels: tuple[Relation, ...], changed: frozenset[str], fresh: tuple[FreshKeys, ...]
) -> tuple[Operand, ...]:
    return tuple(Operand(old(rel, changed), rel, delta(rel, changed, fresh)) for rel in rels)
