from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

from viewkeeper.cli import progress


def test_refresh_reports_each_view(run, warehouse):
    result = run("refresh", "v")
    words = result.stdout.split()
    assert result.exit_code == 0
    assert words[:7] == ["view", "strategy", "rows", "read", "rows", "written", "seconds"]
    assert result.stdout.splitlines()[-1] == "version 8, 4 Spark actions, propagate 0.50 s, refresh 0.25 s"
    assert warehouse.log[1] == ("refresh", ("v",), None)


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ((), ((), None)),
        (("--full",), ((), "full")),
        (("v", "w", "--policy", "strict"), (("v", "w"), "strict")),
        (("--full", "--policy", "full"), ((), "full")),
    ],
)
def test_refresh_passes_views_and_policy_on(run, warehouse, arguments, asked):
    assert run("refresh", *arguments).exit_code == 0
    assert warehouse.log[1] == ("refresh", *asked)


@pytest.mark.parametrize(
    "arguments", [("--full", "--policy", "strict"), ("--policy", "lazy"), ("--nonsense",)]
)
def test_refresh_with_wrong_usage(run, warehouse, arguments):
    assert run("refresh", *arguments).exit_code == 2
    assert warehouse.log == []


def test_refresh_as_json(run):
    answer = json.loads(run("refresh", "v", "--json").stdout)
    assert answer["version"] == 8
    assert answer["views"][0]["reason"] == {"code": "cheapest", "sentence": "it reads the fewest rows"}


def test_refresh_with_nothing_to_do(run, warehouse):
    warehouse.views = []
    assert run("refresh").stdout == "Every view is up to date.\n"


def test_status(run, warehouse):
    rows = [line.split() for line in run("status").stdout.splitlines() if line.strip()]
    assert rows[0] == ["name", "version", "kind", "commits", "behind"]
    assert rows[2:] == [["t", "7", "table", "0"], ["v", "7", "view", "0"], ["w", "7", "view", "0"]]
    assert json.loads(run("status", "--json").stdout)[1]["name"] == "v"
    warehouse.tables, warehouse.views = [], []
    assert run("status", "-w", "here").stdout == "The warehouse here is empty.\n"


def test_history(run):
    assert [line["version"] for line in json.loads(run("history", "v", "--json").stdout)] == [6, 7]
    missing = run("history", "x", "--json")
    assert missing.exit_code == 1
    assert json.loads(missing.stdout) == {
        "error": {"type": "NotFound", "message": "There is no view x.", "view": "x"}
    }


def test_history_shows_what_was_chosen_and_what_it_was_expected_to_cost(run):
    words = run("history", "v").stdout.split()
    assert {"counting", "0.25", "0.5", "recompute", "(2"} <= set(words)


def test_explain_shows_the_choice_its_alternatives_and_the_script(run):
    shown = run("explain", "v").stdout
    words = " ".join(shown.split())
    assert shown.startswith("v: counting\n")
    for part in (
        "recompute",
        "1,000 rows read",
        "[no-key]",
        "keeps __v_1 (7 rows)",
        "SELECT a FROM t__delta",
    ):
        assert part in words
    assert "last: counting in 0.25 s; 12 rows read, 3 written" in words
    assert json.loads(run("explain", "v", "--json").stdout)["expected"]["recompute"]["seconds"] == 2.0


def test_verify_measures_when_asked(run):
    shown = " ".join(run("verify", "v", "--measure").stdout.split())
    assert "1.20 times the fastest" in shown
    assert "counting (chosen)" in shown
    answer = json.loads(run("verify", "v", "--measure", "--json").stdout)
    assert [one["strategy"] for one in answer[0]["measured"]["results"]] == ["counting", "recompute"]


def test_verify_all_views(run, warehouse):
    assert run("verify").stdout == "v: equal\nw: equal\n"
    warehouse.views = []
    assert run("verify").stdout == "There are no views to verify.\n"


