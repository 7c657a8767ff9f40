"""Aggregates over their stored state: the delta law, minimality, and the exactness of the state.

The state is kept through up to five batches; after each it must equal what recomputation would store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import assume, example, given
from hypothesis import strategies as st
from sqlglot import exp

from tests.laws.databases import Change, History, histories
from tests.laws.expressions import AGGREGATES, ANY, BOOLEAN, DECIMAL, DOUBLE, INT, RATIO, Template
from tests.laws.harness import difference, load, rows_of, scan, store, value
from tests.laws.plans import Draw, plan
from tests.laws.settings import cases
from tests.reference.stored_aggregate import (
    affected_rows,
    as_updates,
    groups_to_recompute,
    recomputed_state,
    refreshed,
    strongly_minimal,
    weakly_minimal,
)
from viewkeeper.algebra.build import filtered, minus, projected, restricted_to, union_all
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Named, column, function, literal, not_
from viewkeeper.algebra.relations import Aggregate, Filter, JoinKind, Negate, Relation
from viewkeeper.algebra.walk import base_tables
from viewkeeper.delta import delta, old
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState, aggregate_state
from viewkeeper.delta.parts import PartKind
from viewkeeper.delta.stored_aggregate import is_undetermined, met
from viewkeeper.delta.summary_delta import full_state, group_totals, summary_delta, with_holders
from viewkeeper.maintenance.aggregates import refreshed_groups

WITH_STATE = (
    *(t for t in AGGREGATES if "DISTINCT" not in t.text and t.text != "median(x)"),
    Template("min(DISTINCT x)", (ANY,), ANY),
    Template("count(1)", (), INT),
    Template("bool_or(x) FILTER (WHERE y > 0)", (BOOLEAN, INT), BOOLEAN),
    Template("max(x) FILTER (WHERE y > 0)", (ANY, INT), ANY),
    Template("avg(x) FILTER (WHERE y IS NULL)", (INT, ANY), RATIO),
    Template("avg(CAST(x AS DOUBLE))", (DOUBLE,), RATIO),
    Template("sum(CAST(x AS DOUBLE)) FILTER (WHERE y IS NULL)", (DOUBLE, ANY), RATIO),
    Template("sum(CAST(x AS BIGINT))", (INT,), INT),
    Template("avg(CAST(x AS BIGINT))", (INT,), RATIO),
    Template("sum(CAST(x AS DECIMAL(6, 2)))", (DECIMAL,), DECIMAL),
    Template("var_pop(x)", (INT,), RATIO),
    Template("var_samp(x)", (INT,), RATIO),
    Template("stddev_pop(x)", (INT,), RATIO),
    Template("stddev(x)", (INT,), RATIO),
    Template("stddev_pop(x)", (DECIMAL,), RATIO),
    Template("covar_pop(x, y)", (INT, INT), RATIO),
    Template("covar_samp(x, y)", (INT, INT), RATIO),
    Template("corr(x, y)", (INT, INT), RATIO),
)


@st.composite
def aggregates(draw: st.DrawFn, counted: bool = True) -> Aggregate:
    """An aggregate whose functions all have state, over any plan."""
    d = Draw(draw, counted=counted and draw(st.booleans()))
    child = plan(d, d.number(1, 3))
    keys = [Named(d.name("g"), column(name)) for name in d.some(child.rel.columns, 0, 2)]
    calls = [Named(d.name("n"), d.filled(WITH_STATE, child)[0]) for _ in range(d.number(1, 3))]
    return Aggregate(child.rel, tuple(keys), tuple(calls))


class Kept:
    """An aggregate's state as a table, refreshed batch by batch."""

    def __init__(self, aggregate: Aggregate) -> None:
        found = aggregate_state(aggregate)
        assert found is not None
        self.aggregate, self.state = aggregate, found

    def start(self, changed: frozenset[str]) -> None:
        self.stored = store("stored", full_state(self.state, old(self.aggregate.child, changed)))

    def changes(self, changed: frozenset[str]) -> tuple[Relation, Relation]:
        """The summary-delta, and the new state of the groups that it mentions."""
        state, child = self.state, self.aggregate.child
        summary = store("summary", summary_delta(state, delta(child, changed)))
        groups = store("groups_", groups_to_recompute(state, self.stored, summary))
        again = store("again", recomputed_state(state, child, groups))
        return summary, store("after_", refreshed(state, self.stored, summary, again))

    def fold(self, summary: Relation, after: Relation) -> None:
        state: AggregateState = self.state
        kept = minus(self.stored, affected_rows(state, self.stored, summary))
        folded = store("folded", plain(union_all((kept, after), state.columns)))
        self.stored = store("stored", folded)


