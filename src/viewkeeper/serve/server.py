"""Runs the service until it is told to end, and sees to it that it does."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from types import FrameType

import uvicorn
from starlette.concurrency import run_in_threadpool

from viewkeeper.errors import InvalidOption
from viewkeeper.serve.api import Service
from viewkeeper.serve.app import application, end
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.guard import Access
from viewkeeper.serve.keeper import Keeper
from viewkeeper.spark.session import SparkSession

LAST_ANSWERS = 5
"""Seconds that requests under way have when no job runs any more."""

LAST = 10.0
"""Seconds after the grace in which the process ends, whatever its threads wait for."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("viewkeeper.serve")


class Server(uvicorn.Server):
    """Answers while jobs have their grace, so that those who asked for them hear what came of them."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service
        self.was_told = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal ends the service in order; the next one is the system's, and ends it at once."""
        for one in SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        self.should_exit = self.was_told = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        grace = self.service.grace
        if self.was_told:
            _leave_after(grace + LAST)
        log.info("ending: what is running is finished first", extra={"grace_seconds": grace})
        await run_in_threadpool(end, self.service)
        await super().shutdown(sockets)


def _leave_after(seconds: float) -> None:
    """Ends the process then: threads that wait for Spark, a store or a client would keep it for as long."""
    last = threading.Timer(seconds, _leave)
    last.daemon = True
    last.start()


def _leave() -> None:
    log.warning("ended without what would not end")
    os._exit(0)


def serve(
    path: str,
    spark: SparkSession,
    access: Access,
    host: str,
    port: int,
    poll: float,
    keep: bool = True,
    query_seconds: float = 60.0,
    grace: float = 30.0,
) -> None:
    """Keeps views fresh and answers requests until SIGTERM or Ctrl-C."""
    desk = Desk(path, spark, query_seconds)
    answer(Service(desk, Keeper(desk, poll) if keep else None, access, grace), host, port)


def answer(service: Service, host: str, port: int) -> None:
    """Returns after SIGTERM or Ctrl-C, when what ran is finished or given up."""
    config = uvicorn.Config(
        application(service),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_ANSWERS,
    )
    server = Server(config, service)
    try:
        server.run()
    except SystemExit:
        if server.started:
            raise
        what = f"The service cannot listen on {host}:{port}."
        raise InvalidOption(what, "Another process may.", "Choose another --port.") from None
