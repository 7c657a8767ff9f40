"""What the rules refuse, what they leave out, and what they share."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from sqlglot import exp

from tests.golden.cases import (
    ITEMS,
    LINES,
    ORDER_LINES,
    ORDERS,
    PER_CUSTOMER,
    PER_ORDER,
    join,
    named,
    scan,
    sql,
)
from viewkeeper.algebra.build import is_empty, restricted_to
from viewkeeper.algebra.common_subplans import shared
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Named, column, same
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Bound,
    Consolidate,
    Definition,
    Filter,
    Fixpoint,
    Join,
    JoinKind,
    Project,
    Reference,
    Relation,
    State,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.algebra.walk import nodes, scans
from viewkeeper.delta import at, delta, minimal, old
from viewkeeper.errors import CannotMaintain
from viewkeeper.rewrite.equalities import equalities
from viewkeeper.rewrite.keys import mentioned
from viewkeeper.rewrite.restrict import restrict

ALL = frozenset({"orders", "lines", "items"})


def reach() -> Fixpoint:
    step = Project(join(Reference("reach", ("x",)), ORDERS, "x = o_id"), (Named("x", column("o_customer")),))
    body = UnionAll((restricted_to(ORDERS, ("o_id",)), step))
    return Fixpoint((Definition("reach", ("x",), body),), "reach", distinct=True)


def test_a_fixpoint_that_changed_is_refused_with_a_reason() -> None:
    with pytest.raises(CannotMaintain, match="reach has no delta rule") as refusal:
        delta(reach(), ALL)
    assert refusal.value.code == "recursive"


def test_a_fixpoint_over_unchanged_tables_has_no_delta() -> None:
    assert is_empty(delta(reach(), frozenset({"lines"})))


def test_a_delta_is_taken_of_plans_at_new() -> None:
    with pytest.raises(MalformedPlan, match="at NEW, not OLD"):
        delta(replace(LINES, at=State.OLD), ALL)


def test_unchanged_tables_stay_at_new() -> None:
    moved = old(ORDER_LINES, frozenset({"lines"}))
    assert {(found.table, found.at) for found in scans(moved)} == {
        ("orders", State.NEW),
        ("lines", State.OLD),
    }
    assert at(moved, State.NEW, frozenset({"lines"})) == ORDER_LINES


def test_minimal_is_built_once() -> None:
    change = minimal(delta(LINES, ALL))
    assert isinstance(change, Consolidate)
    assert minimal(change) is change
    assert is_empty(minimal(delta(LINES, frozenset({"items"}))))


@pytest.mark.parametrize("tables", [1, 2, 3, 4, 5, 6])
def test_a_join_of_n_changed_inputs_has_n_terms(tables: int) -> None:
    """One delta scan per term, not 2ⁿ − 1 of them."""
    plan: Relation = scan("lines", "_1")
    for number in range(2, tables + 1):
        plan = join(plan, scan("lines", f"_{number}"), f"l_order_1 < l_order_{number}")
    change = weighted(delta(plan, ALL))
    deltas = [found for found in scans(change) if found.at is State.DELTA]
    assert len(deltas) == tables
    inner = [n for n in nodes(change) if isinstance(n, Join)]
    assert len(inner) <= tables * (tables + 1) // 2


def test_nested_aggregates_do_not_multiply() -> None:
    plan: Relation = PER_ORDER
    sizes = []
    for number in range(2, 7):
        total = named(f"max({plan.columns[1]})", f"n{number}")
        plan = Aggregate(plan, (Named(f"g{number}", column(plan.columns[0])),), (total,))
        sizes.append(len(list(nodes(delta(plan, ALL)))))
    steps = {after - before for before, after in pairwise(sizes)}
    assert len(steps) == 1


def semi_joined(rel: Relation) -> list[str]:
    """What semi-joins with keys stand directly on."""
    return sorted(
        found.left.table if hasattr(found.left, "table") else type(found.left).__name__
        for found in nodes(rel)
        if isinstance(found, Join) and found.kind is JoinKind.SEMI
    )


def keys(*names: str) -> Relation:
    changes = replace(ITEMS, at=State.DELTA)
    return Affected(changes, tuple(changes.columns[: len(names)]))


RESTRICTIONS = {
    "a filter lets keys through": (Filter(LINES, sql("l_price > 1")), "l_item", ["lines"]),
    "a join gives keys to the side that owns them": (ORDER_LINES, "l_item", ["lines"]),
    "an equality gives them to both sides": (ORDER_LINES, "o_id", ["lines", "orders"]),
    "group-by columns pass an aggregate": (PER_CUSTOMER, "o_customer", ["orders"]),
    "aggregated columns do not": (PER_CUSTOMER, "total", ["Aggregate"]),
    "a partition passes a window": (
        Window(LINES, ("l_order",), (named("rank() OVER (PARTITION BY l_order ORDER BY l_price)", "n"),)),
        "l_order",
        ["lines"],
    ),
    "other columns do not": (
        Window(LINES, ("l_order",), (named("rank() OVER (PARTITION BY l_order ORDER BY l_price)", "n"),)),
        "l_item",
        ["Window"],
    ),
    "nothing passes a limit": (TopK(LINES, (), 3), "l_item", ["TopK"]),
    "a preserved side may be restricted, and its partners": (
        join(ORDERS, LINES, "o_id = l_order", JoinKind.LEFT),
        "o_id",
        ["lines", "orders"],
    ),
    "a padded side may not": (join(ORDERS, LINES, "o_id = l_order", JoinKind.LEFT), "l_item", ["Join"]),
    "a full join only by what both sides show": (
        Project(
            join(ORDERS, LINES, "o_id = l_order", JoinKind.FULL), (named("coalesce(o_id, l_order)", "x"),)
        ),
        "x",
        ["lines", "orders"],
    ),
    "not by one of them": (join(ORDERS, LINES, "o_id = l_order", JoinKind.FULL), "o_id", ["Join"]),
}


@pytest.mark.parametrize(("plan", "name", "where"), RESTRICTIONS.values(), ids=RESTRICTIONS)
def test_where_keys_come_to_rest(plan: Relation, name: str, where: list[str]) -> None:
    assert semi_joined(restrict(plan, keys("k"), {name: "i_id"})) == where


def test_keys_of_an_aggregates_delta_are_those_of_its_inputs_delta() -> None:
    changes = replace(LINES, at=State.DELTA)
    assert mentioned(delta(PER_ORDER, ALL), ("l_order",)) == Affected(changes, ("l_order",))


def test_keys_of_a_whole_table_bound_nothing() -> None:
    found = mentioned(delta(ORDER_LINES, frozenset({"lines"})), ("o_customer",))
    assert any(scan_.at is State.DELTA for scan_ in scans(found))


def test_equalities_of_a_condition() -> None:
    on = sql(
        "o_id = l_order AND (l_item <=> o_date + 1) AND o_id < l_price AND (o_id = l_item OR o_id IS NULL)"
    )
    found = equalities(on, ORDERS.columns, LINES.columns)
    assert [(e.left.sql(), e.right.sql()) for e in found] == [
        ('"o_id"', '"l_order"'),
        ('"o_date" + 1', '"l_item"'),
    ]


def test_common_subexpressions_become_steps() -> None:
    steps, result = shared(weighted(delta(PER_CUSTOMER, frozenset({"lines"}))))
    assert [step.name for step in steps] == [f"shared_{n}" for n in range(1, len(steps) + 1)]
    used = {
        found.name
        for plan in (*(s.plan for s in steps), result)
        for found in nodes(plan)
        if isinstance(found, Reference)
    }
    assert used == {step.name for step in steps}
    assert len(steps) > 0


def test_stored_reads_are_not_steps() -> None:
    twice = UnionAll((Filter(LINES, sql("l_price > 1")), Filter(LINES, sql("l_price > 1"))))
    assert shared(twice) == ((), twice)


def test_group_by_constant_is_not_pushed_below_a_global_aggregate() -> None:
    one = Project(
        Aggregate(LINES, (), (named("count(*)", "n"),)), (Named("x", exp.convert(1)), *same(("n",)))
    )
    assert semi_joined(restrict(one, keys("k"), {"x": "i_id"})) == ["Aggregate"]


def turns_keys(change: Relation) -> bool:
    """Whether a semi-join's delta is a join with the keys that came and went."""
    return any(isinstance(node, Join) and node.kind is JoinKind.INNER for node in nodes(change))


