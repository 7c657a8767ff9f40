"""Runs the service until it is told to end."""

from __future__ import annotations

import signal

import uvicorn

from viewkeeper.errors import InvalidOption
from viewkeeper.serve.api import Service
from viewkeeper.serve.app import application
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.guard import Access
from viewkeeper.serve.keeper import Keeper
from viewkeeper.spark.session import SparkSession

LAST_ANSWERS = 5
"""Seconds that requests under way have when the service ends."""


def serve(
    path: str,
    spark: SparkSession,
    access: Access,
    host: str,
    port: int,
    poll: float,
    keep: bool = True,
    query_seconds: float = 60.0,
) -> None:
    """Answers requests and keeps views fresh; returns after SIGTERM or Ctrl-C, when what ran is finished."""
    desk = Desk(path, spark, query_seconds)
    service = Service(desk, Keeper(desk, poll) if keep else None, access)
    config = uvicorn.Config(
        application(service),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_ANSWERS,
    )
    server = uvicorn.Server(config)
    # The server passes the signal on when it has ended, and the process would die of it.
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: None)
    server.run()
    if not server.started:
        raise InvalidOption(
            f"The service cannot listen on {host}:{port}.", "Another process may.", "Choose another --port."
        )
