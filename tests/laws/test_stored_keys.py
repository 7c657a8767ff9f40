"""Semi-joins with stored keys: L ⋉ R = π_L(L ⋈ set(π_r R)) and L ▷ R = L ▷ set(π_r R), with NULLs and copies.

An *oracle* test: the rewritten join against the join as it was, and its delta against the law.
"""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.databases import TABLES, History, histories
from tests.laws.harness import difference, start, value
from tests.laws.plans import Draw, draw_join, join_condition, plan
from tests.laws.settings import cases
from viewkeeper.algebra.expressions import columns_of, conjunction
from viewkeeper.algebra.relations import Join, JoinKind
from viewkeeper.delta import delta, old
from viewkeeper.rewrite.stored_keys import keys_worth_storing, met_by_keys


@st.composite
def semi_joins(draw: st.DrawFn) -> Join:
    """A semi or an anti join, on any condition, whose right side is a join."""
    d = Draw(draw, counted=False)
    left, right = plan(d, d.number(1, 3)), draw_join(d, d.number(2, 3))
    on = conjunction(join_condition(d, left, right) for _ in range(d.number(1, 2)))
    return Join(left.rel, right.rel, d.pick((JoinKind.SEMI, JoinKind.ANTI)), on)


@cases(200)
@given(semi_joins(), histories())
def test_stored_keys_stand_for_the_right_side(join: Join, history: History) -> None:
    assume(not columns_of(join.on).isdisjoint(join.right.columns))
    keys = keys_worth_storing(join, frozenset(TABLES))
    assert keys is not None
    changed = start(history)
    rewritten = met_by_keys(join, keys)
    assert rewritten.columns == join.columns
    assert value(rewritten) == value(join)
    assert value(delta(rewritten, changed)) == difference(value(join), value(old(join, changed)))
