"""Every kind of Spark session: classic, Connect, executors in other processes; and nothing leaks into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.warehouse.rows import bag, rows
from viewkeeper.spark.session import ENGINE_SETTINGS

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("script.py")


def life(path: Path, kind: str) -> dict[str, Any]:
    """Runs the script in a process of its own, since one process has one kind of session."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment = {**own, "PYTHONPATH": str(ROOT / "src"), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(SCRIPT), str(path), kind]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=800, env=environment, cwd=path.parent
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def lived(path: Path, kind: str) -> str:
    """The kind of session that a warehouse had its whole life on."""
    found = life(path, kind)
    kind_of_session = str(found.pop("session"))
    assert found == {
        "zoned": [["2024-01-01", 1], ["2024-01-02", 2]],
        "strategies": ["summary-delta", "summary-delta"],
        "sales": [["c", 8, None]],
        "cities": [[1]],
        "verified": [True, True],
    }
    return kind_of_session


def test_a_warehouse_lives_on_a_connect_session(tmp_path: Path, connect_address: str) -> None:
    assert lived(tmp_path / "w", connect_address) == "pyspark.sql.connect.session"


@pytest.mark.timeout(900)
def test_a_warehouse_lives_with_executors_in_other_processes(tmp_path: Path) -> None:
    assert lived(tmp_path / "w", "cluster") == "pyspark.sql.session"


def test_nothing_leaks_into_the_session(spark: SparkSession, tmp_path: Path) -> None:
    """Configuration, temporary views, cached data and the current database are as before."""
    spark.conf.set("spark.sql.parquet.compression.codec", "gzip")
    spark.conf.unset("spark.sql.leafNodeDefaultParallelism")
    spark.createDataFrame([(7,)], "x int").createOrReplaceTempView("pos")
    before = _seen(spark)
    try:
        warehouse = vk.open(str(tmp_path / "w"), spark=spark)
        warehouse.sql("CREATE TABLE pos (store INT, qty INT)")
        warehouse.sql("INSERT INTO pos VALUES (1, 5), (1, 6)")
        warehouse.create_view("v", "SELECT store, MIN(qty) AS m FROM pos GROUP BY store")
        warehouse.create_view("w", "SELECT a.m FROM v a JOIN v b ON a.m = b.m AND a.store < b.store + 1")
        warehouse.sql("DELETE FROM pos WHERE qty = 5")
        warehouse.refresh(policy="strict")
        assert rows(warehouse.table("v")) == bag([(1, 6)])
        assert warehouse.verify("v")
        assert warehouse.verify("w")
        assert _seen(spark) == before
        assert not list(warehouse._work.log.folder.listed("results"))
        assert rows(spark.table("pos")) == bag([(7,)])
    finally:
        spark.catalog.dropTempView("pos")
        spark.conf.unset("spark.sql.parquet.compression.codec")


def test_an_error_leaks_nothing_either(spark: SparkSession, warehouse: vk.Warehouse) -> None:
    before = _seen(spark)
    with pytest.raises(vk.ViewkeeperError):
        warehouse.create_view("v", "SELECT nothing FROM nowhere")
    warehouse.sql("CREATE TABLE t (x INT)")
    with pytest.raises(vk.ViewkeeperError):
        warehouse.sql("INSERT INTO t SELECT 1 / 0")
    assert _seen(spark) == before


def _seen(spark: SparkSession) -> dict[str, Any]:
    settings = {name: spark.conf.get(name, None) for name in ENGINE_SETTINGS}
    views = sorted(row.tableName for row in spark.sql("SHOW TABLES").collect() if row.isTemporary)
    shuffles = spark.conf.get("spark.sql.shuffle.partitions")
    return {
        "cached": spark.sparkContext._jsc.sc().getPersistentRDDs().size(),
        "settings": settings,
        "views": views,
        "database": spark.catalog.currentDatabase(),
        "shuffles": shuffles,
    }
