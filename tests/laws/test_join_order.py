"""The order of inner joins changes what is read when, never the rows: small_first(ΔQ) = ΔQ.

A *differential* test: the reordered delta against the delta as the rules wrote it.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.databases import TABLES, History, histories
from tests.laws.harness import start, value
from tests.laws.plans import Typed, plans_with
from tests.laws.settings import cases
from viewkeeper.algebra.relations import Join
from viewkeeper.delta import delta
from viewkeeper.rewrite.join_order import small_first


@st.composite
def sizes(draw: st.DrawFn) -> dict[str, int]:
    """Any order of the tables by their sizes."""
    return {table: draw(st.integers(0, 3)) for table in TABLES}


@cases(300)
@given(plans_with(Join), histories(), sizes())
def test_reordered_deltas_have_the_same_value(view: Typed, history: History, sizes: dict[str, int]) -> None:
    change = delta(view.rel, start(history))
    ordered = small_first(change, sizes)
    assert ordered.columns == change.columns
    assert value(ordered) == value(change)
