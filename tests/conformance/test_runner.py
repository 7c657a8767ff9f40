from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest

from tools.conformance.cases import choose, load, parse
from tools.conformance.run import Verdict, run_case
from tools.conformance.values import differences, typed
from viewkeeper.errors import CannotMaintain, UnknownTable

RAW = {
    "id": "own-1",
    "tags": ["inserts", "decimals"],
    "tables": {"t": {"columns": [["a", "INT"], ["b", "DECIMAL(10,2)"]], "primary_key": ["a"]}},
    "initial": {"t": [[1, "1.50"]]},
    "helper_views": [{"name": "h", "sql": "SELECT a, b FROM t"}],
    "view": {"name": "v", "sql": "SELECT a, b FROM h", "columns": [["a", "int"], ["b", "decimal(10,2)"]]},
    "steps": [{"t": {"insert": [[2, "2.5"]], "delete": [[1, "1.50"]]}}],
    "expected": [[[1, "1.5"]], [[2, "2.50"]]],
    "spark_recompute": True,
}


class Double:
    """A warehouse with one table, whose views are copies of it."""

    def __init__(self, lose=False, error=None):
        self.rows, self.fresh, self.log = [], [], []
        self.lose, self.error = lose, error

    def sql(self, text):
        self.log.append(text)

    def create_view(self, name, sql):
        if isinstance(self.error, UnknownTable):
            raise self.error
        self.log.append(name)
        self.fresh = list(self.rows)

    @contextmanager
    def transaction(self):
        yield self

    def insert(self, table, rows):
        self.rows += rows

    def delete(self, table, rows):
        if not self.lose:
            self.rows = [row for row in self.rows if row not in rows]

    def refresh(self, policy):
        if self.error:
            raise self.error
        self.fresh = list(self.rows)
        return [SimpleNamespace(strategy="recompute")]

    def table(self, name):
        rows = [tuple(row.values()) for row in self.fresh]
        return SimpleNamespace(collect=lambda: rows)

    def close(self):
        self.log.append("closed")


def verdict(double):
    return run_case(parse(RAW), lambda path: double, "full")


def test_a_case_passes_when_every_state_is_as_expected():
    double = Double()
    outcome = verdict(double)
    assert outcome.verdict is Verdict.PASSED
    assert outcome.strategies == {"recompute": 1}
    assert double.log == [
        "CREATE TABLE `t` (`a` INT, `b` DECIMAL(10,2), PRIMARY KEY (`a`))",
        "h",
        "v",
        "closed",
    ]


def test_a_case_fails_with_the_differing_rows():
    outcome = verdict(Double(lose=True))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.detail.splitlines() == ["after batch 1 of 1:", "  extra: (1, Decimal('1.50'))"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (CannotMaintain("no", code="holistic-aggregate"), "holistic-aggregate"),
        (UnknownTable("no"), "UnknownTable"),
    ],
)
def test_a_refusal_has_its_reason_code(error, reason):
    outcome = verdict(Double(error=error))
    assert (outcome.verdict, outcome.reason) == (Verdict.REFUSED, reason)


def test_any_other_error_is_a_failure():
    outcome = verdict(Double(error=KeyError("x")))
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, "KeyError")


@pytest.mark.parametrize(
    ("value", "type_", "python"),
    [
        ("1.50", "DECIMAL(10,2)", Decimal("1.50")),
        ("2024-01-10", "date", date(2024, 1, 10)),
        ("2001-01-01 19:00:00", "TIMESTAMP_NTZ", datetime(2001, 1, 1, 19)),
        (1, "DOUBLE", 1.0),
        ("x", "STRING", "x"),
        ([1, None], "ARRAY<INT>", [1, None]),
        (None, "DATE", None),
    ],
)
def test_values_take_their_columns_type(value, type_, python):
    assert typed(value, type_) == python


@pytest.mark.parametrize(
    ("actual", "expected", "missing", "extra"),
    [
        ([(1,), (1,)], [(1,)], [], [(1,)]),
        ([(1,)], [(1,), (1,)], [(1,)], []),
        ([(None,)], [(None,)], [], []),
        ([(None,)], [(0,)], [(0,)], [(None,)]),
        ([(1.0,), (Decimal("2.50"),)], [(2.5,), (1,)], [], []),
        ([(0.1 + 0.2,)], [(0.3,)], [], []),
        ([(1.23456789012,)], [(1.23456789,)], [], []),
        ([(1.2345678,)], [(1.2345679,)], [(1.2345679,)], [(1.2345678,)]),
        ([(1.000000005000001,)], [(1.000000004999999,)], [], []),
        ([(float("nan"),), (-0.0,)], [(0.0,), (float("nan"),)], [], []),
        ([(True,)], [(1,)], [(1,)], [(True,)]),
        ([("a",), ("A",)], [("a",), ("a",)], [("a",)], [("A",)]),
        ([([1, None],)], [([1, None],)], [], []),
    ],
)
def test_rows_are_compared_as_multisets_to_nine_digits(actual, expected, missing, extra):
    assert differences(actual, expected) == (missing, extra)


def some_cases():
    tags = [["inserts"]] * 6 + [["inserts", "window"], ["recursive"], ["window"]]
    return [parse({**RAW, "id": f"own-{number}", "tags": tag}) for number, tag in enumerate(tags)]


def test_a_spread_prefers_tags_that_are_not_covered_yet():
    assert [case.id for case in choose(some_cases(), spread=2)] == ["own-6", "own-7"]
    assert len(choose(some_cases(), spread=99)) == 9


def test_cases_are_chosen_by_tag_id_and_number():
    assert [case.id for case in choose(some_cases(), only="window")] == ["own-6", "own-8"]
    assert [case.id for case in choose(some_cases(), only="own-7")] == ["own-7"]
    assert [case.id for case in choose(some_cases(), limit=1)] == ["own-0"]


def test_cases_are_read_one_per_line(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(RAW) + "\n\n" + json.dumps({**RAW, "id": "own-2"}) + "\n")
    assert [case.id for case in load(file)] == ["own-1", "own-2"]
