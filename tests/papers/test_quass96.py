"""quass96: maintenance expressions for aggregates, with every table of Example 4.1."""

from __future__ import annotations

from datetime import date

import pytest
from sqlglot import exp

from tests.papers.example_database import Example
from tests.reference.stored_aggregate import (
    affected_rows,
    as_updates,
    groups_to_recompute,
    recomputed_state,
    refreshed,
    signed_rows,
    strongly_minimal,
    weakly_minimal,
)
from viewkeeper.algebra.build import minus, projected, restricted_to
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Named, column, function, same
from viewkeeper.algebra.relations import Aggregate, Relation
from viewkeeper.delta import delta, old
from viewkeeper.delta.aggregate_state import AggregateState, aggregate_state
from viewkeeper.delta.summary_delta import full_state, summary_delta

SALES = frozenset({"sales_log"})
MAY_1, MAY_2, MAY_3, JULY_3 = date(1996, 5, 1), date(1996, 5, 2), date(1996, 5, 3), date(1996, 7, 3)

ROWS = [
    ("0001", 555, MAY_1, 10),
    ("0002", 555, MAY_1, 20),
    ("0003", 555, MAY_2, 40),
    ("0004", 555, JULY_3, 100),
]
CHANGES = {
    ("0001", 555, MAY_1, 10): -1,
    ("0004", 555, JULY_3, 100): -1,
    ("0004", 555, MAY_3, 100): 1,
    ("0005", 555, MAY_1, 30): 1,
    ("0006", 555, MAY_3, 50): 1,
}


def sales(rows=ROWS, changes=CHANGES) -> Example:
    db = Example(sales_log="sale_id string, store_id int, date date, sale_price int")
    db.load("sales_log", rows, changes)
    return db


def daily_sales(db: Example) -> Aggregate:
    total = Named("daily_total", function("sum", column("sale_price")))
    count = Named("total_count", exp.Count(this=exp.Star()))
    return Aggregate(db.scan("sales_log"), same(("store_id", "date")), (total, count))


class Steps:
    """The steps of one refresh of a stored aggregate, each kept as a table."""

    def __init__(self, db: Example, aggregate: Aggregate) -> None:
        found = aggregate_state(aggregate)
        assert found is not None
        self.state: AggregateState = found
        self.stored = db.store("stored", full_state(found, old(aggregate.child, SALES)))
        self.summary = db.store("summary", summary_delta(found, delta(aggregate.child, SALES)))
        self.groups = db.store("groups_", groups_to_recompute(found, self.stored, self.summary))
        again = db.store("again", recomputed_state(found, aggregate.child, self.groups))
        self.after = db.store("after_", refreshed(found, self.stored, self.summary, again))

    @property
    def given(self) -> tuple[AggregateState, Relation, Relation, Relation]:
        return self.state, self.stored, self.summary, self.after


def test_example_4_1_daily_sales_before() -> None:
    db = sales()
    assert db.value(old(daily_sales(db), SALES)) == {
        (555, MAY_1, 30, 2): 1,
        (555, MAY_2, 40, 1): 1,
        (555, JULY_3, 100, 1): 1,
    }


def test_example_4_1_delta_of_sales_log() -> None:
    """δsales_log: f1 is the price, negated for deletions; cnt is 1 and −1."""
    db, state = sales(), aggregate_state(daily_sales(sales()))
    rows = db.rows(signed_rows(state, delta(db.scan("sales_log"), SALES)))
    assert sorted(rows) == [
        (555, MAY_1, -10, -1),
        (555, MAY_1, 30, 1),
        (555, MAY_3, 50, 1),
        (555, MAY_3, 100, 1),
        (555, JULY_3, -100, -1),
    ]


def test_example_4_1_aggregated_delta() -> None:
    db = sales()
    steps = Steps(db, daily_sales(db))
    totals = restricted_to(steps.summary, ("store_id", "date", "__sum_sale_price", "__rows"))
    assert db.value(totals) == {
        (555, MAY_1, 20, 0): 1,
        (555, JULY_3, -100, -1): 1,
        (555, MAY_3, 150, 2): 1,
    }


def test_example_4_1_deletions_and_insertions() -> None:
    db = sales()
    steps = Steps(db, daily_sales(db))
    change = db.value(weakly_minimal(*steps.given))
    assert {row for row, count in change.items() if count < 0} == {(555, MAY_1, 30, 2), (555, JULY_3, 100, 1)}
    assert {row for row, count in change.items() if count > 0} == {(555, MAY_1, 50, 2), (555, MAY_3, 150, 2)}
    assert db.value(delta(daily_sales(db), SALES)) == change
    assert db.value(steps.groups) == {}


def test_figure_3_a_group_that_comes_out_the_same_is_neither_deleted_nor_inserted() -> None:
    swapped = {("0001", 555, MAY_1, 10): -1, ("0007", 555, MAY_1, 10): 1, ("0003", 555, MAY_2, 40): -1}
    db = sales(changes=swapped)
    steps = Steps(db, daily_sales(db))
    weak = db.rows(weighted(weakly_minimal(*steps.given)))
    strong = db.rows(weighted(strongly_minimal(*steps.given)))
    assert sorted(weak) == [
        (555, MAY_1, 30, 2, -1),
        (555, MAY_1, 30, 2, 1),
        (555, MAY_2, 40, 1, -1),
    ]
    assert strong == [(555, MAY_2, 40, 1, -1)]


