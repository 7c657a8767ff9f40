"""Debezium's messages through Kafka into a table, over several runs of the query."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import viewkeeper as vk
from interop.broker import broker
from interop.test_delta_histories import bag

TOPIC = "shop.customers"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def test_a_topic_is_followed(warehouse: vk.Warehouse, address: str) -> None:
    warehouse.sql("CREATE TABLE customers (id INT PRIMARY KEY, city STRING)")
    warehouse.create_view("cities", "SELECT city, COUNT(*) AS n FROM customers GROUP BY city")
    chance, rows, lsn = random.Random(1), dict[int, str](), 0
    for _ in range(3):
        messages: list[tuple[str, str | None]] = []
        for _ in range(30):
            lsn += 1
            messages += event(chance, rows, lsn)
        send(warehouse, address, messages)
        stream = warehouse.spark.readStream.format("kafka").options(
            **{"kafka.bootstrap.servers": address, "subscribe": TOPIC, "startingOffsets": "earliest"}
        )
        query = warehouse.ingest(
            stream.load().select("key", "value"),
            *("customers", "cdc"),
            order="source.lsn",
            envelope="debezium",
            refresh=True,
            trigger={"availableNow": True},
        )
        assert query.awaitTermination(180)
        assert bag(warehouse.table("customers").collect()) == bag(rows.items())
        assert warehouse.verify("cities")


def event(chance: random.Random, rows: dict[int, str], lsn: int) -> list[tuple[str, str | None]]:
    """What Debezium sends of one change; a deletion is followed by a tombstone."""
    key = chance.randrange(10)
    before = {"id": key, "city": rows[key]} if key in rows else None
    after = None if before and chance.random() < 0.3 else {"id": key, "city": chance.choice(["a", "b", "ä"])}
    told: dict[str, Any] = {"before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": lsn}
    told["op"] = "d" if after is None else "c" if before is None else "u"
    name = json.dumps({"id": key})
    if after is None:
        del rows[key]
        return [(name, json.dumps(told)), (name, None)]
    rows[key] = after["city"]
    return [(name, json.dumps(told))]


def send(warehouse: vk.Warehouse, address: str, messages: list[tuple[str, str | None]]) -> None:
    frame = warehouse.spark.createDataFrame(messages, "key STRING, value STRING")
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", address)
    writer.option("topic", TOPIC).save()
