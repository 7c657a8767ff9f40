"""Columns are said to be NOT NULL where Spark says so of the text, over what the tables declare."""

from __future__ import annotations

from decimal import Decimal

import pytest
from deltalake import DeltaTable
from pyspark.sql.types import StructType

import viewkeeper as vk
from tests.sizes import in_batches

pytestmark = pytest.mark.usefixtures("maintained")

TABLE = "k INT NOT NULL, a BIGINT, s STRING NOT NULL, d DECIMAL(10, 2) NOT NULL, x DATE NOT NULL"
OTHER = "k INT NOT NULL, b DOUBLE NOT NULL"
VIEWS = {
    "passed": "SELECT k, a, s, d, x FROM t",
    "made": "SELECT k + 1 AS n, a + 1 AS b, concat(s, 'x') AS c, CAST(s AS INT) AS i, 1 AS one FROM t",
    "grouped": "SELECT s, COUNT(*) AS n, SUM(k) AS m, MAX(a) AS y, COLLECT_LIST(k) AS l FROM t GROUP BY s",
    "whole": "SELECT COUNT(a) AS n, AVG(d) AS m FROM t",
    "joined": "SELECT t.k, u.b FROM t JOIN u ON t.k = u.k",
    "outer": "SELECT t.k, u.b, u.k AS other FROM t LEFT JOIN u ON t.k = u.k",
    "full": "SELECT t.k, u.b FROM t FULL JOIN u ON t.k = u.k",
    "union": "SELECT k, s FROM t UNION ALL SELECT CAST(a AS INT), 'x' FROM t",
    "nested": "SELECT named_struct('k', k) AS n, array(k, 1) AS l, map(s, a) AS m FROM t",
    "once": "SELECT DISTINCT k, a FROM t",
    "ranked": "SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS r, LAG(k) OVER (ORDER BY k) AS p FROM t",
    "above": "SELECT n, m FROM grouped WHERE n > 0",
    "chosen": "SELECT CASE WHEN a > 0 THEN k END AS c, coalesce(a, 0) AS d, nullif(k, 1) AS e FROM t",
}
STEPS = (
    "INSERT INTO t VALUES (3, NULL, '3', 3, DATE'2024-01-03'), (4, 4, '1', 4, DATE'2024-01-04')",
    "INSERT INTO u VALUES (3, 3.5), (9, 9.5)",
    "DELETE FROM t WHERE k = 1",
)


def nulls(schema: StructType) -> list[tuple[str, str, bool]]:
    return [(field.name, field.dataType.simpleString(), field.nullable) for field in schema]


def not_null(warehouse: vk.Warehouse, name: str, columns: str) -> None:
    """Shows plain Spark an empty table of the same declaration."""
    warehouse.spark.createDataFrame([], columns).createOrReplaceTempView(name)


@pytest.fixture
def tables(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql(f"CREATE TABLE t ({TABLE})")
    warehouse.sql("CREATE TABLE u (k INT PRIMARY KEY, b DOUBLE NOT NULL)")
    warehouse.sql("INSERT INTO t VALUES (1, 1, '1', 1.5, DATE'2024-01-01')")
    warehouse.sql("INSERT INTO t VALUES (2, NULL, '2', 2, DATE'2024-01-02')")
    warehouse.sql("INSERT INTO u VALUES (1, 0.5)")
    not_null(warehouse, "t", TABLE)
    not_null(warehouse, "u", OTHER)
    return warehouse


def test_schemas_are_those_of_the_texts(tables: vk.Warehouse) -> None:
    spark = tables.spark
    for name, text in VIEWS.items():
        tables.create_view(name, text)
        spark.sql(text).createOrReplaceTempView(name)
    for statements in ([], *in_batches([[step] for step in STEPS])):
        for statement in statements:
            tables.sql(statement)
        if statements:
            tables.refresh(policy="incremental")
        for name in ("t", "u", *VIEWS):
            shown = tables.table(name)
            assert nulls(shown.schema) == nulls(spark.table(name).schema), name
            assert not statements or len(shown.collect()) == shown.count()
    assert all(tables.verify(name) for name in VIEWS), "what is read is what is stored"
    tables.compact()
    again = vk.open(tables.path, spark=spark)
    assert nulls(again.table("outer").schema) == nulls(spark.table("outer").schema)


def test_rows_are_shown_as_they_are(tables: vk.Warehouse) -> None:
    [row] = tables.table("t").where("k = 1").collect()
    assert tuple(row)[:4] == (1, 1, "1", Decimal("1.50"))
    state = tables._work.log.latest().relations["t"]
    fields = DeltaTable(tables._work.engine.folder.delta_address(state.folder)).schema().fields
    assert [field.nullable for field in fields] == [False, True, False, False, False]


def test_a_view_below_that_may_be_null_from_now_on(tables: vk.Warehouse) -> None:
    tables.create_view("below", "SELECT k, s FROM t")
    tables.create_view("over", "SELECT k, COUNT(*) AS n FROM below GROUP BY k")
    assert [field.nullable for field in tables.table("over").schema] == [False, False]
    tables.alter_view("below", "SELECT nullif(k, 1) AS k, s FROM t")
    assert [field.nullable for field in tables.table("over").schema] == [True, False]
    assert {row.k for row in tables.table("over").collect()} == {None, 2}
    assert tables.verify("over")


def test_a_plan_may_say_less_than_its_text(tables: vk.Warehouse) -> None:
    """A plan that may be NULL where the text is not is no other plan: the view is maintained."""
    tables.create_view("v", VIEWS["grouped"])
    tables.sql(STEPS[0])
    assert tables.refresh(policy="incremental").of("v").strategy != "recompute"
