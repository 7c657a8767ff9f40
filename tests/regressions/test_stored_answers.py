"""Groups and partitions that are computed anew replace what is stored, whatever the order of their rows."""

from __future__ import annotations

import random

import pytest

import viewkeeper as vk
from tests.sizes import SIZES

pytestmark = pytest.mark.usefixtures("maintained")

VIEWS = {
    "grouped": "SELECT k, SKEWNESS(x) AS s, SUM(DISTINCT x) AS d, COUNT(*) AS n FROM t GROUP BY k",
    "whole": "SELECT SKEWNESS(x) AS s, PERCENTILE(x, 0.5) AS m FROM t",
    "filtered": "SELECT k, SUM(DISTINCT x) AS d FROM t GROUP BY k HAVING SUM(DISTINCT x) > 0",
    "without_key": "SELECT SUM(DISTINCT x) AS d FROM t GROUP BY k",
    "above": "SELECT COUNT(*) AS n, MAX(d) AS d FROM (SELECT k, SUM(DISTINCT x) AS d FROM t GROUP BY k)",
    "joined": """SELECT u.k, u.y, a.d FROM u LEFT JOIN
        (SELECT k, SUM(DISTINCT x) AS d FROM t GROUP BY k) a ON u.k <=> a.k""",
    "full": """SELECT a.k, a.d, b.s FROM (SELECT k, AVG(x) AS d FROM t GROUP BY k) a FULL JOIN
        (SELECT k, STDDEV(y) AS s FROM u GROUP BY k) b ON a.k <=> b.k""",
    "window": "SELECT k, i, SUM(x) OVER (PARTITION BY k) AS s, AVG(x) OVER (PARTITION BY k) AS a FROM t",
    "no_partition": "SELECT k, i, STDDEV(x) OVER () AS s FROM t",
    "hidden_partition": "SELECT i, SUM(x) OVER (PARTITION BY k) AS s FROM t",
    "running": "SELECT k, i, SUM(x) OVER (PARTITION BY k ORDER BY i ROWS 2 PRECEDING) AS s FROM t",
    "above_a_window": """SELECT k, MAX(s) AS s FROM
        (SELECT k, SUM(x) OVER (PARTITION BY k) AS s FROM t) GROUP BY k""",
    "volatility": """WITH returns AS (
            SELECT k, i, LN(ABS(x) + 1) - LN(ABS(LAG(x) OVER (PARTITION BY k ORDER BY i)) + 1) AS r FROM t)
        SELECT r.k, r.i, u.y, STDDEV(r.r) OVER (PARTITION BY r.k ORDER BY r.i, u.y ROWS 3 PRECEDING) AS v
        FROM returns r JOIN u ON r.k = u.k""",
}


@pytest.fixture
def filled(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE t (k INT, i INT, x DOUBLE)")
    warehouse.sql("CREATE TABLE u (k INT, y DOUBLE)")
    for name, text in VIEWS.items():
        warehouse.create_view(name, text, policy="incremental", populate=False)
    return warehouse


def test_computed_groups_replace_stored_ones(filled: vk.Warehouse) -> None:
    chance = random.Random(4)
    rows: list[tuple[int | None, int, float]] = []
    others = [(k, chance.uniform(-1, 1)) for k in (1, 2, 2, None)]
    with filled.transaction() as t:
        t.insert("u", others)
    for step in range(3 if SIZES.short else 5):
        new = [(chance.choice((1, 2, 3, None)), 100 * step + n, chance.uniform(-1, 1)) for n in range(14)]
        gone = chance.sample(rows, min(len(rows), 6))
        with filled.transaction() as t:
            t.insert("t", new)
            if gone:
                t.delete("t", gone)
            t.insert("u", [(step, 0.1 * step)])
        rows = [row for row in rows if row not in gone] + new
        report = filled.refresh()
        if step:
            assert {entry.strategy for entry in report} <= {"counting", "summary-delta", "none"}
            assert [found for name in VIEWS if not (found := filled.verify(name))] == []
    assert len(filled.table("window").collect()) == len(rows)