def test_verify_shows_differing_rows_and_exits_with_3(run, warehouse):
    warehouse.wrong = {"w"}
    result = run("verify", "v", "w")
    assert result.exit_code == 3
    assert "w: different" in result.stdout.splitlines()
    assert [line.split() for line in result.stdout.splitlines()][2:] == [
        ["missing:", "in", "the", "answer,", "but", "not", "in", "the", "view"],
        [],
        ["a", "b"],
        ["─" * 8],
        ["1", "NULL"],
        [],
        ["no", "row", "is", "extra"],
    ]
    answer = run("verify", "w", "--json")
    assert answer.exit_code == 3
    [told] = json.loads(answer.stdout)
    assert (told["view"], told["equal"], told["verdict"]) == ("w", False, "different")
    assert (told["missing"], told["extra"]) == ([{"a": 1, "b": None}], [])


def test_extend_shows_the_lattice_that_comes_of_it(run, warehouse):
    assert run("extend").stdout == "Version 9. The lattice is now:\nv  (a)\n"
    assert run("extend", "--json").stdout == '{"version": 9, "lattice": {"views": ["v"]}}\n'
    assert warehouse.log.count(("extend",)) == 2


def test_compact_named_or_all(run, warehouse):
    assert run("compact", "t", "v").stdout == "Compacted t, v: version 9.\n"
    assert run("compact").stdout == "Compacted all tables and views: version 9.\n"
    assert run("compact", "--json").stdout == '{"version": 9}\n'
    assert [entry[1] for entry in warehouse.log if entry[0] == "compact"] == [("t", "v"), (), ()]


def test_the_warehouse_may_come_from_the_environment(run, warehouse, monkeypatch):
    run("status")
    monkeypatch.setenv("VIEWKEEPER_WAREHOUSE", "elsewhere")
    run("status")
    run("status", "-w", "here")
    opened = [entry[1] for entry in warehouse.log if entry[0] == "open"]
    assert opened == ["warehouse", "elsewhere", "here"]


def test_help_lists_commands_and_exit_codes(run):
    result = run("--help")
    commands = {
        line.split()[1]
        for line in result.stdout.splitlines()
        if line.startswith("│ ") and len(line.split()) > 1
    }
    assert {
        "sql",
        "refresh",
        "status",
        "history",
        "verify",
        "compact",
        "explain",
        "demo",
        "bench",
    } <= commands
    assert "Exit codes" in result.stdout


def test_importing_the_command_line_starts_no_spark():
    check = "import viewkeeper.cli, pyspark.sql; print(pyspark.sql.SparkSession.getActiveSession())"
    result = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True)
    assert result.stdout == "None\n"


@dataclass
class Event:
    stage: str
    detail: str
    done: int
    total: int


def test_no_progress_bars_where_nobody_looks(run, warehouse):
    run("refresh")
    assert warehouse.on_progress is None


def test_progress_bars_on_a_terminal(monkeypatch, capsys):
    from rich.console import Console

    monkeypatch.setattr(progress, "stderr", lambda: Console(stderr=True, force_terminal=True, width=100))
    with progress.bars(visible=True) as listen:
        assert listen is not None
        listen(Event("propagate", "[v]", 1, 4))
        listen(Event("propagate", "w", 4, 4))
    drawn = capsys.readouterr().err
    assert "propagate w" in drawn
    assert "4/4" in drawn
    with progress.bars(visible=False) as listen:
        assert listen is None


def test_explain_draws_the_lattice(run, tmp_path):
    svg, mermaid = tmp_path / "lattice.svg", tmp_path / "lattice.mmd"
    assert run("explain", "--lattice").stdout == "v  (a)\n"
    assert run("explain", "--svg", str(svg), "--mermaid", str(mermaid)).exit_code == 0
    assert (svg.read_text(), mermaid.read_text()) == ("<svg/>", "flowchart TD")
    assert json.loads(run("explain", "--lattice", "--json").stdout) == {"views": ["v"]}
    assert run("explain").exit_code == 2
    assert run("explain", "v", "--lattice").exit_code == 2
