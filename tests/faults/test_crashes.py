"""A process killed at any step leaves the old state or the new one, and the next change works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.following.source import appended, merged, orders
from tests.warehouse.rows import bag, rows

WORKER = Path(__file__).with_name("worker.py")

OLD = {"pos": bag([(1, 5), (1, 6), (2, None)]), "stores": bag([(1, "a"), (2, "b")])}
NEW = {"pos": bag([(1, 6), (2, None), (1, 7), (2, 8)]), "stores": bag([(1, "a"), (2, "moved")])}


@pytest.fixture(scope="module")
def ready(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with two tables and two views over them."""
    path = tmp_path_factory.mktemp("ready") / "warehouse"
    warehouse = vk.open(str(path), spark=spark)
    warehouse.create_table("stores", [{"id": 1, "city": "a"}, {"id": 2, "city": "b"}], key=["id"])
    warehouse.sql("CREATE TABLE pos (store BIGINT, qty INT)")
    warehouse.sql("INSERT INTO pos VALUES (1, 5), (1, 6), (2, NULL)")
    warehouse.create_view(
        "sales", "SELECT city, SUM(qty) AS q FROM pos JOIN stores ON store = id GROUP BY city"
    )
    warehouse.create_view("pairs", "SELECT store, qty FROM pos WHERE qty > 4")
    return path


def steps_of(path: Path, tmp_path: Path, address: str, scenario: str) -> list[Path]:
    """One copy of the warehouse for every step at which a process died."""
    died = tmp_path / "died"
    command = [sys.executable, str(WORKER), str(path), str(died), address, scenario]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return sorted(died.iterdir())


def test_a_transaction_is_all_or_nothing(
    spark: SparkSession, ready: Path, tmp_path: Path, connect_address: str
) -> None:
    died = steps_of(ready, tmp_path, connect_address, "transaction")
    assert len(died) >= 5
    for path in died:
        warehouse = vk.open(str(path), spark=spark)
        found = {name: rows(warehouse.table(name)) for name in OLD}
        assert found in (OLD, NEW), path.name
        with warehouse.transaction() as t:
            t.insert("pos", [(2, 99)])
        assert rows(warehouse.table("pos"))[(2, 99)] == 1


@pytest.mark.parametrize("policy", ["full", "strict"])
def test_a_refresh_is_all_or_nothing(
    spark: SparkSession, ready: Path, tmp_path: Path, connect_address: str, policy: str
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(ready, changed)
    stale = vk.open(str(changed), spark=spark)
    with stale.transaction() as t:
        t.delete("pos", [(1, 5)])
        t.insert("pos", [(1, 50)])
    old = {"sales": bag([("a", 11), ("b", None)]), "pairs": bag([(1, 5), (1, 6)])}
    new = {"sales": bag([("a", 56), ("b", None)]), "pairs": bag([(1, 50), (1, 6)])}
    died = steps_of(changed, tmp_path, connect_address, policy)
    assert len(died) >= 5
    for path in died:
        warehouse = vk.open(str(path), spark=spark)
        found = {name: rows(warehouse.table(name)) for name in old}
        assert found in (old, new), path.name
        warehouse.refresh()
        assert {name: rows(warehouse.table(name)) for name in new} == new
    assert warehouse.verify("sales")


def test_a_refresh_over_a_followed_table_is_all_or_nothing(
    spark: SparkSession, tmp_path: Path, connect_address: str
) -> None:
    """Killed at any step, it has recorded the old version of the table or the new one, and views with it."""
    source = tmp_path / "orders"
    appended(source, orders(range(10)))
    stale = vk.open(str(tmp_path / "warehouse"), spark=spark)
    stale.follow("orders", str(source), key=["id"])
    stale.create_view("totals", "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer")
    merged(source, orders(range(8, 15)))
    old, new = bag((n, 2) for n in range(5)), bag((n, 3) for n in range(5))
    died = steps_of(Path(stale.path), tmp_path, connect_address, "strict")
    assert len(died) >= 3
    for path in died:
        warehouse = vk.open(str(path), spark=spark)
        found = rows(warehouse.table("totals")), warehouse.table("orders").count()
        assert found in ((old, 10), (new, 15)), path.name
        warehouse.refresh()
        assert rows(warehouse.table("totals")) == new
    assert warehouse.verify("totals")
