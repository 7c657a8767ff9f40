"""Asks an ASGI application, or a service that runs, without a library for it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(
    app: Any, target: str, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request to an application, within this process."""
    given = {"host": "127.0.0.1:8084", "content-type": "application/json", **(headers or {})}
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = urlsplit(target)
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http",
        "path": parts.path, "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    sent: list[Any] = []
    begun: list[bool] = []

    async def receive() -> Any:
        if begun:
            await asyncio.Event().wait()  # the client stays
        begun.append(True)
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    start = next(one for one in sent if one["type"] == "http.response.start")
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], told, b"".join(one.get("body", b"") for one in sent))


def get(url: str, body: Any = None, token: str = "") -> Answer:
    """One request to a service that listens."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"content-type": "application/json"})
    if token:
        request.add_header("authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=600) as found:
            return Answer(found.status, dict(found.headers), found.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, dict(error.headers), error.read())
