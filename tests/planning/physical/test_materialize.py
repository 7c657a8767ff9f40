"""A chain of unions is cut where it is too deep for Spark's scheduler."""

from __future__ import annotations

from tests.golden.cases import LINES, ORDERS, join
from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.relations import Relation, UnionAll
from viewkeeper.algebra.walk import children, nodes
from viewkeeper.limits import LIMITS
from viewkeeper.planning.physical.materialize import ends

DEEPEST = LIMITS.unions


def chain(unions: int) -> Relation:
    """As a change of many inputs is made: what there was joined with one more, and one more change."""
    rel = restricted_to(LINES, ("l_order",))
    for _ in range(unions):
        met = restricted_to(join(rel, ORDERS, "l_order = o_id"), ("l_order",))
        rel = UnionAll((met, restricted_to(LINES, ("l_order",))))
    return rel


def depth(rel: Relation, cut: frozenset[Relation]) -> int:
    """How many unions stand above each other, down to where the plan is cut."""
    found: dict[Relation, int] = {}
    for node in nodes(rel):
        below = max((0 if child in cut else found[child] for child in children(node)), default=0)
        found[node] = below + isinstance(node, UnionAll)
    return max(found.values())


def test_a_plan_of_few_unions_is_run_at_once() -> None:
    assert ends(chain(DEEPEST), DEEPEST) == frozenset()


def test_a_deep_chain_is_cut_in_pieces_that_are_not() -> None:
    plan = chain(4 * DEEPEST)
    found = ends(plan, DEEPEST)
    assert len(found) == 3
    assert depth(plan, found) == DEEPEST


def test_unions_beside_each_other_are_not_deep() -> None:
    wide = UnionAll(tuple(chain(1) for _ in range(5 * DEEPEST)))
    assert ends(wide, DEEPEST) == frozenset()
