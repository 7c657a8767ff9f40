"""Has a running service refresh views, in its warm session; the token is that of `VIEWKEEPER_TOKEN`."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from viewkeeper.cli.progress import Listener
from viewkeeper.errors import InvalidOption, ViewkeeperError

TOKEN = "VIEWKEEPER_TOKEN"


@dataclass(frozen=True)
class Told:
    """Where the work of a service stands."""

    stage: str
    detail: str
    done: int
    total: int


def refreshed_via(
    url: str, views: Sequence[str], policy: str | None, listener: Listener | None
) -> Mapping[str, Any]:
    """The report of a refresh that the service at `url` has done."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidOption(f"{url!r} is no address of a service.", hint="http://127.0.0.1:8084")
    base = url.rstrip("/")
    run = _asked(f"{base}/api/refresh", {"views": list(views), "policy": policy})
    for kind, data in _events(f"{base}/api/runs/{run['id']}/events"):
        if kind == "progress" and listener is not None:
            listener(Told(**data))
        elif kind == "end":
            run = data
    if run["state"] != "done":
        raise _error(run.get("error") or {"message": "The service ended before the refresh did."})
    report: Mapping[str, Any] = run["result"]
    return report


def _asked(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get(TOKEN, '')}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with _opened(request) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def _events(url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Server-sent events, as kind and data."""
    kind = ""
    with _opened(urllib.request.Request(url)) as answer:
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, json.loads(value)


def _opened(request: urllib.request.Request) -> Any:
    try:
        return urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        try:
            told = json.loads(error.read())["error"]
        except (ValueError, KeyError):
            told = {"message": f"The service answered {error.code}."}
        raise _error(told) from error
    except OSError as error:
        what = f"There is no service at {request.full_url.partition('/api/')[0]}."
        raise ViewkeeperError(what, str(error), "Start it: viewkeeper serve") from error


def _error(told: Mapping[str, Any]) -> ViewkeeperError:
    hint = told.get("hint", "")
    if told.get("message", "").startswith("The token"):
        hint = f"Set {TOKEN}."
    return ViewkeeperError(told["message"], told.get("detail", ""), hint, code=told.get("code"))
