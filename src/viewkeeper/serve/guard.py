"""Who may ask a service what: requests from its own page and from programs, changes only with its token.

A page of another site that a user's browser opens must not reach a service on the same machine. It is known
by `Origin` and `Sec-Fetch-Site`, and where it has its name point to 127.0.0.1, by `Host`.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

LARGEST = 1_000_000
"""Bytes of a request."""


@dataclass(frozen=True)
class Access:
    """The names that the service answers to, and its token; without one nothing can be changed."""

    hosts: frozenset[str]
    token: str = ""

    def admits(self, host: str) -> bool:
        """Whether a `Host` header names the service."""
        return _name_of(host) in self.hosts

    def is_own(self, origin: str, host: str) -> bool:
        return urlsplit(origin).netloc.lower() == host.lower()

    def may_change(self, authorization: str) -> bool:
        kind, _, given = authorization.partition(" ")
        is_bearer = kind.lower() == "bearer"
        return bool(self.token) and is_bearer and hmac.compare_digest(given.encode(), self.token.encode())


def access(host: str, more: Iterable[str] = (), token: str = "") -> Access:
    """For a service that listens on `host`; the machine's own names are always its."""
    names = {"localhost", "127.0.0.1", "[::1]", *map(str.lower, more)}
    if not is_any(host):
        names.add(f"[{host}]" if ":" in host else host.lower())
    return Access(frozenset(names), token)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")


def _name_of(host: str) -> str:
    """The name in a `Host` header, without the port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.rpartition(":")[0] if ":" in name else name


class Guard:
    """Refuses what others' pages ask, before anything is looked at; and says to browsers what a page may."""

    def __init__(self, app: ASGIApp, allowed: Access) -> None:
        self.app, self.allowed = app, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)

    def _refused(self, headers: Headers) -> JSONResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.allowed.admits(host):
            return refusal(421, f"This service is not {host or 'nameless'}.", "Start it with --allow-host.")
        if origin is not None and not self.allowed.is_own(origin, host):
            return refusal(403, "Pages of other sites may not ask this service.")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return refusal(403, "Pages of other sites may not ask this service.")
        return None


def refusal(status: int, message: str, hint: str = "") -> JSONResponse:
    error = {"message": message, **({"hint": hint} if hint else {})}
    return JSONResponse({"error": error}, status_code=status)
