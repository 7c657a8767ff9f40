"""Groups by conditions, and aggregates of them, against plain Spark on the views' own texts."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside

pytestmark = pytest.mark.usefixtures("maintained")

VIEWS = {
    "negated": "SELECT NOT g AS k, MEDIAN(v) AS m, COUNT(*) AS n FROM t GROUP BY NOT g",
    "unseen": "SELECT MEDIAN(v) AS m FROM t GROUP BY NOT g",
    "compared": "SELECT a = b AS k, MEDIAN(v) AS m FROM t GROUP BY a = b",
    "both": "SELECT g AND a > 1 AS k, a IS NULL AS z, MEDIAN(v) AS m FROM t GROUP BY g AND a > 1, a IS NULL",
    "extremes": "SELECT a, MIN(NOT g) AS lo, MAX(a = b) AS hi, COUNT(g OR a > 1) AS n FROM t GROUP BY a",
    "paired": "SELECT COUNT(NOT g) AS n, REGR_COUNT(a, b) AS r, BOOL_AND(NOT g) AS e FROM t",
    "windowed": "SELECT a, v, SUM(v) OVER (PARTITION BY NOT g) AS s FROM t",
}


def test_groups_by_conditions(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE t (a INT, b INT, g BOOLEAN, v INT)",
        "INSERT INTO t VALUES (1, 1, true, 1), (1, 2, false, 2), (2, NULL, NULL, 3), (NULL, 1, NULL, 4)",
    )
    beside.define(VIEWS)
    report = beside.after(
        "INSERT INTO t VALUES (2, 2, NULL, 7), (1, 1, NULL, 8)", "DELETE FROM t WHERE v = 2"
    )
    assert all(one.strategy != "recompute" for one in report)
    beside.after("UPDATE t SET g = NOT g, b = 1 WHERE v IN (1, 8)", "INSERT INTO t VALUES (3, 3, false, 9)")
    beside.after("DELETE FROM t WHERE g IS NULL")
