"""A plain closure is maintained in few rounds, and nothing else is taken for one."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datalog.interpreter import Bag, Database
from tests.datalog.programs import TABLES
from tests.datalog.views import TABLE_COLUMNS, changed, fixpoints
from tests.laws.settings import cases
from viewkeeper.algebra.relations import Fixpoint, Reference
from viewkeeper.datalog.parse import parse_program
from viewkeeper.maintenance.dred.algorithm import Maintained, maintain
from viewkeeper.maintenance.dred.changed_subgoals import Changes, Subgoals
from viewkeeper.maintenance.dred.closure import Closure, closure
from viewkeeper.maintenance.dred.phases import RecursiveStratum
from viewkeeper.maintenance.recursion.port import Run
from viewkeeper.maintenance.recursion.seminaive import evaluate_fixpoint
from viewkeeper.maintenance.recursion.unfold import rules_of

Edge = tuple[object, ...]

EDGE = "p(X, Y) :- link(X, Y). "
CLOSURES = (
    EDGE + "p(X, Y) :- p(X, Z), link(Z, Y).",
    EDGE + "p(X, Y) :- link(X, Z), p(Z, Y).",
    EDGE + "p(X, Y) :- p(X, Z), p(Z, Y).",
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
    EDGE + "p(X, Y) :- p(X, Z), p(Y, Z).",
    EDGE + "p(X, Y) :- p(X, Z), p(Z, Y). p(X, Y) :- p(X, Z), link(Z, Y).",
)


def evaluated(fixpoint: Fixpoint, links: Bag) -> Bag:
    db = Database({**{name: {} for name in TABLES}, "link": links}, TABLE_COLUMNS)
    return db.value(evaluate_fixpoint(fixpoint, Run(db))["p"])


def found(text: str) -> Closure | None:
    (fixpoint,) = fixpoints(parse_program(text))
    rules = {d.name: rules_of(d, frozenset({d.name})) for d in fixpoint.definitions}
    none = dict.fromkeys(rules, ())
    return closure(RecursiveStratum(fixpoint.definitions, Subgoals(Changes(), {}, {}), rules, none, none))


def maintained(text: str, links: Bag, gone: Collection[Edge], new: Collection[Edge]) -> int:
    """Maintains the closure through a batch, and compares; how many rounds it took."""
    (fixpoint,) = fixpoints(parse_program(text))
    stored = evaluated(fixpoint, links)
    db = Database({**{name: {} for name in TABLES}, "link": links, "p__stored": stored}, TABLE_COLUMNS)
    changes = changed(db, "link", {**dict.fromkeys(gone, -1), **dict.fromkeys(new, 1)}, Changes())
    rounds: list[str] = []
    run = Run(db, progress=rounds.append)
    done = maintain(fixpoint, {"p": Reference("p__stored", fixpoint.columns)}, changes, run)
    assert isinstance(done, Maintained)
    expected = evaluated(fixpoint, {row: 1 for row in (*links, *new) if row not in gone})
    delta = done.deltas["p"]
    assert set(db.value(delta.deleted)) == set(stored) - set(expected)
    assert set(db.value(delta.inserted)) == set(expected) - set(stored)
    assert not [name for name in db.bags if name.endswith(("_changed", "_near", "_frontier", "__linked"))]
    return len(rounds)


EDGES = st.dictionaries(
    st.tuples(*(st.sampled_from((0, 1, 2, 3, 4, 5, None)) for _ in range(2))), st.just(1), max_size=9
)


@pytest.mark.parametrize("text", CLOSURES)
@cases(120)
@given(links=EDGES, data=st.data())
def test_any_batch_of_edges(text: str, links: Bag, data: st.DataObject) -> None:
    """Edges of cycles go, the only path goes and another comes, in one batch."""
    gone = data.draw(st.lists(st.sampled_from(sorted(links, key=repr)), unique=True)) if links else []
    new = [row for row in data.draw(EDGES) if row not in links]
    assert maintained(text, links, gone, new) <= 12, "three phases of at most four rounds"


@pytest.mark.parametrize("text", CLOSURES)
def test_a_path_through_many_new_edges(text: str) -> None:
    """Every third edge of a chain is new: pairs need up to eleven new edges."""
    chain = [(node, node + 1) for node in range(32)]
    new = chain[::3]
    assert maintained(text, {edge: 1 for edge in chain if edge not in new}, (), new) == 6


@pytest.mark.parametrize("text", CLOSURES)
def test_the_only_way_across_a_long_chain_goes(text: str) -> None:
    chain = {(node, node + 1): 1 for node in range(32)}
    assert maintained(text, chain, [(16, 17)], ()) == 2, "one overdeletes, one finds no other way"


@pytest.mark.parametrize("text", CLOSURES)
def test_a_way_around_is_rederived_in_few_rounds(text: str) -> None:
    chain = {(node, node + 1): 1 for node in range(32)}
    around = {(16, 40): 1, (40, 17): 1}
    assert maintained(text, {**chain, **around}, [(16, 17)], ()) == 4


@pytest.mark.parametrize("text", CLOSURES)
def test_closures_are_recognised(text: str) -> None:
    assert found(text) is not None


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_plain_closure_is_left_alone(text: str) -> None:
    assert found(text) is None
