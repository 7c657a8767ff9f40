"""Which relations a view stores beside itself: an aggregate that its text uses twice is stored once."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.relations import Join, JoinKind
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import base_tables, nodes
from viewkeeper.maintenance.program import program, without_unused
from viewkeeper.maintenance.strategy import Stratum
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view

SALES = StaticCatalog(
    (TableSchema("sales", (Column("shop", "int"), Column("day", "date"), Column("price", "int"))),)
)
TOTALS = "SELECT shop, SUM(price) AS total FROM sales GROUP BY shop"


def strata(text: str) -> tuple[Stratum, ...]:
    query = parse_view(text, SALES).relation
    assert query is not None
    return program("v", without_unused(query))


@pytest.mark.parametrize(
    "other",
    [
        TOTALS,
        "SELECT SUM(s.price) AS total, s.shop FROM sales AS s GROUP BY s.shop",
    ],
)
def test_the_same_aggregate_is_one_stratum(other: str) -> None:
    first, top = strata(f"SELECT a.shop, b.total FROM ({TOTALS}) a JOIN ({other}) b ON a.total < b.total")
    assert (first.name, top.name) == ("__v_1", "v")
    assert top.query is not None
    assert base_tables(top.query) == ("__v_1",)


@pytest.mark.parametrize(
    "other",
    [
        "SELECT shop, SUM(price) AS total FROM sales WHERE price > 0 GROUP BY shop",
        "SELECT shop, MAX(price) AS total FROM sales GROUP BY shop",
        "SELECT price AS shop, SUM(shop) AS total FROM sales GROUP BY price",
    ],
)
def test_another_aggregate_is_another_stratum(other: str) -> None:
    text = f"SELECT a.total, b.total AS other FROM ({TOTALS}) a JOIN ({other}) b ON a.shop = b.shop"
    assert [s.name for s in strata(text)] == ["__v_1", "__v_2", "v"]


def test_what_nothing_uses_is_not_stored() -> None:
    both = "SELECT shop, SUM(price) AS total, MAX(day) AS last FROM sales GROUP BY shop"
    first, _ = strata(f"SELECT last FROM ({both}) WHERE shop > 1")
    assert first.state is not None
    assert first.state.aggregate.columns == ("shop", "max_day")
    first, _ = strata(f"SELECT COUNT(*) AS n FROM ({both})")
    assert first.state is not None
    assert first.state.aggregate.columns == ("shop",), "groups are counted, whatever is not used of them"
    text = "SELECT COUNT(*) AS n FROM (SELECT SUM(price) AS total, MAX(day) AS last FROM sales)"
    first, _ = strata(text)
    assert first.state is not None
    assert len(first.state.aggregate.columns) == 1, "one row, also without a sale"


def test_an_aggregate_is_one_stratum_though_its_columns_are_used_apart() -> None:
    both = "SELECT shop, SUM(price) AS total, MAX(day) AS last FROM sales GROUP BY shop"
    text = f"SELECT a.total, b.last FROM ({both}) a JOIN ({both}) b ON a.shop < b.shop"
    assert [s.name for s in strata(text)] == ["__v_1", "v"]


def test_what_stands_above_the_same_aggregate_reads_one_relation() -> None:
    text = f"SELECT shop FROM ({TOTALS}) WHERE total = (SELECT MAX(total) FROM ({TOTALS}))"
    assert [s.name for s in strata(text)] == ["__v_1", "__v_2", "v"], "the totals, and their maximum"


SHOPS = StaticCatalog(
    (
        TableSchema("shops", (Column("shop", "int"), Column("city", "string"))),
        TableSchema("stock", (Column("shop", "int"), Column("item", "int"), Column("pieces", "int"))),
        TableSchema("sold", (Column("shop", "int"), Column("item", "int"), Column("qty", "int"))),
    )
)
OVERSTOCKED = """
    SELECT s.{key} FROM stock s
    WHERE s.pieces > (SELECT 2 * SUM(qty) FROM sold WHERE sold.shop = s.shop AND sold.item = s.item)"""


def strata_of(text: str) -> tuple[Stratum, ...]:
    query = parse_view(text, SHOPS).relation
    assert query is not None
    return program("v", query)


def test_keys_of_a_right_side_that_joins_an_aggregate_are_stored() -> None:
    text = f"SELECT city FROM shops WHERE shop IN ({OVERSTOCKED.format(key='shop')})"
    sums, keys, top = strata_of(text)
    assert keys.state is not None
    assert keys.query is not None
    assert base_tables(keys.query) == (sums.name, "stock")
    assert len(keys.state.aggregate.columns) == 1
    assert top.query is not None
    assert set(base_tables(top.query)) == {keys.name, "shops"}
    assert [n.kind for n in nodes(top.query) if isinstance(n, Join)] == [JoinKind.INNER]


def test_keys_under_not_exists_are_stored_too() -> None:
    text = (
        f"SELECT city FROM shops WHERE NOT EXISTS ({OVERSTOCKED.format(key='item')} AND s.shop = shops.shop)"
    )
    _, keys, top = strata_of(text)
    assert top.query is not None
    assert set(base_tables(top.query)) == {keys.name, "shops"}
    assert [n.kind for n in nodes(top.query) if isinstance(n, Join)] == [JoinKind.ANTI]


@pytest.mark.parametrize(
    "right",
    [
        "SELECT shop FROM stock",
        "SELECT s.shop FROM stock s JOIN sold ON s.item = sold.item",
        "SELECT shop FROM sold GROUP BY shop HAVING SUM(qty) > 3",
    ],
)
def test_partners_in_tables_and_in_one_aggregate_are_looked_up(right: str) -> None:
    *below, top = strata_of(f"SELECT city FROM shops WHERE shop IN ({right})")
    assert len(below) == ("GROUP BY" in right)
    assert top.query is not None
    assert JoinKind.SEMI in [node.kind for node in nodes(top.query) if isinstance(node, Join)]
