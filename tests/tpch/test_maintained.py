"""TPC-H's queries as views, maintained through its refresh functions RF1 and RF2 and updates of dimensions.

By default a few queries that have everything between them, in the long form all;
`VIEWKEEPER_QUERIES=q02,q09` asks for others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from tests.sizes import SIZES
from tests.tpch.database import SCHEMAS
from tests.tpch.queries import QUERIES
from viewkeeper.spark.compare import compare

SCALE = "0.001"
EVERYTHING = ("q15", "q21")
ASKED = os.environ.get("VIEWKEEPER_QUERIES")
NAMES = tuple(ASKED.split(",")) if ASKED else EVERYTHING if SIZES.tpch < len(QUERIES) else tuple(QUERIES)
DERIVED = 1_000_000
"""What is added to the keys of orders to make new ones."""


@pytest.fixture(scope="module")
def tpch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> vk.Warehouse:
    folder = tmp_path_factory.mktemp("tpch-small")
    program = Path(sys.executable).parent / "tpchgen-cli"
    command = [str(program), "parquet", "--scale-factor", SCALE, "--output-dir", str(folder / "data")]
    subprocess.run(command, check=True, capture_output=True)
    warehouse = vk.open(str(folder / "warehouse"), spark=spark)
    for schema in SCHEMAS:
        warehouse.create_table(schema, str(folder / "data" / f"{schema.name}.parquet"), check=False)
    for name in NAMES:
        warehouse.create_view(name, QUERIES[name], populate=False)
    warehouse.refresh()
    return warehouse


def check(warehouse: vk.Warehouse, batch: str) -> None:
    """Refreshes with nothing but deltas; every view then equals what Spark answers to its text."""
    report = warehouse.refresh(policy="strict")
    assert {entry.strategy for entry in report} <= {"counting", "summary-delta", "none"}, batch
    wrong = {}
    for name in NAMES:
        found = compare(
            warehouse._work.engine, warehouse.table(name), warehouse.sql(QUERIES[name], use_views=False)
        )
        if found:
            wrong[name] = found
    assert not wrong, batch


def some(warehouse: vk.Warehouse, columns: str, condition: str) -> DataFrame:
    return warehouse.sql(f"SELECT {columns} FROM {condition}")


def test_views_are_maintained_through_all_batches(tpch: vk.Warehouse) -> None:
    """RF1 inserts orders with their lines, RF2 deletes some, then rows of the dimensions change."""
    new = "o_orderkey % 50 = 1"
    orders = some(tpch, "*", f"orders WHERE {new}")
    lines = some(tpch, "*", f"lineitem WHERE l_{new[2:]}")
    with tpch.transaction() as t:
        t.insert("orders", orders.withColumn("o_orderkey", orders.o_orderkey + DERIVED))
        t.insert("lineitem", lines.withColumn("l_orderkey", lines.l_orderkey + DERIVED))
    check(tpch, "RF1")
    old = "o_orderkey % 40 = 3"
    with tpch.transaction() as t:
        t.delete("lineitem", some(tpch, "l_orderkey, l_linenumber", f"lineitem WHERE l_{old[2:]}"))
        t.delete("orders", some(tpch, "o_orderkey", f"orders WHERE {old}"))
    check(tpch, "RF2")
    with tpch.transaction() as t:
        t.update(
            "customer",
            some(
                tpch,
                "c_custkey, CAST(c_acctbal + 5000 AS DECIMAL(15,2)) AS c_acctbal, 'BUILDING' AS c_mktsegment,"
                " (c_nationkey + 1) % 25 AS c_nationkey",
                "customer WHERE c_custkey % 10 = 1",
            ),
        )
        t.update(
            "part",
            some(
                tpch,
                "p_partkey, 'Brand#23' AS p_brand, 'WRAP CASE' AS p_container, 15 AS p_size,"
                " 'PROMO BRASS' AS p_type",
                "part WHERE p_partkey % 20 = 1",
            ),
        )
        t.update(
            "supplier",
            some(
                tpch, "s_suppkey, (s_nationkey + 1) % 25 AS s_nationkey", "supplier WHERE s_suppkey % 5 = 1"
            ),
        )
    check(tpch, "updates of customers, parts and suppliers")
