"""Histories written by Spark with the JVM Delta connector: after each step views equal the query over the
table's newest version, as the writer reads it."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from interop.jvm import Writer

VIEWS = {
    "totals": "SELECT customer, COUNT(*) AS n, SUM(amount) AS t, MAX(id) AS m FROM orders GROUP BY customer",
    "big": "SELECT id, amount FROM orders WHERE amount > 500",
    "pairs": "SELECT a.id, b.amount FROM orders a JOIN orders b ON a.id = b.id + 1 WHERE a.status = 'new'",
}
SHAPES = {
    "plain": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "feed": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true')",
    "partitioned": "PARTITIONED BY (customer) TBLPROPERTIES ('delta.checkpointInterval' = '3')",
    "mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')",
}
STEPS = ("append", "merge", "update", "delete", "optimize", "add column", "widen", "restore", "vacuum")
ROUNDS = int(os.environ.get("VIEWKEEPER_ROUNDS", "6"))
"""So many refreshes over each shape, each after one to three steps."""

ROWS = (
    "SELECT id, CAST(id % 5 AS INT) AS customer, IF(id % 7 = 0, NULL, CAST(id * 10 AS INT)) AS amount,"
    " '{}' AS status FROM range({}, {})"
)


def bag(rows: Iterable[Iterable[Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


@pytest.mark.parametrize("shape", SHAPES)
def test_views_follow(warehouse: vk.Warehouse, writer: Writer, tmp_path: Path, shape: str) -> None:
    chance, path = random.Random(shape), tmp_path / "orders"
    table, done = f"delta.`{path}`", []
    columns = "id BIGINT, customer INT, amount INT, status STRING"
    writer.sql(f"CREATE TABLE {table} ({columns}) USING delta {SHAPES[shape]}")
    writer.sql(f"INSERT INTO {table} {ROWS.format('new', 0, 100)}")
    warehouse.follow("orders", str(path), key=["id"])
    for name, query in VIEWS.items():
        warehouse.create_view(name, query)
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(1, 4)):
            done.append(chance.choice(STEPS))
            step(chance, writer, table, done[-1])
        warehouse.refresh(check=1.0)
        for name, query in VIEWS.items():
            expected = writer.sql(query.replace("orders", table))
            assert bag(warehouse.table(name).collect()) == bag(expected), (name, done)
    assert {status.versions_behind for status in warehouse.status()} == {0}


def step(chance: random.Random, writer: Writer, table: str, kind: str) -> None:
    start = chance.randrange(200)
    end = start + chance.randrange(1, 20)
    columns = {row[0] for row in writer.sql(f"DESCRIBE {table}")}
    [[newest]] = writer.sql(f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table}")
    match kind:
        case "append":
            names = "(id, customer, amount, status)"
            writer.sql(f"INSERT INTO {table} {names} {ROWS.format('new', newest, newest + end - start)}")
        case "merge":
            given = ROWS.format("merged", start, end)
            sets = "customer = s.customer, amount = s.amount, status = s.status"
            writer.sql(
                f"MERGE INTO {table} t USING ({given}) s ON t.id = s.id"
                " WHEN MATCHED AND s.id % 3 = 0 THEN DELETE"
                f" WHEN MATCHED THEN UPDATE SET {sets}"
                " WHEN NOT MATCHED THEN INSERT (id, customer, amount, status)"
                " VALUES (s.id, s.customer, s.amount, s.status)"
            )
        case "update":
            writer.sql(
                f"UPDATE {table} SET amount = amount + 1, customer = 4 - customer WHERE id < {start % 30}"
            )
        case "delete":
            writer.sql(f"DELETE FROM {table} WHERE id >= {start} AND id < {end}")
        case "optimize":
            writer.sql(f"OPTIMIZE {table}")
        case "add column" if "note" not in columns:
            writer.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
        case "widen":
            writer.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
            writer.sql(f"ALTER TABLE {table} ALTER COLUMN amount TYPE BIGINT")
        case "restore":
            versions = [row[0] for row in writer.sql(f"DESCRIBE HISTORY {table}")]
            wanted = max(1, versions[0] - chance.randrange(3))
            if wanted in versions:
                restore(writer, table, wanted)
        case "vacuum":
            writer.sql(f"VACUUM {table} RETAIN 0 HOURS")


def restore(writer: Writer, table: str, version: int) -> None:
    """Restores a version, where its files are there and its columns are not narrower."""
    try:
        writer.sql(f"RESTORE {table} TO VERSION AS OF {version}")
    except RuntimeError as error:
        if "vacuum" not in str(error).lower() and "DELTA_" not in str(error):
            raise
