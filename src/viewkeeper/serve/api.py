"""The HTTP API: each endpoint is a line of a table, from which routes and the OpenAPI page are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import view_named
from viewkeeper.errors import ConflictError, InvalidOption, NotFound, UnknownTable, ViewkeeperError
from viewkeeper.plain import finite, plain, told
from viewkeeper.planning.planner import checked_policy
from viewkeeper.serve.desk import Desk
from viewkeeper.serve.events import events
from viewkeeper.serve.guard import Access, refusal
from viewkeeper.serve.jobs import Job
from viewkeeper.serve.keeper import Keeper
from viewkeeper.serve.metrics import of_warehouse
from viewkeeper.serve.overview import lineage, overview, relation, told_history

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Service:
    """What endpoints work with."""

    desk: Desk
    keeper: Keeper | None
    access: Access
    grace: float = 30.0
    """Seconds that what runs has to finish when the service ends."""

    @property
    def may_change(self) -> bool:
        return bool(self.access.token)


@dataclass(frozen=True)
class Asked:
    """One request: the names in its path, what follows the question mark, and its body."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]

    def limit(self, given: Any, default: int) -> int:
        """So many rows at most."""
        try:
            number = int(default if given is None else given)
        except (TypeError, ValueError):
            number = 0
        if not 1 <= number <= MOST_ROWS:
            raise InvalidOption(f"limit cannot be {given!r}.", f"It is from 1 to {MOST_ROWS}.")
        return number


Handler = Callable[[Service, Asked], Any]


@dataclass(frozen=True)
class Endpoint:
    """What can be asked: `parameters` follow the question mark, `body` are the fields of a JSON object, each
    with what it means. `changes`: the token is needed."""

    method: str
    path: str
    handler: Handler
    summary: str
    parameters: Mapping[str, str]
    body: Mapping[str, str]
    changes: bool = False


def warehouse(service: Service, asked: Asked) -> Any:
    return overview(service.desk, service.keeper, service.may_change)


def status(service: Service, asked: Asked) -> Any:
    return overview(service.desk, service.keeper, service.may_change)["relations"]


def one_relation(service: Service, asked: Asked) -> Any:
    return relation(service.desk, service.keeper, asked.path["name"])


def rows(service: Service, asked: Asked) -> Any:
    return service.desk.rows(asked.path["name"], asked.limit(asked.query.get("limit"), 50))


def view_history(service: Service, asked: Asked) -> Any:
    return told_history(service.desk, asked.path["name"])


def explain(service: Service, asked: Asked) -> Any:
    return service.desk.explain(_view(service, asked.path["name"])).to_dict()


def lattice(service: Service, asked: Asked) -> Any:
    return service.desk.lattice(service.desk.entry)


def whole_lineage(service: Service, asked: Asked) -> Any:
    return lineage(service.desk)


def refresh(service: Service, asked: Asked) -> Any:
    views, policy = asked.body.get("views") or [], asked.body.get("policy")
    if not isinstance(views, list) or not all(isinstance(one, str) for one in views):
        raise InvalidOption("views is a list of names.", hint='{"views": ["v"]}')
    checked_policy("auto" if policy is None else str(policy))
    names = tuple(_view(service, one) for one in views)
    return service.desk.refresh(names, policy, "request").to_dict()


def verify(service: Service, asked: Asked) -> Any:
    view = _view(service, str(asked.body.get("view", "")))
    return service.desk.verify(view, "request").to_dict()


def query(service: Service, asked: Asked) -> Any:
    limit = asked.limit(asked.body.get("limit"), 100)
    return service.desk.query(str(asked.body.get("sql", "")), limit)


def runs(service: Service, asked: Asked) -> Any:
    return [run.to_dict() for run in service.desk.jobs]


def one_run(service: Service, asked: Asked) -> Any:
    return _run(service, asked).to_dict()


def run_events(service: Service, asked: Asked) -> Any:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events(_run(service, asked)), media_type="text/event-stream", headers=headers)


def metrics(service: Service, asked: Asked) -> Any:
    told = of_warehouse(overview(service.desk, service.keeper, service.may_change))
    return PlainTextResponse(told, media_type="text/plain; version=0.0.4")


def health(service: Service, asked: Asked) -> Any:
    return {"status": "ok", "version": service.desk.entry.version}


