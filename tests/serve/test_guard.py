"""Who may ask a service what; no Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serve.ask import ask
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import ViewkeeperError
from viewkeeper.serve.api import Service
from viewkeeper.serve.app import application
from viewkeeper.serve.guard import access, is_loopback
from viewkeeper.serve.jobs import Job
from viewkeeper.sql.selects import checked_select

TOKEN = "correct horse battery"
WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}


class Entry:
    version = 7
    catalog = Catalog({"t": TableSchema("t", (Column("a", "int"),))})


class Double:
    """A desk at which refreshes are noted."""

    entry = Entry()

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def refresh(self, views: tuple[str, ...], policy: str | None, by: str) -> Job:
        self.asked.append((views, policy, by))
        return Job("refresh", views, by)


def service(token: str = TOKEN) -> tuple[Any, Double]:
    desk = Double()
    return application(Service(desk, None, access("127.0.0.1", ("views.example",), token))), desk  # type: ignore[arg-type]


def test_changes_need_the_token_and_reading_does_not():
    app, desk = service()
    assert ask(app, "/healthz").json == {"status": "ok", "version": 7}
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
        refused = ask(app, "/api/refresh", "POST", {}, headers)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert desk.asked == []
    assert ask(app, "/api/refresh", "POST", {}, WITH_TOKEN).json["state"] == "waiting"
    assert desk.asked == [((), None, "request")]


def test_without_a_token_nothing_can_be_changed():
    app, desk = service(token="")
    for headers in ({}, {"authorization": "Bearer "}, WITH_TOKEN):
        refused = ask(app, "/api/refresh", "POST", {}, headers)
        assert (refused.status, refused.json["error"]["message"]) == (403, "This service changes nothing.")
    assert desk.asked == []


FOREIGN = [
    {"host": "evil.example"},
    {"host": "127.0.0.1.evil.example:8084"},
    {"host": "169.254.169.254"},
    {"host": ""},
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:9999"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_other_sites_reach_nothing(headers: dict[str, str]):
    app, desk = service()
    for path, method in (("/api/refresh", "POST"), ("/healthz", "GET"), ("/", "GET"), ("/metrics", "GET")):
        assert ask(app, path, method, {}, {**WITH_TOKEN, **headers}).status in (403, 421)
    assert desk.asked == []


@pytest.mark.parametrize("host", ["localhost:8084", "127.0.0.1", "[::1]:8084", "views.example"])
def test_its_own_names_and_its_own_page_are_answered(host: str):
    app, _ = service()
    assert ask(app, "/healthz", headers={"host": host, "origin": f"http://{host}"}).status == 200


def test_the_page_may_do_nothing_but_ask_its_own_service():
    app, _ = service()
    found = ask(app, "/")
    assert found.headers["content-type"].startswith("text/html")
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert found.headers["x-content-type-options"] == "nosniff"


BAD = [
    (b"{", 400, "not JSON"),
    (b"[1]", 400, "not a JSON object"),
    ({"views": "v"}, 400, "list of names"),
    ({"views": ["nowhere"]}, 404, "no view named nowhere"),
    ({"views": ["../../etc"]}, 404, "no view named"),
    ({"policy": "reckless"}, 400, "reckless"),
]


@pytest.mark.parametrize(("body", "status", "words"), BAD, ids=[words for _, _, words in BAD])
def test_what_cannot_be_understood_is_told(body: Any, status: int, words: str):
    app, desk = service()
    found = ask(app, "/api/refresh", "POST", body, WITH_TOKEN)
    assert found.status == status
    assert words in found.json["error"]["message"]
    assert desk.asked == []


@pytest.mark.parametrize("path", ["/page/../api.py", "/page/%2e%2e/api.py", "/etc/passwd", "/api/nothing"])
def test_there_is_nothing_outside_of_the_page(path: str):
    app, _ = service()
    assert ask(app, path).status == 404


def test_every_endpoint_is_described():
    app, _ = service()
    paths = ask(app, "/openapi.json").json["paths"]
    assert paths["/api/refresh"]["post"]["security"] == [{"token": []}]
    assert {"/api/query", "/api/warehouse", "/api/runs/{id}/events", "/metrics", "/healthz"} <= paths.keys()


def test_a_body_that_is_no_json_by_its_type_is_refused():
    app, desk = service()
    found = ask(app, "/api/refresh", "POST", {}, {**WITH_TOKEN, "content-type": "text/plain"})
    assert (found.status, desk.asked) == (400, [])


def test_what_is_too_large_is_not_read():
    app, desk = service()
    headers = {**WITH_TOKEN, "content-length": "1000001"}
    assert ask(app, "/api/refresh", "POST", b" " * 1_000_001, headers).status == 413
    assert desk.asked == []


def test_loopback_is_known():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "192.168.1.1", "example.org")] == [False] * 3


FUNCTIONS = frozenset({"abs", "explode", "soundex", "transform", "reflect", "java_method"})
ALLOWED = [
    "SELECT a, COUNT(*) FROM t GROUP BY ALL HAVING SUM(a) > 1 ORDER BY a LIMIT 3",
    "WITH x AS (SELECT a FROM t) SELECT * FROM x JOIN t USING (a);",
    "VALUES (1), (2)",
    "SELECT transform(array(a), x -> x + 1) FROM t",
    "SELECT * FROM t LATERAL VIEW explode(array(a)) e",
]
LEAVING = [
    "SELECT * FROM parquet.`/etc/passwd`",
    "SELECT a FROM t WHERE a IN (SELECT 1 FROM csv.`/etc/passwd`)",
    "SELECT * FROM `json`.`s3://bucket/x`",
    "SELECT * FROM read_files('/etc')",
    "SELECT * FROM range(100000000000)",
    "SELECT * FROM IDENTIFIER('parquet.`/etc/passwd`')",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT `reflect` ('java.lang.System', 'getenv')",
    "SELECT system.builtin.java_method('java.lang.System', 'exit', 0)",
    "SELECT TRY_REFLECT/* */('java.lang.System', 'getenv')",
    r"SELECT r'\' , reflect('java.lang.System') , '' FROM t",
    "SELECT TRANSFORM(a) USING 'cat /etc/passwd' FROM t",
    "FROM t MAP a USING 'sh'",
    "SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '/etc/passwd'))",
    "SELECT input_file_name() FROM t",
    "SELECT unknown_function(a) FROM t",
    "SELECT '${env:HOME}'",
    "SET spark.sql.runSQLOnFiles = true",
    "ADD JAR '/tmp/x.jar'",
    "CREATE TABLE x (a INT)",
    "INSERT INTO t VALUES (1)",
    "DROP TABLE t",
    "REFRESH MATERIALIZED VIEW v",
    "DESCRIBE t",
    "CACHE TABLE t",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "SELECT 1; SELECT 2",
    "SELECT * FROM nowhere",
    "SELECT * FROM default.t",
    "",
]  # fmt: skip


@pytest.mark.parametrize("sql", ALLOWED)
def test_queries_over_the_warehouse_are_run(sql: str):
    assert checked_select(sql, Entry.catalog, FUNCTIONS) == sql.rstrip(";")


@pytest.mark.parametrize("sql", LEAVING)
def test_what_could_leave_the_warehouse_is_not_run(sql: str):
    with pytest.raises(ViewkeeperError):
        checked_select(sql, Entry.catalog, FUNCTIONS)
