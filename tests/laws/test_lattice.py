"""The laws of the lattice: an edge query gives the child, over views and over summary-deltas alike.

Oracle tests against recomputation from the base tables, for random sets of views over random stars:
along every edge that the derives relation has, along the edges that the cost chooses, and for queries.
"""

from __future__ import annotations

from functools import cache
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.laws.stars import Database, change, dimensions, facts, schemas, view
from tests.laws.test_summary_delta import refreshed
from tests.reference.propagation import propagate
from tests.reference.summary_refresh import full_state, preaggregated_delta
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Aggregate, Reference, Relation
from viewkeeper.delta.states import old
from viewkeeper.maintenance.lattice.answer import Answer, answer
from viewkeeper.maintenance.lattice.build import Lattice, lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.lattice.edge import edge_query
from viewkeeper.maintenance.lattice.friendly import extended, lattice_friendly
from viewkeeper.maintenance.lattice.parents import Statistics, choose_for_deltas, choose_for_views
from viewkeeper.maintenance.summary_delta.preaggregate import preaggregated
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts, alive
from viewkeeper.maintenance.summary_delta.state import delta_columns, stored_columns, visible

RANDOM = st.randoms(use_true_random=False)


@cache
def database() -> Database:
    return Database()


def random_lattice(rng: Random, known: dict) -> Lattice:
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(rng.randint(2, 4))]
    return lattice_friendly(views) if rng.random() < 0.5 else lattice(views)


def stored(node: CubeView) -> Relation:
    return Reference(f"stored_{node.name}", stored_columns(node))


def random_statistics(rng: Random, nodes: Lattice) -> Statistics:
    """Any sizes: the choice must be right whatever it is."""
    names = [node.name for node in nodes.views]
    sizes = {name: rng.randint(1, 100) for name in (*names, "f", "da", "db", "r")}
    return Statistics(sizes, {name: rng.randint(1, 100) for name in (*names, "f")})


@cases(15)
@given(RANDOM)
def test_layers_from_the_lattice_equal_recomputation(rng: Random) -> None:
    db, known = database(), schemas(rng)
    nodes = random_lattice(rng, known)
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    for number in range(2):
        step = change(rng, known, before)
        db.load(before, step.after)
        for node in nodes.views if number == 0 else ():
            db.store(f"stored_{node.name}", old(full_state(node), frozenset(known)))
        batch = BatchFacts(step.changed, step.insert_only)
        choices = choose_for_deltas(nodes, random_statistics(rng, nodes), batch)
        steps = propagate(choices, batch, lambda node: alive(node, stored(node)))
        for sd in steps:
            db.store(sd.name, sd.relation)
        for sd in steps:
            delta = Reference(sd.name, delta_columns(sd.view, batch.may_delete))
            refreshed(db, sd.view, delta, batch, sd.weakly_minimal)
        for node in nodes.views:
            assert db.rows(alive(node, stored(node))) == db.rows(full_state(node)), node.name
        before = step.after


@cases(14)
@given(RANDOM)
def test_every_edge_computes_its_child(rng: Random) -> None:
    db, known = database(), schemas(rng)
    nodes = random_lattice(rng, known)
    state = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    db.load(state, state)
    for edge in nodes.edges:
        derived = edge_query(edge, full_state(edge.parent))
        assert db.rows(derived) == db.rows(full_state(edge.child)), (edge.parent.name, edge.child.name)
    assert {choice.view.name for choice in choose_for_views(nodes, Statistics())} == {
        node.name for node in nodes.views
    }


@cases(10)
@given(RANDOM)
def test_hidden_columns_change_no_group(rng: Random) -> None:
    """Sections 5.2 and 5.3: extended and optimized views show what the given ones show."""
    db, known = database(), schemas(rng)
    views = [view(rng, known, f"v{i}") for i in range(3)]
    state = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    db.load(state, state)
    changed = {v.name: v for v in extended(views)}
    pruned = {v.name: v for v in lattice_friendly(views).views}
    for given_view in views:
        expected = db.rows(visible(given_view, full_state(given_view)))
        for other in (changed[given_view.name], pruned[given_view.name]):
            assert db.rows(visible(other, full_state(other))) == expected


@cases(10)
@given(RANDOM)
def test_extension_only_adds_edges(rng: Random) -> None:
    known = schemas(rng)
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(4)]

    def above(nodes: Lattice) -> set[frozenset[str]]:
        return {frozenset((edge.parent.name, edge.child.name)) for edge in nodes.edges}

    assert above(lattice(views)) <= above(lattice_friendly(views))


@cases(14)
@given(RANDOM)
def test_answers_from_views_equal_answers_from_tables(rng: Random) -> None:
    db, known = database(), schemas(rng)
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(3)]
    query = view(rng, known, "query")
    state = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    db.load(state, state)
    found = answer(query, views, full_state)
    if isinstance(found, Answer):
        assert db.rows(found.relation) == db.rows(plain(Aggregate(source(query), query.keys, query.measures)))
    else:
        assert found.code in ("no-view", "not-derivable")


@cases(14)
@given(RANDOM)
def test_preaggregated_layers_equal_recomputation(rng: Random) -> None:
    """Section 4.1.3: it refreshes the view to the recomputed state."""
    db, known = database(), schemas(rng)
    node = view(rng, known, "v")
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = change(rng, known, before)
    db.load(before, step.after)
    batch = BatchFacts(step.changed, step.insert_only)
    first = preaggregated(node, batch)
    if first is None:
        return
    db.store("stored_v", old(full_state(node), frozenset(known)))
    db.store("sd", preaggregated_delta(node, first, batch))
    refreshed(db, node, Reference("sd", delta_columns(node, batch.may_delete)), batch, weakly=False)
    assert db.rows(alive(node, stored(node))) == db.rows(full_state(node))
