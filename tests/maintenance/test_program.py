"""Which relations a view stores beside itself: an aggregate that its text uses twice is stored once."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import base_tables
from viewkeeper.maintenance.program import program
from viewkeeper.maintenance.strategy import Stratum
from viewkeeper.sql.catalog import StaticCatalog
from viewkeeper.sql.parse import parse_view

SALES = StaticCatalog(
    (TableSchema("sales", (Column("shop", "int"), Column("day", "date"), Column("price", "int"))),)
)
TOTALS = "SELECT shop, SUM(price) AS total FROM sales GROUP BY shop"


def strata(text: str) -> tuple[Stratum, ...]:
    query = parse_view(text, SALES).relation
    assert query is not None
    return program("v", query)


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
    names = [s.name for s in strata(f"SELECT a.shop FROM ({TOTALS}) a JOIN ({other}) b ON a.shop = b.shop")]
    assert names == ["__v_1", "__v_2", "v"]


def test_what_stands_above_the_same_aggregate_reads_one_relation() -> None:
    text = f"SELECT shop FROM ({TOTALS}) WHERE total = (SELECT MAX(total) FROM ({TOTALS}))"
    assert [s.name for s in strata(text)] == ["__v_1", "__v_2", "v"], "the totals, and their maximum"
