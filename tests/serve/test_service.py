"""A service over a small warehouse on Spark, asked by HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.serve.running import Served, filled, serving, until
from tests.serve.shown import TOKEN
from tests.sizes import SIZES
from viewkeeper.cli import app

READERS = 50


@pytest.fixture(scope="module")
def served(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = str(tmp_path_factory.mktemp("served") / "warehouse")
    filled(path, spark)
    with serving(path, spark) as running:
        yield running


def relations(served: Served) -> dict[str, Any]:
    return {one["name"]: one for one in served.get("/api/warehouse").json["relations"]}


def test_what_it_tells_is_what_the_warehouse_tells(served: Served):
    told = relations(served)
    for one in served.wh.status():
        same = {"kind", "stale", "main_rows", "layers", "target"}
        assert {key: told[one.name][key] for key in same} == {key: one.to_dict()[key] for key in same}
    found = served.get("/api/relations/sales").json
    assert [column["name"] for column in found["columns"]] == ["storeID", "item", "n", "q"]
    assert served.get("/api/relations/sales/rows?limit=2").json["truncated"]
    assert served.get("/api/relations/nowhere").status == 404
    assert served.get("/api/views/sales/history").json[0]["report"]["strategy"] == "recompute"
    edges = served.get("/api/lineage").json["edges"]
    assert {"from": "pos", "to": "cities"} in edges
    metrics = served.get("/metrics").text
    assert re.search(r'viewkeeper_rows\{name="sales",kind="view"\} 6\n', metrics)
    assert 'viewkeeper_target_lag_seconds{view="large"} 1\n' in metrics
    step = served.get("/api/views/cities/explain").json["steps"][0]
    assert step["reads"]
    assert step["rule"]


def test_queries_say_which_view_answered_and_go_nowhere_else(served: Served):
    found = served.get("/api/query", {"sql": "SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID"}).json
    assert sorted(found["rows"]) == [[1, 30], [2, 36]]
    assert found["answered"]["view"] == "sales", found["answered"]
    few = served.get("/api/query", {"sql": "SELECT * FROM pos", "limit": 5}).json
    assert (len(few["rows"]), few["truncated"]) == (5, True)
    nan = served.get("/api/query", {"sql": "SELECT double('NaN') AS x, NULL AS y FROM stores"}).json
    assert nan["rows"] == [["nan", None], ["nan", None]]
    for sql in (
        "SELECT * FROM parquet.`/etc`",
        "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        "DROP TABLE pos",
    ):
        assert served.get("/api/query", {"sql": sql}).status == 400
    wrong = served.get("/api/query", {"sql": "SELECT nothing FROM pos"}).json["error"]
    assert "nothing" in wrong["message"] + wrong["detail"]


def test_views_keep_themselves_fresh_and_failures_hold_nobody_back(served: Served, monkeypatch: Any):
    keeper, refreshed = served.service.keeper, served.service.desk.refreshed
    assert keeper is not None
    served.wh.sql("ALTER MATERIALIZED VIEW sales SET TARGET_LAG = '1 second'")

    def refuse_sales(views: tuple[str, ...], policy: str | None, tell: Any) -> Any:
        if "sales" in views:
            raise OverflowError("sales cannot be refreshed today")
        return refreshed(views, policy, tell)

    monkeypatch.setattr(served.service.desk, "refreshed", refuse_sales)
    before = relations(served)["large"]["last"]["version"]
    served.wh.sql("INSERT INTO pos VALUES (1, 1, 9)")
    until(
        lambda: (
            relations(served)["large"]["last"]["version"] > before and not relations(served)["large"]["stale"]
        )
    )
    failing = until(lambda: relations(served)["sales"]["failing"])
    assert failing == "sales cannot be refreshed today"
    failures = [one for one in served.get("/api/views/sales/history").json if one["failure"]]
    assert failures[0]["operation"] == "refresh failed"
    monkeypatch.undo()
    keeper.seen["sales"].failed = None
    until(lambda: not relations(served)["sales"]["stale"])
    assert relations(served)["sales"]["failing"] == ""
    served.wh.sql("ALTER MATERIALIZED VIEW sales UNSET TARGET_LAG")


def test_a_refresh_tells_its_progress_and_verify_its_verdict(served: Served, monkeypatch: Any):
    served.wh.sql("INSERT INTO pos VALUES (2, 2, 1)")
    assert served.get("/api/refresh", {"views": ["cities"]}).status == 401
    run = served.get("/api/refresh", {"views": ["cities"]}, TOKEN).json
    events = served.get(f"/api/runs/{run['id']}/events").text
    assert 'event: progress\ndata: {"stage": "refresh"' in events
    assert events.rstrip().rpartition("event: end\n")[2].startswith("data: {")
    done = served.ended(run["id"])
    assert [one["view"] for one in done["result"]["views"]] == ["cities"]
    assert served.ended(served.get("/api/verify", {"view": "cities"}).json["id"])["state"] == "done"

    served.wh.sql("INSERT INTO pos VALUES (2, 2, 1)")
    monkeypatch.setenv("VIEWKEEPER_TOKEN", TOKEN)
    found = CliRunner().invoke(app, ["refresh", "cities", "--via", served.url, "--json"])
    assert (found.exit_code, '"view": "cities"' in found.output) == (0, True)
    monkeypatch.setenv("VIEWKEEPER_TOKEN", "wrong")
    assert CliRunner().invoke(app, ["refresh", "--via", served.url]).exit_code == 1


def test_readers_see_one_state_while_views_are_refreshed(served: Served):
    """Two views that are refreshed together always agree, whoever reads while they are."""
    sql = "SELECT (SELECT SUM(n) FROM sales) AS a, (SELECT SUM(n) FROM cities) AS b"
    end, torn = monotonic() + SIZES.load, []

    def read() -> int:
        number = 0
        while monotonic() < end or not number:
            answer = served.get("/api/query", {"sql": sql})
            if answer.status != 200 or len(set(answer.json["rows"][0])) != 1:
                torn.append(answer.body)
            number += 1
        return number

    served.ended(served.get("/api/refresh", {}, TOKEN).json["id"])
    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(read) for _ in range(READERS)]
        while monotonic() < end:
            served.wh.sql("INSERT INTO pos VALUES (1, 0, 1)")
            run = served.get("/api/refresh", {"views": ["sales", "cities"]}, TOKEN).json
            assert served.ended(run["id"])["state"] == "done"
        assert all(reader.result() for reader in readers)
    assert torn == []