def test_figure_5_changes_as_deletions_updates_and_insertions() -> None:
    db = sales()
    updates = as_updates(*Steps(db, daily_sales(db)).given)
    assert db.value(updates.deleted) == {(555, JULY_3, 100, 1): 1}
    assert db.value(updates.updated) == {(555, MAY_1, 30, 50, 2, 2): 1}
    assert db.value(updates.inserted) == {(555, MAY_3, 150, 2): 1}


def extreme_sale(db: Example, kind: str) -> Aggregate:
    return Aggregate(
        db.scan("sales_log"), same(("store_id",)), (Named("price", function(kind, column("sale_price"))),)
    )


def sale(number: int, price: int) -> tuple:
    return (f"{number:04}", 555, MAY_1, price)


EXTREMES = {
    "a smaller value is inserted": ("min", {sale(9, 5): 1}, 5, False),
    "an equal value is inserted": ("min", {sale(9, 10): 1}, 10, False),
    "a larger value is inserted": ("min", {sale(9, 50): 1}, 10, False),
    "another value is deleted": ("min", {sale(3, 40): -1}, 10, False),
    "one of two equal minima is deleted": ("min", {sale(1, 10): -1}, 10, False),
    "the minimum goes and a smaller one comes": (
        "min",
        {sale(1, 10): -1, sale(2, 10): -1, sale(9, 7): 1},
        7,
        False,
    ),
    "the minimum goes and an equal one comes": (
        "min",
        {sale(1, 10): -1, sale(2, 10): -1, sale(9, 10): 1},
        10,
        False,
    ),
    "the minimum goes": ("min", {sale(1, 10): -1, sale(2, 10): -1}, 40, True),
    "the minimum goes and a larger one comes": (
        "min",
        {sale(1, 10): -1, sale(2, 10): -1, sale(9, 90): 1},
        40,
        True,
    ),
    "the maximum goes": ("max", {sale(4, 100): -1}, 40, True),
    "the maximum goes and a larger one comes": ("max", {sale(4, 100): -1, sale(9, 101): 1}, 101, False),
    "the maximum goes and a smaller one comes": ("max", {sale(4, 100): -1, sale(9, 99): 1}, 99, True),
}


@pytest.mark.parametrize(("kind", "changes", "expected", "recomputed"), EXTREMES.values(), ids=EXTREMES)
def test_figure_4_only_groups_whose_extreme_is_gone_are_recomputed(
    kind, changes, expected, recomputed
) -> None:
    db = sales([sale(1, 10), sale(2, 10), sale(3, 40), sale(4, 100)], changes)
    view = extreme_sale(db, kind)
    steps = Steps(db, view)
    assert db.value(steps.groups) == ({(555,): 1} if recomputed else {})
    assert db.value(steps.state.visible(steps.after)) == {(555, expected): 1}
    assert db.value(steps.after) == db.value(db.store("fresh", full_state(steps.state, view.child)))


def test_figure_4_a_group_that_dies_is_not_recomputed() -> None:
    db = sales([sale(1, 10), sale(2, 20)], {sale(1, 10): -1, sale(2, 20): -1})
    steps = Steps(db, extreme_sale(db, "min"))
    assert db.value(steps.groups) == {}
    assert db.value(weakly_minimal(*steps.given)) == {(555, 10): -1}


def max_daily_total(db: Example) -> Aggregate:
    """The view of the introduction: the maximum daily sales total for each store."""
    greatest = Named("best", function("max", column("daily_total")))
    return Aggregate(daily_sales(db), same(("store_id",)), (greatest,))


STREAM = [
    ({sale(5, 80): 1}, 110),
    ({("0003", 555, MAY_2, 40): -1}, 110),
    ({("0006", 555, MAY_3, 150): 1, ("0004", 555, JULY_3, 100): -1}, 150),
    ({("0006", 555, MAY_3, 150): -1}, 110),
    ({sale(5, 80): -1, ("0001", 555, MAY_1, 10): -1}, 20),
    ({("0002", 555, MAY_1, 20): -1}, None),
]


def test_introduction_max_of_daily_totals_through_inserts_and_deletes() -> None:
    rows, best = list(ROWS), 100
    for changes, expected in STREAM:
        db = sales(rows, changes)
        view = max_daily_total(db)
        before = {(555, best): 1} if best is not None else {}
        now = {(555, expected): 1} if expected is not None else {}
        assert db.value(old(view, SALES)) == before
        assert db.value(view) == now
        net = {**dict.fromkeys(before, -1), **dict.fromkeys(now, 1)} if before != now else {}
        assert db.value(delta(view, SALES)) == net
        steps = Steps(db, view)
        assert db.value(strongly_minimal(*steps.given)) == net
        rows, best = _applied(rows, changes), expected


def _applied(rows, changes):
    return [row for row in rows if changes.get(row, 0) >= 0] + [row for row, n in changes.items() if n > 0]


def test_figure_1_the_new_aggregate_is_the_old_less_its_affected_groups_and_their_new_rows() -> None:
    db = sales()
    steps = Steps(db, daily_sales(db))
    kept = minus(steps.stored, affected_rows(steps.state, steps.stored, steps.summary))
    rows = db.value(kept) | db.value(steps.after)
    assert rows == db.value(db.store("fresh", full_state(steps.state, daily_sales(db).child)))
    assert db.rows(plain(projected(kept, same(("date",))))) == [(MAY_2,)]
