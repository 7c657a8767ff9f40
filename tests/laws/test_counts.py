"""Explicit counts mean what implicit ones do: each form of a plan denotes the same bag."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given

from tests.laws.databases import History, histories
from tests.laws.harness import connection, rows_of, scan, start, value
from tests.laws.plans import Typed, plans, plans_with
from tests.laws.settings import cases
from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.counts import is_counted, weighted
from viewkeeper.algebra.expressions import Named, literal
from viewkeeper.algebra.relations import Affected, Expand, Negate, Project, Relation, Scan, TopK, UnionAll
from viewkeeper.algebra.walk import rewrite
from viewkeeper.sql.render import DUCKDB, render


def uncounted(rel: Relation) -> Relation:
    return rewrite(rel, lambda n: Scan(n.table, n.bound, n.at) if isinstance(n, Scan) else n)


ONE_ROW = History({"r": ((1, 0, "y"),), "s": (), "t": ()}, ((),))


def first_of_a_constant() -> Typed:
    """A constant of an unordered limit must not be taken for the place of a column."""
    return Typed(TopK(Project(scan("r"), (Named("p", literal(7)),)), (), 1), {})


@cases(75)
@example(first_of_a_constant(), ONE_ROW)
@given(plans(budget=5, counted=True), histories())
def test_reading_counts_gives_the_bag_that_reading_copies_gives(view: Typed, history: History) -> None:
    start(history)
    assert value(view.rel) == value(uncounted(view.rel))


@cases(30)
@given(plans_with(Expand, budget=4, counted=True), histories())
def test_expanding_counts_gives_the_bag_back(view: Typed, history: History) -> None:
    start(history)
    assert value(view.rel) == value(uncounted(view.rel))


def rows_taken_back() -> Typed:
    rows = scan("r")
    return Typed(Affected(UnionAll((rows, Negate(rows))), ("a",)), {})


@cases(30)
@example(rows_taken_back(), ONE_ROW)
@given(plans_with(Affected, budget=4), histories())
def test_affected_is_the_set_of_values_mentioned(view: Typed, history: History) -> None:
    """Where rows carry counts it may hold more: values whose counts cancel are mentioned, too."""
    start(history)
    mentioned = value(view.rel)
    names = view.rel.child.columns
    places = [names.index(name) for name in view.rel.columns]
    present = {tuple(row[i] for i in places) for row in value(view.rel.child)}
    assert set(mentioned) >= present
    assert is_counted(view.rel.child) or set(mentioned) == present
    assert all(count == 1 for count in mentioned.values())


@cases(30)
@given(plans(budget=5), histories())
def test_sharing_common_subexpressions_changes_nothing(view: Typed, history: History) -> None:
    start(history)
    twice = weighted(view.rel)
    steps, _ = shared(twice)
    assert len({step.name for step in steps}) == len(steps)
    flat = connection().execute(render(twice, DUCKDB, pretty=False)).fetchall()
    assert Counter(map(repr, flat)) == Counter(map(repr, rows_of(twice)))
