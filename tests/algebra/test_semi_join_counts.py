"""What a semi-join looks for: as few columns as it compares, and both states from one look."""

from __future__ import annotations

import pytest
from sqlglot import exp

from viewkeeper.algebra.build import minus
from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import column, conjunction, equal, literal
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Filter,
    Join,
    JoinKind,
    Relation,
    Scan,
    State,
    UnionAll,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import nodes

KINDS = (JoinKind.SEMI, JoinKind.ANTI)
ON = conjunction([equal(column("c"), column("customer")), equal(column("note"), literal("late"))])


def scan(table: str, *names: str, at: State = State.NEW, counted: bool = False) -> Scan:
    return Scan(table, tuple(Bound(name, Column(name, "int")) for name in names), at, counted)


CUSTOMERS = scan("customers", "c")
ORDERS = scan("orders", "customer", "note", "total", counted=True)
CHANGE = scan("orders", "customer", "note", "total", at=State.DELTA)


def groups(rel: Relation) -> list[tuple[str, ...]]:
    return [node.key_names for node in nodes(rel) if isinstance(node, Aggregate)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_on_one_side_is_met_before_rows_are_added_up(kind: JoinKind) -> None:
    explicit = weighted(Join(CUSTOMERS, ORDERS, kind, ON))
    assert groups(explicit) == [("customer",)]
    join = next(node for node in nodes(explicit) if isinstance(node, Join))
    assert join.on == equal(column("c"), column("customer"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_before_is_taken_from_the_state_after(kind: JoinKind) -> None:
    """Both look at the orders; they are added up once for both."""
    after, before = (Join(CUSTOMERS, right, kind, ON) for right in (ORDERS, minus(ORDERS, CHANGE)))
    steps, _ = shared(weighted(UnionAll((after, before))))
    assert [groups(step.plan) for step in steps] == [[("customer",)]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_pattern_is_looked_for_in_the_rows_that_were_looked_up(kind: JoinKind) -> None:
    """As a filter, Spark would test it for all that is stored."""
    late = exp.Like(this=column("note"), expression=literal("%late%"))
    near = Join(ORDERS, scan("keys", "k"), JoinKind.SEMI, equal(column("k"), column("customer")))
    on = conjunction([equal(column("c"), column("customer")), late])
    explicit = weighted(Join(CUSTOMERS, near, kind, on))
    assert late not in [node.condition for node in nodes(explicit) if isinstance(node, Filter)]
    [added] = [node for node in nodes(explicit) if isinstance(node, Aggregate)]
    assert late in added.aggregates[0].expr.find_all(exp.Like)


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_on_the_other_side_alone_compares_nothing(kind: JoinKind) -> None:
    explicit = weighted(Join(CUSTOMERS, ORDERS, kind, equal(column("note"), literal("late"))))
    assert explicit.columns == ("c", "__count")
