"""Texts with several right answers: told to the user, and never called wrong for giving another one."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.test_verify import tamper
from viewkeeper import errors
from viewkeeper.algebra.schema import COUNT
from viewkeeper.sql.choices import choices

NOTES = {
    "SELECT a FROM t LIMIT 3": "LIMIT without ORDER BY",
    "SELECT a, b FROM t ORDER BY a LIMIT 3": "tie in ORDER BY",
    "SELECT a, ANY_VALUE(b) AS b FROM t GROUP BY a": "any_value",
    "SELECT a, FIRST(b) AS b FROM t GROUP BY a": "first",
    "SELECT a, LAST(b) FILTER (WHERE b > 1) AS b FROM t GROUP BY a": "last",
    "SELECT a, COLLECT_LIST(b) AS b FROM t GROUP BY a": "collect_list",
    "SELECT a, COLLECT_SET(b) AS b FROM t GROUP BY a": "collect_set",
    "SELECT a, MODE(b) AS b FROM t GROUP BY a": "mode",
    "SELECT a, MAX_BY(b, c) AS b FROM t GROUP BY a": "max_by",
    "SELECT a, ROW_NUMBER() OVER (ORDER BY b) AS n FROM t": "row_number",
    "SELECT a, SUM(b) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM t": "sum",
    "SELECT a, approx_percentile(b, 0.5) AS p FROM t GROUP BY a": "estimate",
    "SELECT a, listagg(b, ',') AS l FROM t GROUP BY a": "listagg",
}
NO_NOTES = [
    "SELECT a, b FROM t ORDER BY a, 2 DESC LIMIT 3",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1)",
    "SELECT a, sort_array(COLLECT_LIST(b)) AS b FROM t GROUP BY a",
    "SELECT a, size(COLLECT_SET(b)) AS b FROM t GROUP BY a",
    "SELECT a, MODE(b, true) AS b FROM t GROUP BY a",
    "SELECT a, RANK() OVER (ORDER BY b) AS n, SUM(b) OVER (PARTITION BY a) AS s FROM t",
    "SELECT a, listagg(b, ',') WITHIN GROUP (ORDER BY b) AS l FROM t GROUP BY a",
    "SELECT a, FIRST(1) AS one FROM t GROUP BY a",
]


@pytest.mark.parametrize("text", NOTES)
def test_what_is_open_is_noted(text: str) -> None:
    assert any(NOTES[text] in note for note in choices(text).notes), choices(text)


@pytest.mark.parametrize("text", NO_NOTES)
def test_what_is_not_open_is_not_noted(text: str) -> None:
    assert choices(text).notes == ()


def test_where_what_is_open_shows() -> None:
    assert choices("SELECT a, FIRST(b) AS f, f + 1 AS g, COLLECT_LIST(b) AS l FROM t GROUP BY a").columns == {
        1,
        2,
    }
    assert choices("SELECT a, COLLECT_LIST(b) AS l FROM t GROUP BY a").lists == {1}
    assert choices("SELECT a FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY b) AS n FROM t)").columns is None
    assert choices("SELECT DISTINCT FIRST(b) AS f, a FROM t GROUP BY a").columns is None


@pytest.fixture
def tied(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE t (a INT, b INT)")
    warehouse.sql("INSERT INTO t VALUES (1, 10), (2, 10), (3, 10), (4, 5)")
    return warehouse


def test_other_first_rows_are_right_and_worse_ones_are_not(tied: vk.Warehouse) -> None:
    tied.create_view("top", "SELECT a, b FROM t ORDER BY b DESC LIMIT 2", policy="full")
    [held, *_] = [row.a for row in tied.table("top").collect()]
    other = next(a for a in (1, 2, 3) if a not in [row.a for row in tied.table("top").collect()])
    swap = f"SELECT {held} AS a, 10 AS b, -1L AS {COUNT} UNION ALL SELECT {{}}, {{}}, 1L"
    tamper(tied, "top", tied.spark.sql(swap.format(other, 10)))
    assert tied.verify("top")
    tied.refresh("top", policy="full")
    held = tied.table("top").first().a
    worse = f"SELECT {held} AS a, 10 AS b, -1L AS {COUNT} UNION ALL SELECT 4, 5, 1L"
    tamper(tied, "top", tied.spark.sql(worse))
    assert tied.verify("top").verdict == "different"


def test_a_value_of_several_cannot_be_decided(tied: vk.Warehouse) -> None:
    tied.create_view("some", "SELECT b, FIRST(a) AS a FROM t GROUP BY b", policy="full")
    held = tied.table("some").where("b = 10").first().a
    swap = f"SELECT 10 AS b, {held} AS a, -1L AS {COUNT} UNION ALL SELECT {{}}, {held % 3 + 1}, 1L"
    tamper(tied, "some", tied.spark.sql(swap.format(10)))
    found = tied.verify("some")
    assert (bool(found), found.verdict) == (False, "undecided")
    assert "first takes any row" in found.undecided
    assert "first takes any row" in tied.explain("some").note
    assert "first takes any row" in str(tied.explain("some"))
    assert {status.name: bool(status.note) for status in tied.status()} == {"t": False, "some": True}
    tied.refresh("some", policy="full")
    held = tied.table("some").where("b = 10").first().a
    wrong = f"SELECT 10 AS b, {held} AS a, -1L AS {COUNT} UNION ALL SELECT 11, {held}, 1L"
    tamper(tied, "some", tied.spark.sql(wrong))
    assert tied.verify("some").verdict == "different"


@pytest.mark.parametrize(
    "value",
    """rand() uuid() current_user() monotonically_increasing_id() input_file_name() spark_partition_id()
    unix_timestamp() current_timezone() shuffle(array(1,2)) DATE'today' TIMESTAMP'now'""".split(),
)
def test_what_is_no_function_of_the_tables_is_refused(tied: vk.Warehouse, value: str) -> None:
    before = tied.version
    with pytest.raises(errors.NotDeterministic):
        tied.create_view("v", f"SELECT a, {value} AS x FROM t")
    assert tied.version == before
