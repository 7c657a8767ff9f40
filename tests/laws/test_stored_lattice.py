"""The lattice over the state that warehouses store: extremes with the number of rows that hold them.

Summary-deltas run down the lattice, children from parents and grandchildren from children, and every view's
state, refreshed by its own, equals the state recomputed from the base tables.
"""

from __future__ import annotations

from functools import cache
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.settings import cases
from tests.laws.stars import Database, change, dimensions, facts, schemas, view
from tests.reference.stored_aggregate import groups_to_recompute, recomputed_state, refreshed
from viewkeeper.algebra.build import filtered, renamed, restricted_to, union_all
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import column, literal, null_safe_match
from viewkeeper.algebra.relations import Aggregate, Join, JoinKind, Reference, Relation
from viewkeeper.delta import delta, old
from viewkeeper.delta.aggregate_state import ROWS_NAME, aggregate_state
from viewkeeper.delta.summary_delta import full_state, summary_columns, summary_delta
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.lattice.moved import moved_summary_delta, stands_in
from viewkeeper.maintenance.lattice.summary import Summary, edge_state, edge_summary_delta
from viewkeeper.rewrite.restrict import restrict_by

RANDOM = st.randoms(use_true_random=False)


@cache
def database() -> Database:
    return Database()


def summary(cube: CubeView) -> Summary:
    state = aggregate_state(Aggregate(source(cube), cube.keys, cube.measures))
    assert state is not None
    return Summary(cube, state)


def stored(db: Database, name: str, rel: Relation) -> Reference:
    db.store(name, rel)
    return Reference(name, rel.columns)


def after(db: Database, one: Summary, before: Relation, delta_rows: Relation) -> Relation:
    """The stored state with the groups of a summary-delta refreshed."""
    state = one.state
    groups = stored(db, "groups_", groups_to_recompute(state, before, delta_rows))
    again = stored(db, "again", plain(recomputed_state(state, state.aggregate.child, groups)))
    new = refreshed(state, before, delta_rows, again)
    if not state.keys:
        return new
    other = {key: f"__gone_{key}" for key in state.keys}
    gone = renamed(restricted_to(delta_rows, state.keys), other)
    kept = Join(before, gone, JoinKind.ANTI, null_safe_match(other.items()))
    return union_all((kept, new), state.columns)


@cases(40)
@given(RANDOM)
def test_stored_state_refreshed_along_the_lattice_is_exact(rng: Random) -> None:
    db, known = database(), schemas(rng)
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(rng.randint(2, 4))]
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = change(rng, known, before)
    db.load(before, step.after)
    nodes, found = lattice(views), {v.name: summary(v) for v in views}
    for node in nodes.views:
        one = found[node.name]
        at_first = old(one.state.aggregate.child, frozenset(known))
        kept = stored(db, f"stored_{node.name}", plain(full_state(one.state, at_first)))
        edges = [e for e in nodes.into(node) if step.changed.isdisjoint(e.annotation)]
        if edges and rng.random() < 0.8:
            edge = rng.choice(edges)
            above = found[edge.parent.name]
            sd = edge_summary_delta(
                edge, above, one, Reference(f"sd_{edge.parent.name}", summary_columns(above.state))
            )
        else:
            sd = plain(summary_delta(one.state, delta(one.state.aggregate.child, step.changed)))
        found_delta = stored(db, f"sd_{node.name}", sd)
        wanted = db.rows(plain(full_state(one.state, one.state.aggregate.child)))
        assert db.rows(after(db, one, kept, found_delta)) == wanted, node


@cases(40)
@given(RANDOM)
def test_every_edge_computes_the_stored_state_of_its_child(rng: Random) -> None:
    """All groups, or those alone that lost an extreme: here, those of several rows."""
    db, known = database(), schemas(rng)
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(3)]
    state = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    db.load(state, state)
    for edge in lattice(views).edges:
        parent, child = summary(edge.parent), summary(edge.child)
        whole = stored(db, "whole", plain(full_state(parent.state, parent.state.aggregate.child)))
        everything = plain(full_state(child.state, child.state.aggregate.child))
        derived = edge_state(edge, parent, child, whole)
        assert db.rows(derived) == db.rows(everything)
        if keys := child.state.keys:
            several = exp.GT(this=column(ROWS_NAME), expression=literal(1))
            some = filtered(everything, several)
            lost = stored(db, "lost", restricted_to(some, keys))
            found = restrict_by(derived, lost, tuple((column(key), key) for key in keys))
            assert db.rows(plain(found)) == db.rows(some)


@cases(80)
@given(RANDOM)
def test_stored_views_stand_in_for_the_facts_where_a_dimension_has_changed(rng: Random) -> None:
    """Dimensions and facts change in one batch; extremes of extremes only where no fact was deleted."""
    db, known = database(), schemas(rng)
    views = [view(rng, known, f"v{i}", fine=i == 0) for i in range(3)]
    before = {**dimensions(rng, known, None), "f": facts(rng, known, rng.randint(0, 8))}
    step = change(rng, known, before)
    db.load(before, step.after)
    for edge in lattice(views).edges:
        if not stands_in(edge, step.changed, step.insert_only):
            continue
        parent, child = summary(edge.parent), summary(edge.child)
        above, own = (
            stored(db, f"old_{n}", plain(full_state(one.state, old(one.state.aggregate.child, step.changed))))
            for n, one in enumerate((parent, child))
        )
        sd = plain(summary_delta(parent.state, delta(parent.state.aggregate.child, step.changed)))
        given = stored(db, "sd_above", sd) if step.changed & edge.parent.tables else None
        moved = stored(db, "moved", moved_summary_delta(edge, parent, child, given, above, step.changed))
        wanted = db.rows(plain(full_state(child.state, child.state.aggregate.child)))
        assert db.rows(after(db, child, own, moved)) == wanted, edge
