"""Advice is taken, and what queries then read is what it said."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.spark.metrics import rows_scanned
from viewkeeper.demo import retail
from viewkeeper.errors import InvalidOption

SALES = 20_000
TOLERANCE = 0.15
"""Three standard errors of a count of groups."""

STORE = "FROM pos JOIN stores USING (storeID)"
CITY = f"SELECT city, SUM(price) AS p {STORE} GROUP BY city"
REGION = f"SELECT region, SUM(qty) AS q, COUNT(*) AS n {STORE} GROUP BY region"
LATE = f"SELECT region, SUM(qty) AS q {STORE} WHERE date >= DATE '2024-03-01' GROUP BY region"
CATEGORY = "SELECT storeID, category, AVG(qty) AS q FROM pos JOIN items USING (itemID) GROUP BY ALL"
DISTINCT = "SELECT COUNT(DISTINCT itemID) AS n FROM pos"


def shop(warehouse: vk.Warehouse) -> None:
    retail.create_tables(warehouse)
    retail.load(warehouse, SALES)
    retail.create_view(warehouse, "sCD_sales")
    warehouse.sql(
        "CREATE MATERIALIZED VIEW unasked AS SELECT itemID, qty, COUNT(*) AS n FROM pos GROUP BY ALL"
    )


def test_the_workload_reads_what_was_predicted(spark: SparkSession, filled) -> None:
    wh = filled(shop)
    wh = vk.open(wh.path, spark=spark, log_queries=True)
    for sql in (CITY, CITY, CITY, REGION, LATE.replace("03-01", "02-01"), LATE, CATEGORY, DISTINCT):
        wh.sql(sql)
    actions = wh._work.engine.actions
    advice = wh.advise()
    assert wh._work.engine.actions - actions <= 3, (
        "one counts groups, the others ask whether a hierarchy holds"
    )
    assert next(one for one in advice if one.view == "unasked").action == "drop"
    assert any(one.action == "add" for one in advice)
    assert next(q for q in advice.queries if q.sql == DISTINCT).why.startswith("no summary answers it")
    assert next(q for q in advice.queries if q.sql == CITY).times == 3
    assert not any("2024" in one.sql for one in advice), "a view for a date that changes is of no use"
    before = {q.sql: wh.sql(q.sql, use_views=False).collect() for q in advice.queries}

    for one in advice.changes:
        wh.sql(one.sql)
    for query in advice.queries:
        assert wh.explain_query(query.sql).view in (query.source_after, None)
        rows = []
        scanned = rows_scanned(spark, lambda sql=query.sql, rows=rows: rows.extend(wh.sql(sql).collect()))
        assert scanned == pytest.approx(query.reads_after, rel=TOLERANCE)
        assert sorted(map(str, rows)) == sorted(map(str, before[query.sql]))
    assert advice.rows_read_after < advice.rows_read / 4
    assert wh.advise().rows_stored == pytest.approx(advice.rows_stored_after, rel=TOLERANCE)


def test_advice_within_a_budget_extends_what_is_there_and_says_what_it_costs(filled) -> None:
    wh = filled(shop)
    advice = wh.advise([CITY, REGION, "SELECT * FROM sCD_sales"], budget=0)
    by_view = {one.view: one for one in advice}
    assert (by_view["sCD_sales"].action, by_view["unasked"].action) == ("extend", "drop")
    assert "SUM(pos.price) AS sum_price" in by_view["sCD_sales"].sql
    assert json.loads(json.dumps(advice.to_dict()))["rows_read"]["after"] == advice.rows_read_after
    assert advice.to_sql() in str(advice)
    for one in advice.changes:
        wh.sql(one.sql)
    assert wh.explain_query(CITY).view == "sCD_sales"
    assert wh.verify("sCD_sales")


def test_without_queries_there_is_no_advice(filled) -> None:
    with pytest.raises(InvalidOption, match="no queries"):
        filled(shop).advise()
    with pytest.raises(InvalidOption, match="budget cannot be -1"):
        filled(shop).advise([CITY], budget=-1)