@pytest.mark.parametrize(
    ("on", "changed", "is_by_keys"),
    [
        ("o_id = l_order", "lines", True),
        ("o_id = l_order AND l_price > 5", "lines", True),
        ("o_id = l_order AND o_id = l_item", "lines", True),
        ("o_id = l_order", "orders lines", False),
        ("o_id = l_order AND o_customer < l_item", "lines", False),
        ("o_id = l_order OR l_order IS NULL", "lines", False),
        ("o_id + 1 = l_order", "lines", False),
    ],
)
def test_keys_turn_where_columns_of_one_type_are_equated(on: str, changed: str, is_by_keys: bool) -> None:
    view = Join(ORDERS, LINES, JoinKind.SEMI, sql(on))
    assert turns_keys(delta(view, frozenset(changed.split()))) is is_by_keys


def test_keys_of_other_types_do_not_turn() -> None:
    """As text, 1 and 01 are two keys that one number is equal to."""
    text = tuple(Bound(item.name, replace(item.source, type="string")) for item in LINES.bound)
    view = Join(ORDERS, replace(LINES, bound=text), JoinKind.SEMI, sql("o_id = l_order"))
    assert not turns_keys(delta(view, frozenset({"lines"})))


def test_what_a_set_gained_and_lost_is_told_by_one_grouping() -> None:
    view = Join(ORDERS, LINES, JoinKind.ANTI, sql("o_id = l_order"))
    explicit = weighted(delta(view, frozenset({"lines"})))
    assert [type(node) for node in nodes(explicit)].count(Aggregate) == 1
