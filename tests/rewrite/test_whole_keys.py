"""Which queries are local to a key, and what their deltas are where only whole keys come and go."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.laws.test_fresh_keys import CHANGED, CLOSED, TABLES
from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.walk import nodes
from viewkeeper.delta.rules import delta
from viewkeeper.rewrite.fresh_keys import FreshKeys
from viewkeeper.rewrite.whole_keys import delta_of_whole_keys, key_column
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

LOCAL = {
    "join": "SELECT c, p FROM orders JOIN items ON orders.o = items.o",
    "semi-joins": """SELECT a.p FROM items a, orders WHERE a.o = orders.o
        AND EXISTS (SELECT 1 FROM items b WHERE b.o = a.o AND b.n <> a.n)
        AND NOT EXISTS (SELECT 1 FROM items d WHERE d.o = a.o AND d.n <> a.n AND d.p > 1)""",
    "group": "SELECT c, m FROM orders JOIN (SELECT o, MAX(p) AS m FROM items GROUP BY o) t ON orders.o = t.o",
}

NOT_LOCAL = {
    "joined by another column": "SELECT x.c, y.p FROM orders x JOIN items y ON x.v = y.o",
    "not joined": "SELECT c, p FROM orders, items",
    "groups of several keys": "SELECT p, COUNT(*) AS k FROM items GROUP BY p",
    "rows of several keys": "SELECT DISTINCT p FROM items",
    "windows over several keys": "SELECT o, SUM(p) OVER (PARTITION BY n) AS s FROM items",
    "NOT IN meets NULLs of any key": "SELECT c FROM orders WHERE v NOT IN (SELECT p FROM items)",
    "rows looked for under another key": "SELECT o FROM orders WHERE v IN (SELECT o FROM items)",
}


def planned(text: str) -> Relation:
    plan = parse_view(text, StaticCatalog(tuple(TABLES.values()))).relation
    assert plan is not None
    return plan


def scanned(rel: Relation) -> Counter[str]:
    """How often each table is read, in one state or another."""
    return Counter(node.table for node in nodes(rel) if hasattr(node, "table"))


@pytest.mark.parametrize("name", LOCAL)
def test_the_plan_reads_what_the_query_reads_but_only_changes(name: str) -> None:
    query = planned(LOCAL[name])
    change = delta(query, CHANGED, (CLOSED,))
    assert {node.at for node in nodes(change) if hasattr(node, "at")} == {State.DELTA}
    assert scanned(change) == scanned(query)
    assert sum(scanned(delta(query, CHANGED)).values()) > sum(scanned(query).values())


@pytest.mark.parametrize("name", NOT_LOCAL)
def test_other_queries_are_left_to_other_rules(name: str) -> None:
    assert delta_of_whole_keys(planned(NOT_LOCAL[name]), CHANGED, (CLOSED,)) is None


def test_a_table_whose_changes_mention_other_keys_is_left_to_other_rules() -> None:
    half = FreshKeys(CLOSED.members, frozenset({"orders"}), CLOSED.keys)
    assert delta_of_whole_keys(planned(LOCAL["join"]), CHANGED, (half,)) is None


def test_a_table_that_did_not_change_may_be_met_by_any_column() -> None:
    only_orders = FreshKeys({"orders": "o"}, frozenset({"orders"}), {"orders": CLOSED.keys["orders"]})
    query = planned(NOT_LOCAL["joined by another column"])
    change = delta_of_whole_keys(query, frozenset({"orders"}), (only_orders,))
    assert change is not None
    assert {(n.table, n.at) for n in nodes(change) if hasattr(n, "table")} == {
        ("orders", State.DELTA),
        ("items", State.NEW),
    }


def test_the_column_that_holds_the_key() -> None:
    grouped = planned("SELECT o AS k, SUM(p) AS s FROM items GROUP BY o")
    assert key_column(grouped, CHANGED, CLOSED) == grouped.columns[0]
    assert key_column(planned("SELECT SUM(p) AS s FROM items GROUP BY p"), CHANGED, CLOSED) is None
