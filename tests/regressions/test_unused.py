"""What a view computes and does not use is not stored: Spark leaves it out, so it need not have a value."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside

pytestmark = pytest.mark.usefixtures("maintained")

LARGE = 2**62
VIEWS = {
    "medians": "SELECT x4 FROM (SELECT k2, MEDIAN(c + c) AS x3, MEDIAN(k) AS x4 FROM t GROUP BY k2)",
    "sums": "SELECT a FROM (SELECT k2, SUM(c) AS s, MAX(k) AS a FROM t GROUP BY k2)",
    "whole": "SELECT a FROM (SELECT SUM(c) AS s, MIN(k) AS a FROM t)",
    "counted": "SELECT COUNT(*) AS n FROM (SELECT k2, SUM(c) AS s FROM t GROUP BY k2)",
    "joined": """SELECT t.k, q.a FROM t JOIN
                 (SELECT k2, SUM(c + c) AS s, COUNT(*) AS a FROM t GROUP BY k2) q ON t.k2 = q.k2""",
    "windows": """SELECT k, r FROM (SELECT k, SUM(c + c) OVER (PARTITION BY k2) AS x,
                  COUNT(*) OVER (PARTITION BY k2) AS r FROM t)""",
    "united": """SELECT k FROM (SELECT k, c + c AS d FROM t UNION ALL
                 SELECT k2, SUM(c) FROM t GROUP BY k2)""",
}


def test_columns_that_nothing_uses_may_overflow(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE t (k INT, k2 INT, c BIGINT)",
        "INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3)",
    )
    beside.define(VIEWS)
    report = beside.after(f"INSERT INTO t VALUES (4, 2, {LARGE}), (5, 2, {LARGE}), (6, 3, {LARGE})")
    assert {one.strategy for one in report} <= {"counting", "summary-delta"}
    beside.after(f"INSERT INTO t VALUES (7, 3, {LARGE})", "DELETE FROM t WHERE k IN (3, 6)")
    assert all(warehouse.verify(view) for view in VIEWS)
