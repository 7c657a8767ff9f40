"""The delta law, on random views, databases and batches: value(ΔQ) = value(Q, NEW) − value(Q, OLD).

An *oracle* test: the right side evaluates the view itself, twice, by plain SQL.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from tests.laws.databases import History, histories
from tests.laws.harness import difference, load, rows_of, scan, start, value
from tests.laws.plans import GENERATORS, ONLY_IN_RULES, Typed, plans, plans_with
from tests.laws.settings import cases
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import column, conjunction, equal, literal
from viewkeeper.algebra.relations import Join, JoinKind, Relation
from viewkeeper.delta import delta, minimal, old

VIEW_NODES = [node for node in GENERATORS if node not in ONLY_IN_RULES]


def assert_law(rel: Relation, changed: frozenset[str]) -> None:
    assert value(delta(rel, changed)) == difference(value(rel), value(old(rel, changed)))


@pytest.mark.parametrize("node", VIEW_NODES, ids=lambda node: node.__name__)
def test_each_operator_obeys_the_delta_law(node: type) -> None:
    @cases(40)
    @given(plans_with(node), histories())
    def law(view: Typed, history: History) -> None:
        assert_law(view.rel, start(history))

    law()


@cases(750)
@given(plans(), histories())
def test_nested_operators_obey_the_delta_law(view: Typed, history: History) -> None:
    assert_law(view.rel, start(history))


@cases(300)
@given(plans(counted=True), histories())
def test_the_law_holds_over_relations_stored_with_counts(view: Typed, history: History) -> None:
    assert_law(view.rel, start(history))


@cases(60)
@given(st.sampled_from((JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)), st.booleans(), histories())
def test_the_law_holds_where_partners_are_searched_for_a_pattern(
    kind: JoinKind, counted: bool, history: History
) -> None:
    pattern = exp.Like(this=column("s"), expression=literal("%x%"))
    on = conjunction([equal(column("c"), column("a")), pattern])
    assert_law(Join(scan("s"), scan("r", counted), kind, on), start(history))


@cases(120)
@given(
    st.sampled_from((JoinKind.SEMI, JoinKind.ANTI)),
    st.sampled_from(("c = a", "c = a AND b > 0", "c = a AND c = b", "c <=> a", "d = a", "c = a AND c < b")),
    st.booleans(),
    histories(),
)
def test_the_law_holds_for_keys_of_one_type_of_several_and_beside_conditions(
    kind: JoinKind, on: str, counted: bool, history: History
) -> None:
    condition = parse_one(on, dialect="spark")
    assert_law(Join(scan("s"), scan("r", counted), kind, condition), start(history))


@cases(120)
@given(plans(budget=4), histories(batches=5))
def test_deltas_of_consecutive_batches_keep_a_view_up_to_date(view: Typed, history: History) -> None:
    rows = history.rows
    stored = None
    for batch in history.batches:
        changed = frozenset(change.table for change in batch)
        rows = load(rows, batch)
        stored = value(old(view.rel, changed)) if stored is None else stored
        for row, count in value(delta(view.rel, changed)).items():
            stored[row] += count
        assert {row: count for row, count in stored.items() if count} == value(view.rel)


@cases(150)
@given(plans(budget=4), histories())
def test_minimal_deltas_are_strongly_minimal(view: Typed, history: History) -> None:
    """No row occurs twice, so none is both deleted and inserted; none is deleted that is not there."""
    changed = start(history)
    rows = rows_of(weighted(minimal(delta(view.rel, changed))))
    before = value(old(view.rel, changed))
    found = value(minimal(delta(view.rel, changed)))
    assert len(rows) == len(found)
    assert all(before[row] + count >= 0 for row, count in found.items())
