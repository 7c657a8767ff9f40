"""The service as one ASGI application: the API, the page, and who may ask."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from viewkeeper.serve.api import ENDPOINTS, Service, answered, endpoint
from viewkeeper.serve.guard import LARGEST, Guard, refusal
from viewkeeper.serve.openapi import document

PAGE = Path(__file__).parent / "page"

MOMENT = 1.0
"""Seconds in which a keeper that has nothing to wait for ends its turn."""

log = logging.getLogger("viewkeeper.serve")


def application(service: Service) -> Starlette:
    """Begins to keep views fresh when it starts; when it ends, what runs may finish first."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        if service.keeper is not None:
            service.keeper.start()
        log.info("serving", extra={"warehouse": service.desk.log.folder.url})
        yield
        await run_in_threadpool(end, service)
        await run_in_threadpool(service.desk.leave)

    guard = Middleware(Guard, allowed=service.access)
    handlers: Any = {404: _missing, 405: _missing, 500: _broken}
    return Starlette(
        routes=_routes(service),
        middleware=[guard],
        lifespan=life,
        exception_handlers=handlers,
        max_body_size=LARGEST,
    )


def end(service: Service) -> None:
    """Nothing begins any more, and what runs has its grace. To say it again changes nothing."""
    if service.keeper is not None:
        service.keeper.end(0)
    service.desk.end(service.grace)
    if service.keeper is not None:
        service.keeper.end(MOMENT)


def _routes(service: Service) -> list[BaseRoute]:
    api = [Route(one.path, endpoint(service, one), methods=[one.method]) for one in ENDPOINTS]

    async def described(_: Request) -> Response:
        return answered(document())

    def page(name: str) -> Any:
        async def found(_: Request) -> Response:
            return FileResponse(PAGE / name, media_type="text/html")

        return found

    return [
        *api,
        Route("/openapi.json", described),
        Route("/docs", page("docs.html")),
        Route("/", page("index.html")),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]


def _missing(_: Request, __: Exception) -> Response:
    return refusal(404, "There is nothing here.", "/docs has the list of what can be asked.")


def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error, extra={"path": request.url.path})
    return refusal(500, "Something went wrong here; the log of the service says what.")
