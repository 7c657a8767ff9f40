"""Functions that the translation does not know as what they are: Spark is asked, and its answer is kept."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType
from sqlglot import exp

import viewkeeper as vk
from tests.regressions.beside_spark import Beside
from tests.sizes import in_batches
from viewkeeper.errors import NotDeterministic, ViewkeeperError
from viewkeeper.sql.aggregate_calls import is_aggregate_call, is_grouping_call
from viewkeeper.sql.parse import parse_query
from viewkeeper.sql.spellings import canonical

TABLE = (
    "CREATE TABLE t (g INT, v DOUBLE)",
    "INSERT INTO t VALUES (1, 0.5), (1, 2.5), (2, 4.0), (NULL, NULL)",
)
CHANGES = (
    ("INSERT INTO t VALUES (1, 8.0), (3, 1.0)",),
    ("DELETE FROM t WHERE v = 0.5", "UPDATE t SET v = 3.0 WHERE g = 2"),
)


def widest(values: pd.Series) -> float:
    return float(values.max() - values.min())


def kept(warehouse: vk.Warehouse, views: dict[str, str]) -> Beside:
    beside = Beside(warehouse, *TABLE)
    beside.define(views)
    for statements in in_batches(CHANGES):
        beside.after(*statements)
    return beside


def test_other_names_of_aggregates(warehouse: vk.Warehouse) -> None:
    kept(
        warehouse,
        {
            "means": "SELECT g, mean(v) AS m FROM t GROUP BY g",
            "mean": "SELECT mean(v) AS m FROM t",
            "some_is": "SELECT g, any(v > 1) AS a, some(v > 3) AS s, every(v > 0) AS e FROM t GROUP BY g",
            "united": "SELECT sort_array(collect_union(array(g))) AS u FROM t",
            "sketched": "SELECT theta_sketch_estimate(theta_sketch_agg(g)) AS n FROM t",
        },
    )
    assert warehouse.explain("means").strategy == "summary-delta"


def test_aggregates_of_the_user(warehouse: vk.Warehouse) -> None:
    """A function that Spark alone knows is an aggregate, with GROUP BY and without."""

    warehouse.spark.udf.register("widest", F.pandas_udf(widest, "double"))  # type: ignore[call-overload]
    views = {
        "all_rows": "SELECT widest(v) AS w FROM t",
        "groups": "SELECT g, widest(v) AS w FROM t GROUP BY g",
        "of_keys": "SELECT widest(g) AS w FROM t GROUP BY g",
    }
    beside = Beside(warehouse, "CREATE TABLE t (g INT, v DOUBLE)", "INSERT INTO t VALUES (1, 0.5), (1, 2.5)")
    beside.define(views)
    beside.after("INSERT INTO t VALUES (1, 8.0), (2, 1.0), (2, 3.0)")
    assert "aggregate" in str(warehouse.explain("all_rows"))


def test_functions_of_the_user(warehouse: vk.Warehouse) -> None:
    warehouse.spark.udf.register("twice", lambda x: None if x is None else 2 * x, IntegerType())
    kept(
        warehouse,
        {"v": "SELECT twice(g) AS d FROM t", "w": "SELECT twice(g) AS d, COUNT(*) AS n FROM t GROUP BY 1"},
    )
    noisy = F.udf(lambda x: x, IntegerType()).asNondeterministic()
    warehouse.spark.udf.register("noisy", noisy)
    with pytest.raises(NotDeterministic, match="noisy is not deterministic"):
        warehouse.create_view("n", "SELECT noisy(g) AS d FROM t")


def test_what_spark_takes_is_not_refused(warehouse: vk.Warehouse) -> None:
    """A column that only Spark finds, in a text that it takes: the text is run."""
    kept(warehouse, {"v": "SELECT g, measure_of FROM (SELECT g, v AS measure_of FROM t) WHERE g IS NOT NULL"})


def test_sums_above_a_recursion(warehouse: vk.Warehouse) -> None:
    """Their types are known as those of other sums are: a large value comes and goes."""
    beside = Beside(
        warehouse, "CREATE TABLE e (a INT, b INT, x DOUBLE)", "INSERT INTO e VALUES (1, 2, 0.1), (2, 3, 0.2)"
    )
    step = "SELECT w.a, e.b, e.x FROM w JOIN e ON w.b = e.a"
    walk = f"WITH RECURSIVE w(a, b, x) AS (SELECT a, b, x FROM e UNION ALL {step})"
    sums = "SUM(x / 2) AS s, AVG(x * 2) AS m"
    beside.define(
        {
            "v": f"{walk} SELECT {sums} FROM w WHERE a = 1",
        }
    )
    beside.after("INSERT INTO e VALUES (1, 9, 1e17)", "DELETE FROM e WHERE a = 2")
    beside.after("DELETE FROM e WHERE b = 9", "INSERT INTO e VALUES (1, 8, 0.3)", "DELETE FROM e WHERE b = 2")


CLOCKS = [
    "d < 'today'",
    "to_date('today')",
    "timestamp('now')",
    "to_timestamp(' NOW ')",
    "CAST('today UTC' AS DATE)",
    "d IN ('today', '2999-01-01')",
    "coalesce(d, 'yesterday')",
    "date_add('tomorrow', 1)",
    "hour('now')",
    "try_to_timestamp('now')",
    "d BETWEEN '2024-01-01' AND 'today'",
]


@pytest.fixture(scope="module")
def dated(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> vk.Warehouse:
    warehouse = vk.open(str(tmp_path_factory.mktemp("dated")), spark=spark)
    warehouse.sql("CREATE TABLE t (d DATE, s STRING, today STRING)")
    return warehouse


@pytest.mark.parametrize("value", CLOCKS)
def test_texts_that_spark_reads_from_the_clock_are_refused(dated: vk.Warehouse, value: str) -> None:
    with pytest.raises(NotDeterministic):
        dated.create_view("v", f"SELECT d, {value} AS x FROM t", populate=False)
    assert [status.name for status in dated.status()] == ["t"]


def test_the_same_words_may_be_texts(dated: vk.Warehouse) -> None:
    text = "SELECT s = 'now' AS n, 'today' AS t, CAST(today AS DATE) AS d FROM t WHERE s <> 'yesterday'"
    dated.create_view("words", text, populate=False)
    assert dated.drop("words")


def test_all_aggregates_of_spark_are_known(warehouse: vk.Warehouse) -> None:
    """Each built-in function that Spark itself implements as an aggregate is taken for one."""
    spark = warehouse.spark
    for [name] in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        if not name.replace("_", "").isalnum():
            continue
        told = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
        calls = [call for n in range(4) if (call := _call(name, n)) is not None]
        if ".expressions.aggregate." in told:
            known = [is_aggregate_call(call) or is_grouping_call(call) for call in calls]
            assert any(known), (name, json.dumps([repr(call) for call in calls])[:200])


def _call(name: str, arguments: int) -> exp.Expr | None:
    try:
        query = parse_query(f"SELECT {name}({', '.join('vkx'[:arguments])}) AS x FROM t")
    except ViewkeeperError:
        return None
    [call] = canonical(query).selects or [None]
    return call.this if call is not None else None