def _view(service: Service, name: str) -> str:
    """The view of this name, as its users spell it: nothing else that a request says is handed on."""
    return shown(view_named(service.desk.entry.catalog, name).name)


def _run(service: Service, asked: Asked) -> Job:
    found = service.desk.jobs.get(asked.path["id"])
    if found is None:
        raise NotFound(f"There is no run {asked.path['id']}.", hint="Old ones are forgotten.")
    return found


_ROWS = {"limit": f"how many rows at most, from 1 to {MOST_ROWS}"}
_REFRESH = {
    "views": "names of views; all that are stale where it is left out",
    "policy": "auto, incremental, strict or full",
}
_QUERY = {"sql": "a SELECT over tables and views of the warehouse", **_ROWS}

ENDPOINTS = (
    Endpoint("GET", "/api/warehouse", warehouse, "The warehouse at a glance", {}, {}),
    Endpoint("GET", "/api/status", status, "Where every table and view stands", {}, {}),
    Endpoint("GET", "/api/relations/{name}", one_relation, "A table or view", {}, {}),
    Endpoint("GET", "/api/relations/{name}/rows", rows, "Some rows of a table or view", _ROWS, {}),
    Endpoint("GET", "/api/views/{name}/history", view_history, "What each refresh of a view did", {}, {}),
    Endpoint("GET", "/api/views/{name}/explain", explain, "How a view is maintained", {}, {}),
    Endpoint("GET", "/api/lattice", lattice, "Which views derive which", {}, {}),
    Endpoint("GET", "/api/lineage", whole_lineage, "What reads what, and the last refresh", {}, {}),
    Endpoint("POST", "/api/refresh", refresh, "Begin a refresh", {}, _REFRESH, True),
    Endpoint("POST", "/api/verify", verify, "Begin to verify a view", {}, {"view": "its name"}),
    Endpoint("POST", "/api/query", query, "Run a query", {}, _QUERY),
    Endpoint("GET", "/api/runs", runs, "Refreshes and verifications, the newest first", {}, {}),
    Endpoint("GET", "/api/runs/{id}", one_run, "Where one of them stands", {}, {}),
    Endpoint("GET", "/api/runs/{id}/events", run_events, "Its progress, as server-sent events", {}, {}),
    Endpoint("GET", "/metrics", metrics, "Metrics for Prometheus", {}, {}),
    Endpoint("GET", "/healthz", health, "Whether the service is alive", {}, {}),
)


def endpoint(service: Service, one: Endpoint) -> Callable[[Request], Any]:
    """The endpoint as Starlette calls it: changes need the token; errors become answers."""

    async def answer(request: Request) -> Response:
        if one.changes and not service.access.may_change(request.headers.get("authorization", "")):
            return _no_token(service)
        try:
            body = await _body(request) if one.method == "POST" else {}
            asked = Asked(request.path_params, request.query_params, body)
            found = await run_in_threadpool(one.handler, service, asked)
            return found if isinstance(found, Response) else answered(found)
        except ViewkeeperError as error:
            return answered({"error": told(error)}, _status_of(error))

    return answer


def _no_token(service: Service) -> Response:
    if not service.may_change:
        return refusal(403, "This service changes nothing.", "Start it with a token (--token-file).")
    found = refusal(401, "The token is needed for this.", "Send it as Authorization: Bearer ….")
    found.headers["www-authenticate"] = "Bearer"
    return found


async def _body(request: Request) -> Mapping[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InvalidOption("The body is not JSON.", hint="Send content-type: application/json.")
    try:
        found = json.loads(await request.body() or b"{}")
    except ValueError as error:
        raise InvalidOption("The body is not JSON.", str(error)) from error
    if not isinstance(found, dict):
        raise InvalidOption("The body is not a JSON object.", hint='Send for example {"views": ["v"]}.')
    return found


def answered(value: Any, status_code: int = 200) -> Response:
    content = json.dumps(finite(value), default=plain, ensure_ascii=False, allow_nan=False)
    return Response(content, status_code, media_type="application/json")


def _status_of(error: ViewkeeperError) -> int:
    if isinstance(error, NotFound | UnknownTable):
        return 404
    return 409 if isinstance(error, ConflictError) else 400
