"""The columns of a stored view are those that Spark gives its text."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from viewkeeper.ddl import redefinition

pytestmark = pytest.mark.usefixtures("maintained")

TEXTS = {
    "decimals": "SELECT d * d AS p, d / 3 AS q, CAST(d AS DECIMAL(38, 0)) AS w FROM t",
    "sums": "SELECT k, SUM(d) AS s, AVG(d) AS a, COUNT(*) AS n, SUM(k) AS i, AVG(f) AS x FROM t GROUP BY k",
    "nested": "SELECT named_struct('a', k, 'B', array(d)) AS s, map(k, f) AS m FROM t",
    "times": "SELECT CAST(ts AS DATE) AS d, CAST(ts AS TIMESTAMP_NTZ) AS z FROM t",
    "small": "SELECT CAST(k AS TINYINT) AS b, CAST(f AS FLOAT) AS g, k > 1 AS t, X'00' AS y FROM t",
    "order": "SELECT f, `K` AS Upper, k FROM t",
}


@pytest.fixture
def table(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE t (k INT, d DECIMAL(18, 8), f DOUBLE, ts TIMESTAMP)")
    warehouse.sql(
        "INSERT INTO t VALUES (1, 1.5, 0.1, TIMESTAMP '2024-01-01 00:00:00'), (2, NULL, -0.0D, NULL)"
    )
    return warehouse


@pytest.mark.parametrize("what", TEXTS)
def test_columns_are_those_of_the_text(table: vk.Warehouse, what: str) -> None:
    table.create_view("v", TEXTS[what])
    table.sql("INSERT INTO t VALUES (1, 2.25, 0.2, TIMESTAMP '2024-01-02 00:00:00')")
    table.refresh(policy="incremental")
    wanted = table.sql(TEXTS[what], use_views=False).schema
    found = table.table("v").schema
    shown = [[(f.name, f.dataType.simpleString()) for f in schema] for schema in (found, wanted)]
    assert shown[0] == shown[1]
    assert table.verify("v"), table.verify("v")


def test_a_plan_of_other_columns_is_not_used(table: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such plan is known; where there is one, the text is run as it is, and the reason says so."""
    reason = "its plan would give k bigint for k int"
    with monkeypatch.context() as patch:
        patch.setattr(redefinition, "other_schema", lambda *given: reason)
        table.create_view("v", "SELECT k FROM t WHERE k > 1")
    table.sql("INSERT INTO t VALUES (5, 1, 1, NULL)")
    assert reason in str(table.explain("v"))
    assert table.refresh(policy="incremental").of("v").reason.code == "untranslatable"
    assert sorted(row.k for row in table.table("v").collect()) == [2, 5]
    table.alter_view("v", "SELECT k FROM t WHERE k > 0")
    table.sql("DELETE FROM t WHERE k = 5")
    assert table.refresh(policy="incremental").of("v").strategy == "counting"
