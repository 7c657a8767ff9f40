"""The command line against a real warehouse: what the in-memory double promises is so."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import viewkeeper as vk
from viewkeeper.cli import app, session


@pytest.fixture
def command(spark, tmp_path, monkeypatch):
    """Runs a command with --json on a warehouse in the tests' Spark session."""
    monkeypatch.setattr(session, "open_warehouse", lambda path: vk.open(path, spark=spark))
    monkeypatch.setenv("VIEWKEEPER_WAREHOUSE", str(tmp_path / "warehouse"))

    def run(*arguments: str, code: int = 0):
        result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == code, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    return run


def test_a_view_from_creation_to_verification(command):
    command("sql", "CREATE TABLE t (a INT, b STRING); INSERT INTO t VALUES (1, 'x'), (2, NULL)")
    command("sql", "CREATE MATERIALIZED VIEW v AS SELECT b, SUM(a) AS total FROM t GROUP BY b")
    command("sql", "INSERT INTO t VALUES (5, 'x')")
    [stale] = command("status")
    assert [(line["name"], line["stale"]) for line in stale] == [("t", False), ("v", True)]
    [report] = command("refresh")
    assert [entry["view"] for entry in report["views"]] == ["v"]
    [answer] = command("sql", "SELECT * FROM v ORDER BY total")
    assert answer == {
        "columns": ["b", "total"],
        "rows": [{"b": None, "total": 2}, {"b": "x", "total": 6}],
        "truncated": False,
    }
    [verified] = command("verify")
    assert [(line["view"], line["equal"]) for line in verified] == [("v", True)]
    [history] = command("history", "v")
    assert len(history) >= 2
    [compacted] = command("compact")
    assert compacted["version"] > history[-1]["version"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("sql", "SELECT * FROM nowhere"),
        ("sql", "SELEC 1"),
        ("sql", "SELECT 1 / 0"),
        ("refresh", "nowhere"),
        ("verify", "nowhere"),
        ("history", "nowhere"),
        ("explain", "nowhere"),
        ("compact", "nowhere"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_an_error_with_a_message(command, arguments):
    [answer] = command(*arguments, code=1)
    assert answer["error"]["message"]


def test_the_demo_at_a_small_size(command, tmp_path):
    [answer] = command("demo", "--rows", "3000", "--path", str(tmp_path / "demo"))
    assert answer["day"] == {"sold_today": 30, "sold_earlier": 6, "taken_back": 6}
    assert [line["equal"] for line in answer["verified"]] == [True] * 4
    assert {entry["view"] for entry in answer["report"]["views"]} == {
        "SID_sales",
        "sCD_sales",
        "SiC_sales",
        "sR_sales",
    }
