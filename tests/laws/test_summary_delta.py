"""The law of summary-deltas: stored state ⊕ layers = the state recomputed, for every batch of changes.

An oracle test (against recomputation from the base tables) for random star schemas, cube views and
batches; two batches in a row, so that groups die and are born again under layers that nobody merged.
"""

from __future__ import annotations

from functools import cache
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from tests.laws.stars import Database, change, dimensions, facts, schemas, view
from tests.reference.summary_refresh import (
    full_state,
    is_weakly_minimal,
    merged,
    overridden,
    prepare_both,
    refresh,
)
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Aggregate, Reference, Relation
from viewkeeper.delta.states import old
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts, alive, prepare_changes, summary_delta
from viewkeeper.maintenance.summary_delta.state import delta_columns, stored_columns, visible

RANDOM = st.randoms(use_true_random=False)


@cache
def database() -> Database:
    return Database()


def refreshed(db: Database, node: CubeView, delta: Relation, batch: BatchFacts, weakly: bool) -> None:
    """Folds a summary-delta into the table `stored_<view>` as layers would be, dead groups included."""
    stored = Reference(f"stored_{node.name}", stored_columns(node))
    done = refresh(node, delta, batch, alive(node, stored), weakly_minimal=weakly)
    result = merged(node, stored, done.layer)
    if done.override is not None:
        db.store("override", done.override)
        result = overridden(node, result, Reference("override", stored_columns(node)))
    db.store(f"stored_{node.name}", result)


@cases(40)
@given(RANDOM)
def test_layers_equal_recomputation(rng: Random) -> None:
    db, known = database(), schemas(rng)
    node = view(rng, known, "v", fine=rng.random() < 0.2)
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    stored = Reference("stored_v", stored_columns(node))
    for number in range(2):
        step = change(rng, known, before)
        db.load(before, step.after)
        if number == 0:
            db.store("stored_v", old(full_state(node), frozenset(known)))
        batch = BatchFacts(step.changed, step.insert_only)
        db.store("sd", summary_delta(node, batch))
        delta = Reference("sd", delta_columns(node, batch.may_delete))
        refreshed(db, node, delta, batch, is_weakly_minimal(node, batch))
        assert db.rows(alive(node, stored)) == db.rows(full_state(node))
        before = step.after


@cases(17)
@given(RANDOM)
def test_visible_columns_equal_the_query(rng: Random) -> None:
    """The state says no less than the query itself, NULLs and the empty group included."""
    db, known = database(), schemas(rng)
    state = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 6))}
    db.load(state, state)
    node = view(rng, known, "v")
    assert db.rows(visible(node, full_state(node))) == db.rows(_direct(node))


def _direct(node: CubeView) -> Relation:
    """The view's own query, from its canonical form, without any state."""
    return plain(Aggregate(source(node), node.keys, node.measures))


@cases(17)
@given(RANDOM)
def test_prepare_changes_is_the_union_of_both_sides(rng: Random) -> None:
    db, known = database(), schemas(rng)
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 6))}
    step = change(rng, known, before)
    db.load(before, step.after)
    node, batch = view(rng, known, "v"), BatchFacts(step.changed, step.insert_only)
    assert db.rows(prepare_changes(node, batch)) == db.rows(prepare_both(node, batch))
