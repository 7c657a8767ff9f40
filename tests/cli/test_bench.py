from __future__ import annotations

import json
import sys

import pytest

from benchmarks.harness import Comparison, Table, compare

WORKLOAD = """
from benchmarks.harness import Comparison, Table


def run(scale):
    table = Table("tiny", "nothing")
    table.add("work", Comparison(2.0 * scale, 4.0), limit=1)
    return table
"""


@pytest.fixture
def workload(monkeypatch, tmp_path):
    """A clone whose only workload is `tiny_workload`."""
    import benchmarks

    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "tiny_workload.py").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(folder)])
    yield
    sys.modules.pop("benchmarks.tiny_workload", None)


def test_a_workload_prints_its_table(run, workload):
    result = run("bench", "tiny_workload")
    assert result.exit_code == 0
    assert result.stdout.split()[-7:] == ["work", "2", "s", "4", "s", "0.50", "1"]


def test_a_workload_as_json(run, workload):
    answer = json.loads(run("bench", "tiny_workload", "--scale", "3", "--json").stdout)
    assert answer["lines"] == [
        {"what": "work", "unit": "s", "ours": 6.0, "theirs": 4.0, "ratio": 1.5, "limit": 1, "holds": False}
    ]


def test_an_unknown_workload_names_those_that_exist(run, workload):
    result = run("bench", "nonsense")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: There is no benchmark 'nonsense'.",
        "  Benchmarks: tiny_workload.",
    ]


def test_the_two_sides_are_timed_in_turn():
    calls: list[str] = []
    cost = compare(lambda: calls.append("ours"), lambda: calls.append("theirs"), repeat=2)
    assert calls == ["ours", "theirs", "ours", "theirs"]
    assert cost.ours >= 0


def test_a_table_holds_when_every_ratio_is_within_its_limit():
    table = Table("t", "rival")
    table.add("unlimited", Comparison(9, 1))
    assert table.holds
    table.add("too slow", Comparison(3, 1), limit=2)
    assert not table.holds
