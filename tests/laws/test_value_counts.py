"""Aggregates of values over counts of these: the same answer, and kept by whole Δ-scripts, on DuckDB."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.databases import History, histories
from tests.laws.harness import load, value
from tests.laws.settings import cases
from tests.laws.test_scripts import is_kept, view_of
from tests.laws.test_texts import SEEDS, plan_of
from viewkeeper.delta.value_counts import with_value_counts
from viewkeeper.maintenance.program import counts_values, program
from viewkeeper.maintenance.strategy import View

TEXTS = (
    "SELECT a, COUNT(DISTINCT b) AS n FROM r GROUP BY a",
    "SELECT COUNT(DISTINCT a, s) AS n, COUNT(*) AS c, SUM(b) AS t FROM r",
    "SELECT s, SUM(DISTINCT a) AS t, AVG(DISTINCT a) AS m, COUNT(b) AS n FROM r GROUP BY s",
    "SELECT s, COUNT(DISTINCT a) AS n, SUM(b) AS t, MIN(b) AS low, MAX(s) AS high, AVG(b) AS m FROM r"
    " GROUP BY s",
    "SELECT a, COUNT(DISTINCT b) AS n, COUNT(*) FILTER (WHERE b > 1) AS c, SUM(b) FILTER (WHERE b < 2) AS t"
    " FROM r GROUP BY a HAVING COUNT(DISTINCT b) > 1",
    "SELECT c + 1 AS k, COUNT(DISTINCT e) AS n, SUM(d) AS t, AVG(d) AS m FROM s GROUP BY c + 1",
    "SELECT g, COUNT(DISTINCT f) AS n, COUNT(f) AS c FROM t GROUP BY g",
    "SELECT s, COUNT(DISTINCT d) AS n, MIN(e) AS first FROM r JOIN s ON r.a = s.c GROUP BY s",
    "SELECT n, COUNT(*) AS groups FROM (SELECT a, COUNT(DISTINCT b) AS n FROM r GROUP BY a) GROUP BY n",
)


def asking(text: str) -> View:
    """The view of a text that asks for counts of values."""
    view = view_of(text)
    assert view.query is not None
    return replace(view, strata=program("v", view.query, by_value=True), summary=None)


@pytest.mark.parametrize("text", TEXTS)
def test_these_are_kept_by_value_counts_where_they_ask_for_it(text: str) -> None:
    assert any(map(counts_values, asking(text).strata))
    assert not any(map(counts_values, view_of(text).strata))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, COUNT(DISTINCT b) AS n, COUNT(DISTINCT s) AS m FROM r GROUP BY a",
        "SELECT a, COUNT(DISTINCT b) AS n, STDDEV(b) AS d FROM r GROUP BY a",
        "SELECT k, COUNT(DISTINCT g) AS n, SUM(f) AS d FROM t GROUP BY k",
        "SELECT k, MEDIAN(f) AS m FROM t GROUP BY k",
        "SELECT k, COUNT(DISTINCT g) AS n, MIN(f) AS d FROM t GROUP BY k",
        "SELECT a, COUNT(DISTINCT b) FILTER (WHERE b > 1) AS n FROM r GROUP BY a",
        "SELECT a, COUNT(b) AS n FROM r GROUP BY a",
    ],
)
def test_others_are_as_they_were(text: str) -> None:
    """Bags of several columns, calls that come in no parts, and values that tell signs of zeros apart."""
    plan = plan_of(text)
    assert with_value_counts(plan) == plan


@cases(30)
@given(st.sampled_from(TEXTS), histories(batches=1))
def test_the_answer_over_value_counts_is_the_same(text: str, history: History) -> None:
    load(history.rows, ())
    query = view_of(text).query
    assert query is not None
    assert value(with_value_counts(query)) == value(query)


@cases(60)
@given(st.sampled_from(TEXTS), SEEDS, histories(batches=3))
def test_scripts_keep_them(text: str, seed: int, history: History) -> None:
    is_kept(asking(text), history, Random(seed))
