"""Pushing keys down changes where rows are dropped, never which: restrict(Q, K) = Q ⋉ K.

A *differential* test: the pushed plan against the semi-join on top.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.databases import History, histories
from tests.laws.harness import start, value
from tests.laws.plans import Draw, Typed, draw_affected, plan
from tests.laws.settings import cases
from viewkeeper.algebra.build import matching
from viewkeeper.delta.restrict import restrict


@st.composite
def restrictions(draw: st.DrawFn) -> tuple[Typed, Typed, dict[str, str]]:
    """A plan, a set of keys, and which columns match."""
    d = Draw(draw, counted=draw(st.booleans()))
    keys, rel = draw_affected(d, 2), plan(d, d.number(2, 5))
    pairs = {}
    for theirs, type_ in keys.types.items():
        if rel.of(type_):
            pairs[d.pick(rel.of(type_))] = theirs
    return rel, keys, pairs


@cases(250)
@given(restrictions(), histories())
def test_pushing_keys_down_keeps_the_same_rows(
    case: tuple[Typed, Typed, dict[str, str]], history: History
) -> None:
    rel, keys, pairs = case
    start(history)
    if pairs:
        assert value(restrict(rel.rel, keys.rel, pairs)) == value(matching(rel.rel, keys.rel, pairs))
    else:
        assert restrict(rel.rel, keys.rel, pairs) == rel.rel
