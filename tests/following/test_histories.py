"""Random histories of a table that others write: after each step views equal the query over its newest
version."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import viewkeeper as vk
from tests.following.source import appended, merged, orders
from tests.sizes import SIZES
from tests.warehouse.rows import rows

VIEWS = {
    "totals": "SELECT customer, COUNT(*) AS n, SUM(amount) AS t, MAX(id) AS m FROM orders GROUP BY customer",
    "big": "SELECT id, amount FROM orders WHERE amount > 500",
    "pairs": "SELECT a.id, b.amount FROM orders a JOIN orders b ON a.id = b.id + 1 WHERE a.status = 'new'",
}
SHAPES = {
    "plain": {},
    "partitioned": {"partition_by": ["customer"]},
    "with a change feed": {"configuration": {"delta.enableChangeDataFeed": "true"}},
}
STEPS = (
    *("append", "merge", "update", "delete", "optimize", "restore", "overwrite", "checkpoint", "nothing"),
    *("column", "vacuum"),
)
"""A column that is added stays NULL in what other steps write; after VACUUM some versions cannot be read."""


@pytest.mark.parametrize("shape", SHAPES)
def test_views_follow(warehouse: vk.Warehouse, tmp_path: Path, shape: str) -> None:
    chance, path = random.Random(shape), tmp_path / "orders"
    write_deltalake(str(path), orders(range(100)), **SHAPES[shape])
    warehouse.follow("orders", str(path), key=["id"])
    for name, query in VIEWS.items():
        warehouse.create_view(name, query)
    done = []
    for _ in range(3 if SIZES.short else 5):
        for _ in range(chance.randrange(1, 3)):
            done.append(chance.choice(STEPS))
            step(chance, path, done[-1])
        warehouse.refresh(check=1.0 if SIZES.checked else None)
        newest = warehouse.spark.createDataFrame(DeltaTable(str(path)).to_pyarrow_table())
        for name, query in VIEWS.items():
            text = query.replace("orders", "{newest}")
            expected = warehouse.spark.sql(text, newest=newest)
            assert rows(warehouse.table(name)) == rows(expected), (name, done)
    assert {status.versions_behind for status in warehouse.status()} == {0}


def step(chance: random.Random, path: Path, kind: str) -> None:
    table, start = DeltaTable(str(path)), chance.randrange(200)
    some = range(start, start + chance.randrange(1, 20))
    match kind:
        case "append":
            appended(path, orders(new_ids(table, len(some))), schema_mode="merge")
        case "column":
            new = orders(new_ids(table, 3))
            appended(path, new.append_column("note", pa.array(["new"] * 3)), schema_mode="merge")
        case "merge":
            merged(path, orders(some, "merged"))
        case "update":
            table.update(predicate=f"id < {start % 30}", updates={"amount": "amount + 1"})
        case "delete":
            table.delete(f"id >= {some.start} AND id < {some.stop}")
        case "optimize":
            table.optimize.compact()
        case "restore":
            restore(table, max(0, table.version() - chance.randrange(3)))
        case "overwrite":
            write_deltalake(str(path), orders(some), mode="overwrite", schema_mode="overwrite")
        case "checkpoint":
            table.create_checkpoint()
        case "vacuum":
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def new_ids(table: DeltaTable, number: int) -> range:
    newest = max(table.to_pyarrow_table().column("id").to_pylist(), default=0)
    return range(newest + 1, newest + 1 + number)


def restore(table: DeltaTable, version: int) -> None:
    """Restores an earlier version, unless VACUUM has taken its files."""
    files = {Path(file) for file in DeltaTable(table.table_uri, version=version).file_uris()}
    if version < table.version() and all(file.exists() for file in files):
        table.restore(version)
