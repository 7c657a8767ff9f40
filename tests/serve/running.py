"""A small warehouse, and a service over it that listens, for tests that ask it from outside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.serve.ask import Answer, get
from tests.serve.shown import TOKEN, free_port
from viewkeeper.serve.api import Service
from viewkeeper.serve.app import application
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.guard import access
from viewkeeper.serve.keeper import Keeper


@dataclass
class Served:
    """A service that listens, and its warehouse by another session."""

    url: str
    wh: vk.Warehouse
    service: Service

    def get(self, path: str, body: Any = None, token: str = "") -> Answer:
        return get(f"{self.url}{path}", body, token)

    def ended(self, run: str) -> Any:
        """What a run came to."""
        return until(lambda: _over(self.get(f"/api/runs/{run}").json))


def _over(run: Any) -> Any:
    return run if run["state"] in ("done", "failed") else None


def until(found: Callable[[], Any], seconds: float = 120.0) -> Any:
    """What is found, as soon as it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError("it did not come")


def filled(path: str, spark: SparkSession) -> vk.Warehouse:
    """Two tables; a summary, one above it, rows, and a view that is never fresh by itself."""
    wh = vk.open(path, spark=spark)
    wh.sql("CREATE TABLE stores (storeID INT, city STRING, PRIMARY KEY (storeID))")
    wh.sql(
        "CREATE TABLE pos (storeID INT, item INT, qty INT, FOREIGN KEY (storeID) REFERENCES stores (storeID))"
    )
    with wh.transaction() as change:
        change.insert("stores", [(1, "Lyon"), (2, "Lille")])
        change.insert("pos", [(1 + n % 2, n % 3, n) for n in range(12)])
    wh.create_views(
        {
            "sales": "SELECT storeID, item, COUNT(*) AS n, SUM(qty) AS q FROM pos GROUP BY storeID, item",
            "cities": """SELECT city, COUNT(*) AS n, SUM(qty) AS q
                FROM pos JOIN stores USING (storeID) GROUP BY city""",
            "large": "SELECT storeID, qty FROM pos WHERE qty > 8",
        }
    )
    wh.sql("ALTER MATERIALIZED VIEW large SET TARGET_LAG = '1 second'")
    return wh


@contextmanager
def serving(path: str, spark: SparkSession) -> Iterator[Served]:
    """The service, in a thread of its own, until the block ends."""
    desk, port = Desk(path, spark.newSession(), query_seconds=600), free_port()
    service = Service(desk, Keeper(desk, poll=0.2), access("127.0.0.1", (), TOKEN))
    config = uvicorn.Config(application(service), port=port, log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield Served(f"http://127.0.0.1:{port}", vk.open(path, spark=spark), service)
    finally:
        server.should_exit = True
        thread.join()
