"""Deltas that look fresh keys up in the changes are the deltas: on DuckDB, orders and their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.held import held_rows
from tests.laws.settings import cases
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.schema import COUNT, Column, ForeignKey, TableSchema
from viewkeeper.algebra.walk import scans
from viewkeeper.delta.rules import delta
from viewkeeper.delta.states import old
from viewkeeper.engine.local.run import here
from viewkeeper.refresh.fresh_keys import closed_by
from viewkeeper.rewrite.fresh_keys import FreshKeys, answered_by_changes
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import DUCKDB, render

ORDERS = TableSchema("orders", (Column("o", "int", False), Column("c", "int"), Column("v", "int")), ("o",))
ITEMS = TableSchema(
    "items",
    (Column("o", "int", False), Column("n", "int", False), Column("p", "int")),
    ("o", "n"),
    (ForeignKey(("o",), "orders", ("o",)),),
)
TABLES = {"orders": ORDERS, "items": ITEMS}
CHANGED = frozenset(TABLES)

QUERIES = (
    "SELECT orders.c, items.p FROM orders JOIN items ON orders.o = items.o",
    "SELECT items.p, orders.v FROM items, orders WHERE orders.o = items.o AND orders.v > items.p",
    "SELECT o, c FROM orders WHERE EXISTS (SELECT 1 FROM items WHERE items.o = orders.o AND p > 1)",
    "SELECT o, c FROM orders WHERE NOT EXISTS (SELECT 1 FROM items WHERE items.o = orders.o AND p > 1)",
    "SELECT c FROM orders WHERE o NOT IN (SELECT o FROM items WHERE p = 1)",
    "SELECT orders.o, items.p FROM orders LEFT JOIN items ON orders.o = items.o AND p > 1",
    "SELECT orders.c, items.n FROM items RIGHT JOIN orders ON orders.o = items.o",
    "SELECT orders.c, items.n FROM items FULL JOIN orders ON orders.o = items.o AND v > 1",
    "SELECT a.p, b.n FROM items a JOIN items b ON a.o = b.o JOIN orders ON orders.o = b.o",
    """SELECT a.p FROM items a, orders WHERE a.o = orders.o AND EXISTS
       (SELECT 1 FROM items b WHERE b.o = a.o AND b.n <> a.n) AND NOT EXISTS
       (SELECT 1 FROM items d WHERE d.o = a.o AND d.n <> a.n AND d.p > 1)""",
    "SELECT c, SUM(p) AS s, COUNT(*) AS k FROM orders JOIN items ON orders.o = items.o GROUP BY c",
    "SELECT c, m FROM orders JOIN (SELECT o, MAX(p) AS m FROM items GROUP BY o) t ON orders.o = t.o",
    "SELECT o, c FROM orders WHERE o IN (SELECT o FROM items GROUP BY o HAVING SUM(p) > 2)",
    "SELECT DISTINCT c FROM orders JOIN items ON orders.o = items.o",
    "SELECT c FROM orders WHERE v = (SELECT MAX(p) FROM items WHERE items.o = orders.o)",
    "SELECT x.c, y.p FROM orders x JOIN items y ON x.v = y.o",
    "SELECT o FROM orders EXCEPT SELECT o FROM items",
    "SELECT o, COUNT(*) AS k, MIN(p) AS m FROM items WHERE p > 0 GROUP BY o",
    """SELECT DISTINCT o, p FROM items
       WHERE NOT EXISTS (SELECT 1 FROM orders WHERE orders.o = items.o AND v > 1)""",
    "SELECT o, p, SUM(p) OVER (PARTITION BY o) AS s FROM items",
    "SELECT o, c FROM orders UNION ALL SELECT o, p FROM items",
    """SELECT t.x, orders.o, items.p FROM (SELECT 1 AS x UNION ALL SELECT 2) t
       JOIN orders ON orders.c = t.x LEFT JOIN items ON items.o = orders.o AND items.p >= t.x""",
    """SELECT orders.c, SUM(p) AS s FROM orders JOIN items ON orders.o = items.o
       WHERE orders.o IN (SELECT o FROM items GROUP BY o HAVING SUM(p) > 2) GROUP BY orders.c""",
)

Row = tuple[int | None, ...]
VALUE = st.sampled_from((0, 1, 2, 3, None))
KEYS = range(8)


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """Tables before and after. Orders come and go with their items; some batches do more than that."""
    before: dict[str, list[Row]] = {"orders": [], "items": []}
    after: dict[str, list[Row]] = {"orders": [], "items": []}
    moves, loose = draw(st.booleans()) and draw(st.booleans()), draw(st.booleans())
    for key in KEYS:
        fate = draw(st.sampled_from(("stays", "stays", "comes", "goes", "never")))
        if fate == "never":
            continue
        order = (key, draw(VALUE), draw(VALUE))
        numbers = draw(st.sets(st.integers(0, 2), max_size=3))
        items = [(key, number, draw(VALUE)) for number in sorted(numbers)]
        if fate in ("stays", "goes"):
            before["orders"].append(order)
            before["items"] += items
        if fate in ("stays", "comes"):
            after["orders"].append((key, draw(VALUE), draw(VALUE)) if moves and fate == "stays" else order)
            after["items"] += items[1:] if loose and fate == "stays" else items
    return before, after


@cache
def connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 1})
    for name, schema in TABLES.items():
        fields = ", ".join(f"{column.name} int" for column in schema.columns)
        for state in ("", "__old"):
            con.execute(f"CREATE TABLE {name}{state} ({fields})")
        con.execute(f"CREATE TABLE {name}__delta ({fields}, {COUNT} bigint)")
    return con


def fill(name: str, rows: Iterable[Row]) -> None:
    connection().execute(f"TRUNCATE {name}")
    values = [f"({', '.join('NULL' if cell is None else str(cell) for cell in row)})" for row in rows]
    if values:
        connection().execute(f"INSERT INTO {name} VALUES {', '.join(values)}")


def value(rel: Relation) -> Counter[Row]:
    """The rows with their net counts."""
    net: Counter[Row] = Counter()
    for *row, count in connection().execute(render(weighted(rel), DUCKDB)).fetchall():
        net[tuple(row)] += count
    return Counter({row: count for row, count in net.items() if count})


def planned(text: str) -> Relation:
    plan = parse_view(text, StaticCatalog(tuple(TABLES.values()))).relation
    assert plan is not None
    return plan


def facts(deltas: dict[str, list[Row]]) -> tuple[FreshKeys, ...]:
    columns = (Column("o", "int"), Column(COUNT, "bigint"))
    values = {name: held_rows(columns, [(row[0], row[-1]) for row in rows]) for name, rows in deltas.items()}
    closed = closed_by("orders", values, here)
    keys = {name: tuple(schema.column(key) for key in schema.key) for name, schema in TABLES.items()}
    return (FreshKeys(dict.fromkeys(TABLES, "o"), closed, keys),) if closed else ()


@pytest.mark.parametrize("text", QUERIES)
@cases(40)
@given(history=histories(), passing=st.booleans())
def test_the_delta_is_the_same(
    text: str, history: tuple[dict[str, list[Row]], dict[str, list[Row]]], passing: bool
) -> None:
    """`passing`: every changed row comes once more and goes again, in the same batch."""
    before, after = history
    deltas: dict[str, list[Row]] = {}
    for name in TABLES:
        gone = [(*row, -1) for row in before[name] if row not in after[name]]
        new = [(*row, 1) for row in after[name] if row not in before[name]]
        deltas[name] = [*gone, *new, *([(*row[:-1], -row[-1]) for row in (*gone, *new)] if passing else [])]
        deltas[name] += [*gone, *new] if passing else []
        for state, rows in (("", after[name]), ("__old", before[name]), ("__delta", deltas[name])):
            fill(f"{name}{state}", rows)
    query = planned(text)
    found = facts(deltas)
    change = answered_by_changes(delta(query, CHANGED, found), found)
    expected = value(query)
    expected.subtract(value(old(query, CHANGED)))
    assert value(change) == {row: count for row, count in expected.items() if count}


CLOSED = FreshKeys(
    dict.fromkeys(TABLES, "o"),
    CHANGED,
    {name: tuple(schema.column(key) for key in schema.key) for name, schema in TABLES.items()},
)


BY_ORDER = [text for number, text in enumerate(QUERIES[:15]) if number not in (4, 10, 13)]
"""Joined, compared and grouped by the key: not NOT IN, nor groups and rows that several orders make."""


@pytest.mark.parametrize("text", BY_ORDER)
def test_no_table_is_read_where_all_keys_are_fresh(text: str) -> None:
    read = {scan.at for scan in scans(answered_by_changes(delta(planned(text), CHANGED), (CLOSED,)))}
    assert read == {State.DELTA}


def test_other_lookups_stay_as_they_are() -> None:
    change = delta(planned(QUERIES[15]), CHANGED)
    assert answered_by_changes(change, (CLOSED,)) == change


def test_only_the_children_of_fresh_keys_are_looked_up_in_the_changes() -> None:
    """Items of other orders changed too: their orders must be read, the items of fresh orders need not be."""
    half = FreshKeys(CLOSED.members, frozenset({"orders"}), CLOSED.keys)
    read = {
        (scan.table, scan.at)
        for scan in scans(answered_by_changes(delta(planned(QUERIES[0]), CHANGED), (half,)))
    }
    assert {table for table, state in read if state is not State.DELTA} == {"orders"}
