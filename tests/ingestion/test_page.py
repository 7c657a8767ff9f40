"""The examples of docs/streams.md are run, one after the other, as they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import run
from tests.warehouse.rows import bag, rows


def test_the_page_tells_what_happens(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "landing").mkdir()
    states = [
        (7, "Lyon", 1, "c"),
        (8, "Lille", 2, "c"),
        (7, "Paris", 3, "u"),
        (8, None, 9, "d"),
        (8, "Lille", 2, "c"),
    ]
    changes = [
        {"id": key, "name": "Ada", "city": city, "seq": seq, "op": op} for key, city, seq, op in states
    ]
    (tmp_path / "landing" / "1.json").write_text("\n".join(map(json.dumps, reversed(changes))))
    warehouse = run("streams.md", spark, tmp_path, monkeypatch)["wh"]
    assert rows(warehouse.table("customers")) == bag([(7, "Ada", "Lyon", 31)])
    assert rows(warehouse.table("cities")) == bag([("Paris", 1)]), "as of the stream's last batch"
    assert warehouse.table("orders").count() == 1
    history = warehouse.table("customer_history").select("id", "city", "valid_from", "valid_to", "is_current")
    assert rows(history) == bag(
        [(7, "Lyon", 1, 3, False), (7, "Paris", 3, None, True), (8, "Lille", 2, 9, False)]
    )
    warehouse.sql("INSERT INTO customer_changes VALUES (7, 'Ada', 'Nice', 2, 'u')")
    report = warehouse.refresh("customer_history", policy="strict")
    assert report.of("customer_history").strategy != "recompute"
    assert rows(warehouse.table("customer_history").where("id = 7").select("city", "valid_to")) == bag(
        [("Lyon", 2), ("Nice", 3), ("Paris", None)]
    )
