"""Nodes refuse nonsense when they are built, compare by value, and remember their hash."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from tests.golden.cases import ITEMS, LINES, ORDER_LINES, ORDERS, join, named, scan, sql
from viewkeeper.algebra.expressions import column, same
from viewkeeper.algebra.node import MalformedPlan
from viewkeeper.algebra.relations import (
    Affected,
    Aggregate,
    Definition,
    Difference,
    Filter,
    Fixpoint,
    Join,
    JoinKind,
    Lateral,
    Project,
    TopK,
    UnionAll,
    Values,
    Window,
)

NONSENSE = {
    "filter: .* uses \\['o_id'\\]": lambda: Filter(LINES, sql("o_id > 1")),
    "project: the column 'X' occurs twice": lambda: Project(LINES, (named("1", "x"), named("2", "X"))),
    "project: .* uses": lambda: Project(LINES, (named("o_id", "x"),)),
    "inner join: the column 'l_order' occurs twice": lambda: Join(LINES, LINES, JoinKind.INNER, exp.true()),
    "left join: .* uses": lambda: join(ORDERS, LINES, "o_id = i_id", JoinKind.LEFT),
    "aggregate: .* uses": lambda: Aggregate(LINES, same(("o_id",)), ()),
    "aggregate: the column 'x' occurs": lambda: Aggregate(
        LINES, (named("l_item", "x"),), (named("sum(l_price)", "x"),)
    ),
    "union: no inputs": lambda: UnionAll(()),
    "union: its inputs have different": lambda: UnionAll((LINES, ITEMS)),
    "except: its inputs have different": lambda: Difference(LINES, ITEMS, all=True),
    "window: unknown partition": lambda: Window(LINES, ("o_id",), ()),
    "is no window function": lambda: Window(LINES, (), (named("l_price", "x"),)),
    "limit and offset are not negative": lambda: TopK(LINES, (), -1),
    "order by: .* uses": lambda: TopK(LINES, (exp.Ordered(this=column("o_id")),), 1),
    "values: a row has another number": lambda: Values(("x",), ((exp.convert(1), exp.convert(2)),)),
    "values: the column": lambda: Values(("x", "X"), ()),
    "lateral view: the column": lambda: Lateral(LINES, sql("explode(array(1))"), ("l_item",)),
    "affected: .* are not columns": lambda: Affected(LINES, ("o_id",)),
    "fixpoint: no definition of q": lambda: Fixpoint((Definition("p", ("x",), ITEMS),), "q", True),
    "scan of lines: the column": lambda: replace(LINES, bound=LINES.bound + LINES.bound),
}


@pytest.mark.parametrize(("message", "build"), NONSENSE.items(), ids=NONSENSE)
def test_nonsense_is_refused(message, build) -> None:
    with pytest.raises(MalformedPlan, match=message):
        build()


def test_plans_compare_by_value() -> None:
    again = join(scan("orders"), scan("lines"), "o_id = l_order")
    assert again is not ORDER_LINES
    assert again == ORDER_LINES
    assert hash(again) == hash(ORDER_LINES)
    assert again != join(scan("orders"), scan("lines"), "o_id < l_order")


def test_a_deep_plan_with_shared_inputs_is_hashed_quickly() -> None:
    """Sixty unions, each of one plan with itself, have 2⁶⁰ paths and 61 nodes."""
    plan = LINES
    for _ in range(60):
        plan = UnionAll((plan, plan))
    assert isinstance(hash(plan), int)