@cases(40)
@given(aggregates(counted=False), histories(batches=1))
def test_two_passes_give_the_whole_state(aggregate: Aggregate, history: History) -> None:
    """Groups first, and then the rows that hold their extremes: as recomputation does."""
    load(history.rows, ())
    state = aggregate_state(aggregate)
    assert state is not None
    assume(state.extremes)
    groups = store("groups_", plain(group_totals(state, aggregate.child)))
    found = with_holders(state, groups, aggregate.child)
    assert value(found) == value(full_state(state, aggregate.child))


@cases(40)
@given(aggregates(), histories(batches=1))
def test_all_groups_beside_their_changes_are_the_new_state(aggregate: Aggregate, history: History) -> None:
    """Written whole, with groups that did not change; but for those whose extreme was lost."""
    kept, [batch] = Kept(aggregate), history.batches
    state, changed = kept.state, frozenset(change.table for change in batch)
    assume(state.keys and not changed.isdisjoint(base_tables(aggregate)))
    load(history.rows, batch)
    kept.start(changed)
    summary = store("summary", summary_delta(state, delta(aggregate.child, changed)))
    both = met(state, kept.stored, summary, JoinKind.FULL)
    known = projected(filtered(both, not_(is_undetermined(state))), refreshed_groups(state, whole=True))
    alive = filtered(known, exp.GT(this=column(ROWS_NAME), expression=literal(0)))
    groups = store("groups_", groups_to_recompute(state, kept.stored, summary))
    again = recomputed_state(state, aggregate.child, groups)
    new = store("new_", plain(union_all((store("alive_", alive), store("again", again)), state.columns)))
    fresh = store("fresh", full_state(state, aggregate.child))
    assert value(known_again(state, new)) == value(known_again(state, fresh))
    gone = filtered(known, exp.EQ(this=column(ROWS_NAME), expression=literal(0)))
    for row in rows_of(store("gone_", gone)):
        rest = {name: cell for name, cell in zip(gone.columns, row, strict=True) if name not in state.keys}
        assert rest == {**dict.fromkeys(rest), ROWS_NAME: 0}


def sum_of_rows_taken_back() -> Aggregate:
    """A sum over rows that all cancel is NULL, not 0."""
    rows = scan("s")
    some = Filter(rows, exp.GTE(this=column("c"), expression=exp.convert(0)))
    gone = Filter(union_all((rows, Negate(some)), rows.columns), some.condition)
    return Aggregate(gone, (), (Named("n", function("sum", column("c"))),))


ONE_INSERTION = History(
    {"r": (), "s": ((0, None, None),), "t": ()}, ((Change("s", (((None, None, None), 1),)),),)
)


def is_exact(rows: Sequence[Sequence[object]]) -> bool:
    """Whether no value may differ from what it was by rounding alone, as a variance may."""
    return not any(isinstance(cell, float) for row in rows for cell in row)


def means_the_same(aggregate: Aggregate, *bags: Counter[tuple[object, ...]]) -> bool:
    """Whether DuckDB answers as Spark does, where a correlation of equal values is NULL and not NaN."""
    calls = [item.expr for item in aggregate.aggregates]
    is_told = any(call.find(exp.Corr) is not None for call in calls)
    return not is_told or not any("NaN" in row for bag in bags for row in bag)


@cases(50)
@example(sum_of_rows_taken_back(), ONE_INSERTION)
@given(aggregates(), histories(batches=3))
def test_state_is_exact_and_its_deltas_obey_the_law(aggregate: Aggregate, history: History) -> None:
    kept, rows = Kept(aggregate), history.rows
    for number, batch in enumerate(history.batches):
        changed = frozenset(change.table for change in batch)
        rows = load(rows, batch)
        if number == 0:
            kept.start(changed)
        if changed.isdisjoint(base_tables(aggregate)):
            continue
        summary, after = kept.changes(changed)
        now, before = value(aggregate), value(old(aggregate, changed))
        assume(means_the_same(aggregate, now, before))
        expected = difference(now, before)
        assert value(weakly_minimal(kept.state, kept.stored, summary, after)) == expected
        strong = strongly_minimal(kept.state, kept.stored, summary, after)
        assert value(strong) == expected
        if is_exact(rows_of(weighted(strong))):
            assert len(rows_of(weighted(strong))) == sum(abs(count) for count in expected.values())
            updates = as_updates(kept.state, kept.stored, summary, after)
            parts = (updates.deleted, updates.updated, updates.inserted)
            gone, changed_, new = (sum(value(part).values()) for part in parts)
            assert gone + 2 * changed_ + new == sum(abs(count) for count in expected.values())
        kept.fold(summary, after)
        fresh = store("fresh", full_state(kept.state, aggregate.child))
        assert value(known_again(kept.state, kept.stored)) == value(known_again(kept.state, fresh))


def known_again(state: AggregateState, stored: Relation) -> Relation:
    """The state but for what tells how a group came to be what it is."""
    peaks = {state.name(part) for part in state.parts if part.kind is PartKind.PEAK}
    return restricted_to(stored, (name for name in stored.columns if name not in peaks))
