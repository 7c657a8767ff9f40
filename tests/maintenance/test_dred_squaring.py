"""Squaring derives the same closure in fewer rounds, and is used for plain closures only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datalog.interpreter import Bag, Database
from tests.datalog.programs import TABLES
from tests.datalog.views import TABLE_COLUMNS, changed, fixpoints
from tests.laws.settings import cases
from viewkeeper.algebra.relations import Fixpoint, Reference
from viewkeeper.datalog.parse import parse_program
from viewkeeper.maintenance.changes import Changes
from viewkeeper.maintenance.dred import Maintained, maintain
from viewkeeper.maintenance.evaluator import Run
from viewkeeper.maintenance.seminaive import evaluate_fixpoint
from viewkeeper.maintenance.squaring import squared

EDGE = "p(X, Y) :- link(X, Y). "
CLOSURES = (
    EDGE + "p(X, Y) :- p(X, Z), link(Z, Y).",
    EDGE + "p(X, Y) :- link(X, Z), p(Z, Y).",
    "p(Y, X) :- link(X, Y). p(Y, X) :- p(Z, X), link(Z, Y).",
)
OTHERS = (
    EDGE + "p(X, Y) :- p(X, Z), link(Y, Z).",
    EDGE + "p(X, Y) :- p(X, Z), link(Z, Y), X < 3.",
    EDGE + "p(X, Y) :- p(X, Z), link(Z, Y), not mark(Z).",
    EDGE + "p(X, Y) :- p(X, Z), cost(Z, Y, _).",
    EDGE + "p(Y, X) :- p(X, Z), link(Z, Y).",
    EDGE + "p(X, Y) :- p(X, Y), link(X, Y).",
    "p(X, Y) :- link(X, Y), X < 9. p(X, Y) :- p(X, Z), link(Z, Y).",
    "p(X, X) :- link(X, _). p(X, Y) :- p(X, Z), link(Z, Y).",
    EDGE + "p(X, Y) :- p(X, Z), p(Z, Y).",
)


def evaluated(fixpoint: Fixpoint, links: Bag) -> tuple[Bag, int]:
    db = Database({**{name: {} for name in TABLES}, "link": links}, TABLE_COLUMNS)
    return db.value(evaluate_fixpoint(fixpoint, Run(db))["p"]), db.calls


@pytest.mark.parametrize("text", CLOSURES)
@cases(40)
@given(edges=st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.just(1), max_size=9))
def test_the_closure_is_the_same(text: str, edges: Bag) -> None:
    (fixpoint,) = fixpoints(parse_program(text))
    quick = squared(fixpoint)
    assert quick is not None
    assert evaluated(quick, edges)[0] == evaluated(fixpoint, edges)[0]


EDGES = st.dictionaries(
    st.tuples(*(st.sampled_from((0, 1, 2, 3, 4, 5, None)) for _ in range(2))), st.just(1), max_size=9
)


@pytest.mark.parametrize("text", CLOSURES)
@cases(60)
@given(links=EDGES, data=st.data())
def test_a_closure_is_maintained_by_squaring(text: str, links: Bag, data: st.DataObject) -> None:
    """Edges of cycles go, the only path goes and another comes, in one batch."""
    (fixpoint,) = fixpoints(parse_program(text))
    quick = squared(fixpoint)
    assert quick is not None
    stored = evaluated(fixpoint, links)[0]
    db = Database({**{name: {} for name in TABLES}, "link": links, "p__stored": stored}, TABLE_COLUMNS)
    gone = data.draw(st.lists(st.sampled_from(sorted(links, key=repr)), unique=True)) if links else []
    new = {row: 1 for row in data.draw(EDGES) if row not in links}
    batch = {**dict.fromkeys(gone, -1), **new}
    changes = changed(db, "link", batch, Changes())
    done = maintain(quick, {"p": Reference("p__stored", quick.columns)}, changes, Run(db))
    assert isinstance(done, Maintained)
    after = {row: 1 for row in (*links, *new) if row not in gone}
    expected = evaluated(fixpoint, after)[0]
    delta = done.deltas["p"]
    assert set(db.value(delta.deleted)) == set(stored) - set(expected)
    assert set(db.value(delta.inserted)) == set(expected) - set(stored)


def test_a_long_chain_takes_few_rounds() -> None:
    chain = {(node, node + 1): 1 for node in range(32)}
    (fixpoint,) = fixpoints(parse_program(CLOSURES[0]))
    quick = squared(fixpoint)
    assert quick is not None
    assert evaluated(fixpoint, chain)[1] == 33
    assert evaluated(quick, chain)[1] == 7


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_plain_closure_is_left_alone(text: str) -> None:
    (fixpoint,) = fixpoints(parse_program(text))
    assert squared(fixpoint) is None
