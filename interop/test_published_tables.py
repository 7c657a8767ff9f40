"""Published tables are read by the JVM Delta connector, after every step of random changes."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

import viewkeeper as vk
from interop.jvm import Writer
from tests.streams.changes import Stream
from tests.streams.shapes import TABLES
from tests.streams.test_streams import apply

LAYOUTS: dict[str, dict[str, Any]] = {
    "vectors": {},
    "copy-on-write": {"mode": "copy-on-write"},
    "partitions": {"partition_by": ["store"], "cdf": True},
    "feed": {"mode": "copy-on-write", "cluster_by": ["q"], "cdf": True},
}
BASE = {
    "sales": TABLES["sales"],
    "items": "name STRING, kind STRING, cost DECIMAL(6,2)",
    "stores": "id INT NOT NULL, city STRING, region STRING, PRIMARY KEY (id)",
    "moves": "src INT, dst INT, amount BIGINT",
}
SUMS = "SELECT store, SUM(qty) AS q, MAX(day) AS d, COUNT(*) AS n FROM sales GROUP BY store"


def bag(rows: list[Any]) -> Counter[str]:
    return Counter(json.dumps(list(row), default=str) for row in rows)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_connector_sees_the_view_after_every_step(
    warehouse: vk.Warehouse, writer: Writer, layout: str
) -> None:
    stream = Stream(random.Random(layout))
    for name, columns in BASE.items():
        warehouse.sql(f"CREATE TABLE {name} ({columns})")
    apply(warehouse, stream.start())
    warehouse.create_view("sums", SUMS)
    place = warehouse.publish("sums", **LAYOUTS[layout])
    for _ in range(4):
        apply(warehouse, stream.batch())
        warehouse.refresh()
        found = writer.sql(f"SELECT store, q, d, n FROM delta.`{place}`")
        assert bag(found) == bag(warehouse.table("sums").select("store", "q", "d", "n").collect())
    if "cdf" in LAYOUTS[layout]:
        version = writer.sql(f"DESCRIBE HISTORY delta.`{place}` LIMIT 1")[0][0]
        changes = f"table_changes_by_path('{place}', 0, {version})"
        feed = writer.sql(f"SELECT store, n, _change_type FROM {changes}")
        state: Counter[str] = Counter()
        for *row, kind in feed:
            state[json.dumps(row)] += 1 if kind in ("insert", "update_postimage") else -1
        assert +state == bag(warehouse.table("sums").select("store", "n").collect())
