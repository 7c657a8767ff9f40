from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from benchmarks import harness
from benchmarks.harness import Comparison, Table, compare
from benchmarks.joins import crossover
from benchmarks.tpch import BUCKETS, LARGE, SMALL, WARM_UP, WITHHELD

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


def test_the_two_sides_are_timed_in_turn(monkeypatch):
    """Each is told by its median, on a clock that work moves."""
    calls: list[str] = []
    takes = iter((1, 10, 5, 30, 2, 20))
    now = 0

    def work(side):
        nonlocal now
        calls.append(side)
        now += next(takes)

    monkeypatch.setattr(harness, "time", SimpleNamespace(perf_counter=lambda: now))
    cost = compare(lambda: work("ours"), lambda: work("theirs"))
    assert calls == ["ours", "theirs"] * 3
    assert cost == Comparison(2, 20)


def test_a_table_holds_when_every_ratio_is_within_its_limit():
    table = Table("t", "rival")
    table.add("unlimited", Comparison(9, 1))
    assert table.holds
    table.add("too slow", Comparison(3, 1), limit=2)
    assert not table.holds


def test_a_line_tells_what_the_work_read_and_wrote():
    line = Table("t", "rival").add("work", Comparison(1, 2), rows_read=1_000)
    assert line.to_dict()["rows_read"] == 1_000


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [((2, 3, 4), 0.001), ((0.1, 1, 10), 0.01), ((0.1, 0.5, 2), 0.0316), ((0.1, 0.2, 0.3), 1.0)],
)
def test_the_crossover_lies_where_both_cost_the_same(ratios, expected):
    assert crossover((0.001, 0.01, 0.1), ratios) == pytest.approx(expected, rel=0.01)


def test_a_refresh_batch_deletes_none_of_the_orders_that_are_yet_to_come():
    last = max(batch.first + batch.buckets for batch in (*WARM_UP, *SMALL, *LARGE))
    assert last == WITHHELD <= BUCKETS // 2
