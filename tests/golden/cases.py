"""The plans whose deltas are written down, one for every rule, negative cases included."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from viewkeeper.algebra.build import named_like, restricted_to
from viewkeeper.algebra.expressions import Named, Scalar, column, replace_columns, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Consolidate,
    Difference,
    Distinct,
    Filter,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Negate,
    Project,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import Column

TABLES = {
    "orders": ("o_id", "o_customer", "o_date"),
    "lines": ("l_order", "l_item", "l_price"),
    "items": ("i_id", "i_name"),
}
NAMES = {name for names in TABLES.values() for name in names} | {"n", "total", "x"}


def scan(table: str, suffix: str = "") -> Scan:
    return Scan(table, tuple(Bound(name + suffix, Column(name, "int")) for name in TABLES[table]))


ORDERS, LINES, ITEMS = scan("orders"), scan("lines"), scan("items")


def sql(text: str) -> Scalar:
    """An expression whose columns are those of the plan."""
    parsed = sqlglot.parse_one(text, dialect="spark")
    return replace_columns(parsed, {found.name: column(found.name) for found in parsed.find_all(exp.Column)})


def named(text: str, name: str) -> Named:
    return Named(name, sql(text))


def join(left: Relation, right: Relation, on: str, kind: JoinKind = JoinKind.INNER) -> Join:
    return Join(left, right, kind, sql(on))


def window(by: tuple[str, ...], text: str) -> Window:
    return Window(LINES, by, (named(text, "n"),))


ORDER_LINES = join(ORDERS, LINES, "o_id = l_order")
PER_ORDER = Aggregate(LINES, same(("l_order",)), (named("sum(l_price)", "total"),))
PER_CUSTOMER = Aggregate(ORDER_LINES, same(("o_customer",)), (named("median(l_price)", "total"),))

CASES: dict[str, tuple[Relation, str]] = {
    "filter": (Filter(LINES, sql("l_price > 10")), "lines"),
    "project": (Project(LINES, (named("l_item", "l_item"), named("l_price * 2", "x"))), "lines"),
    "union_all": (
        UnionAll((restricted_to(ORDERS, ("o_id",)), restricted_to(LINES, ("l_order",)))),
        "orders lines",
    ),
    "union_all_of_one_changed": (
        UnionAll((restricted_to(ORDERS, ("o_id",)), restricted_to(LINES, ("l_order",)))),
        "lines",
    ),
    "lateral": (Lateral(LINES, sql("explode(array(l_item, l_price))"), ("x",)), "lines"),
    "negate": (Negate(Filter(LINES, sql("l_price > 10"))), "lines"),
    "consolidate": (Consolidate(LINES), "lines"),
    "nothing_changed": (ORDER_LINES, "items"),
    "constant": (Values(("x",), ((exp.convert(1),),)), "items"),
    "join": (ORDER_LINES, "orders lines"),
    "join_of_one_changed": (ORDER_LINES, "orders"),
    "self_join": (join(LINES, scan("lines", "_2"), "l_order = l_order_2"), "lines"),
    "join_of_three": (join(ORDER_LINES, ITEMS, "l_item = i_id"), "orders lines items"),
    "join_without_equality": (join(ORDERS, LINES, "o_id < l_order"), "orders"),
    "join_restricts_an_aggregate": (join(ORDERS, PER_ORDER, "o_id = l_order"), "orders"),
    "semi_join": (join(ORDERS, LINES, "o_id = l_order", JoinKind.SEMI), "orders lines"),
    "anti_join": (join(ORDERS, LINES, "o_id = l_order", JoinKind.ANTI), "lines"),
    "not_in": (
        join(ORDERS, LINES, "o_id = l_order OR o_id IS NULL OR l_order IS NULL", JoinKind.ANTI),
        "orders lines",
    ),
    "left_join": (join(ORDERS, LINES, "o_id = l_order", JoinKind.LEFT), "lines"),
    "full_join": (join(ORDERS, LINES, "o_id = l_order", JoinKind.FULL), "orders"),
    "distinct": (Distinct(restricted_to(LINES, ("l_item",))), "lines"),
    "distinct_over_a_join": (Distinct(restricted_to(ORDER_LINES, ("o_customer",))), "lines"),
    "except": (
        Difference(
            restricted_to(ORDERS, ("o_id",)), named_like(restricted_to(LINES, ("l_order",)), ("x",)), False
        ),
        "orders",
    ),
    "intersect_all": (
        Intersection(restricted_to(ORDERS, ("o_id",)), restricted_to(LINES, ("l_order",)), True),
        "orders lines",
    ),
    "aggregate": (PER_ORDER, "lines"),
    "aggregate_over_a_join": (PER_CUSTOMER, "lines"),
    "aggregate_over_an_aggregate": (
        Aggregate(PER_ORDER, same(("l_order",)), (named("max(total)", "n"),)),
        "lines",
    ),
    "aggregate_without_keys": (Aggregate(LINES, (), (named("count(*)", "n"),)), "lines"),
    "aggregate_by_an_expression": (
        Aggregate(ORDER_LINES, (named("o_date % 7", "x"),), (named("count(*)", "n"),)),
        "orders",
    ),
    "window": (window(("l_order",), "rank() OVER (PARTITION BY l_order ORDER BY l_price)"), "lines"),
    "window_without_partition": (window((), "rank() OVER (ORDER BY l_price)"), "lines"),
    "top_k": (TopK(LINES, (exp.Ordered(this=column("l_price"), desc=True),), 3), "lines"),
}
"""Name: the view, and the tables that changed."""
