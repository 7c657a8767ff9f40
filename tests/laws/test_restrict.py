"""Pushing keys down changes where rows are dropped, never which: restrict(Q, K) = Q ⋉ K.

A *differential* test: the pushed plan against the semi-join on top.
"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.laws.databases import Change, History, histories
from tests.laws.harness import scan, start, value
from tests.laws.plans import Draw, Typed, draw_affected, plan
from tests.laws.settings import cases
from viewkeeper.algebra.build import matching
from viewkeeper.algebra.relations import Affected, Distinct
from viewkeeper.rewrite.restrict import restrict


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


def rows_taken_back() -> tuple[Typed, Typed, dict[str, str]]:
    """Keys of rows that a signed log took back are no keys."""
    return Typed(scan("t"), {}), Typed(Affected(Distinct(scan("s", counted=True)), ("c",)), {}), {"k": "c"}


ONE_DELETION = History(
    {"r": (), "s": ((None, None, None),), "t": ((None, 0.5, False),)},
    ((Change("s", (((None, None, None), -1),)),),),
)


@cases(125)
@example(rows_taken_back(), ONE_DELETION)
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
