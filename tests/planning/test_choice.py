"""The planner's choice by cost: what it depends on, and what it learns from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog.catalog import Catalog, ViewDefinition
from viewkeeper.errors import CannotMaintain
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning import calibration, planner
from viewkeeper.planning.calibration import Calibration
from viewkeeper.planning.cost import Estimate, estimate
from viewkeeper.planning.explanation import explanation
from viewkeeper.planning.planner import RECOMPUTE, choose
from viewkeeper.views import compiled, tables_of

ROWS = 10_000_000


@pytest.fixture(autouse=True)
def _noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "NOISE", 0.5)


def table(name: str, columns: str, key: str) -> TableSchema:
    pairs = (pair.split() for pair in columns.split(", "))
    return TableSchema(name, tuple(Column(name, kind) for name, kind in pairs), key=(key,))


CATALOG = Catalog(
    tables={
        "sales": table("sales", "id bigint, item int, price decimal(10,2)", "id"),
        "items": table("items", "item int, category string", "item"),
    }
)

QUERIES = {
    "filter": "SELECT id, item FROM sales WHERE price > 10",
    "join": "SELECT id, category FROM sales JOIN items USING (item)",
    "sums": "SELECT item, SUM(price) AS t FROM sales GROUP BY item",
    "extremes": "SELECT item, MIN(price) AS lo FROM sales GROUP BY item",
    "distinct": "SELECT DISTINCT item FROM sales",
    "union": "SELECT item FROM sales UNION SELECT item FROM items",
    "exists": "SELECT item FROM items WHERE EXISTS (SELECT 1 FROM sales WHERE sales.item = items.item)",
    "outer": "SELECT i.item, s.id FROM items i LEFT JOIN sales s ON s.item = i.item",
    "nested": "SELECT MAX(t) AS m FROM (SELECT item, SUM(price) AS t FROM sales GROUP BY item)",
    "window": "SELECT id, RANK() OVER (PARTITION BY item ORDER BY price) AS r FROM sales",
    "top": "SELECT id, price FROM sales ORDER BY price, id LIMIT 10",
    "median": "SELECT item, MEDIAN(price) AS m FROM sales GROUP BY item",
    "recursive": """WITH RECURSIVE r(a, b) AS (SELECT id, item FROM sales UNION SELECT r.a, s.item
                    FROM r JOIN sales s ON r.b = s.id) SELECT a, b FROM r""",
}


def view(sql: str) -> View:
    given = ViewDefinition("v", sql, (), ())
    return compiled(replace(given, tables=tables_of(given, CATALOG)), CATALOG)


def batch(rows: int, **changes: TableChange) -> Batch:
    found = changes or {"sales": TableChange(rows, only_inserts=False)}
    own = dict.fromkeys(("v", "__v_1", "__v_2"), 10_000)
    columns = {"v": (Column("item", "int"), Column("__sum_price", "decimal(20,2)"))}
    return Batch(found, Stored({"sales": ROWS, "items": 10_000, **own}, columns=columns))


def sized(given: Batch, sizes: Mapping[str, int]) -> Batch:
    return replace(given, stored=replace(given.stored, sizes=sizes))


@pytest.mark.parametrize("name", QUERIES)
def test_a_small_change_is_propagated_whatever_the_view(name: str) -> None:
    choice = choose(view(QUERIES[name]), batch(10), "auto")
    assert choice.strategy is not RECOMPUTE
    assert choice.reason.code == "incremental"


@pytest.mark.parametrize("name", ["join", "sums", "distinct", "exists", "union", "median", "window"])
def test_a_change_of_everything_recomputes(name: str) -> None:
    """An update of every row is two changes a row."""
    choice = choose(view(QUERIES[name]), batch(2 * ROWS), "auto")
    assert choice.strategy is RECOMPUTE
    assert choice.reason.code == "cheaper"


@pytest.mark.parametrize("policy", ["incremental", "strict"])
def test_other_policies_do_not_recompute_to_save_time(policy: str) -> None:
    assert choose(view(QUERIES["join"]), batch(2 * ROWS), policy).strategy is not RECOMPUTE


@pytest.mark.parametrize("name", QUERIES)
def test_every_alternative_has_a_cost_that_grows_with_the_batch(name: str) -> None:
    few, many = (choose(view(QUERIES[name]), batch(rows), "auto") for rows in (10, 1_000_000))
    assert [one.strategy.name for one in few.alternatives] == [one.strategy.name for one in many.alternatives]
    for small, large in zip(few.alternatives[:-1], many.alternatives[:-1], strict=True):
        assert 0 < small.expected.seconds < large.expected.seconds
        assert small.expected.actions >= 1
    again = many.alternatives[-1]
    assert again.strategy is RECOMPUTE
    assert again.expected == few.alternatives[-1].expected


def test_recomputing_reads_everything_and_propagating_only_the_change() -> None:
    choice = choose(view(QUERIES["sums"]), batch(10), "auto")
    found = {one.strategy.name: one.expected for one in choice.alternatives}
    assert found["recompute"].rows_read == ROWS
    assert found["summary-delta"].rows_read < ROWS / 100


def test_a_dimension_row_meets_its_part_of_the_facts() -> None:
    """One of ten thousand items is joined with a thousand of ten million sales."""
    one_item = batch(0, items=TableChange(1, only_inserts=True))
    choice = choose(view(QUERIES["join"]), one_item, "auto")
    assert choice.taken.expected.rows_written == pytest.approx(ROWS / 10_000, rel=0.5)


def test_a_view_of_few_groups_without_state_is_recomputed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty thousand changes touch all of two hundred groups: all rows would be read, and looked up first."""
    monkeypatch.setattr(planner, "NOISE", 0.05)
    medians, sums = view(QUERIES["median"]), view(QUERIES["sums"])
    sizes = {"sales": ROWS, "v": 200}
    changed = sized(batch(40_000), sizes)
    assert choose(medians, changed, "auto").strategy is RECOMPUTE
    assert choose(sums, changed, "auto").strategy is not RECOMPUTE
    few = sized(batch(40), {**sizes, "v": 200_000})
    assert choose(medians, few, "auto").strategy is not RECOMPUTE


@pytest.mark.parametrize(("part", "recomputed"), [(0.4, False), (0.6, True)])
def test_where_an_input_changed_much_the_least_advantage_decides(part: float, recomputed: bool) -> None:
    """Both strategies are expected to take the same time, but for a hair."""
    changed, sums = batch(int(part * ROWS)), view(QUERIES["sums"])
    own, again = (
        choose(sums, changed, "auto").alternatives[0],
        estimate(RECOMPUTE.plan(sums, changed), sums, changed),
    )
    factor = 0.999 * own.model.seconds / again.seconds
    known = Calibration({"summary-delta": 1.0, "recompute": factor})
    assert (choose(sums, changed, "auto", known).strategy is RECOMPUTE) == recomputed


def test_of_a_small_table_all_may_change_and_the_change_is_still_propagated() -> None:
    tiny = sized(batch(100), {"sales": 100, "v": 10})
    choice = choose(view(QUERIES["sums"]), tiny, "auto", Calibration({"recompute": 0.5}))
    assert choice.strategy is not RECOMPUTE


def test_what_a_view_has_cost_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "BOUNDS", (0.01, 100.0))
    changed, joined = batch(100_000), view(QUERIES["join"])
    first = choose(joined, changed, "auto")
    assert first.strategy is not RECOMPUTE
    slow = Calibration().after(first.strategy.name, first.taken.model, first.taken.model.seconds * 50)
    fast = slow.after("recompute", estimate(RECOMPUTE.plan(joined, changed), joined, changed), 0.5)
    assert choose(joined, changed, "auto", fast).strategy is RECOMPUTE


def test_one_refresh_moves_what_is_known_by_half_and_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "BOUNDS", (0.2, 5.0))
    expected = Estimate(0, 0, 1, 2.0)
    once = Calibration().after("counting", expected, 8.0)
    assert once.factors == {"counting": 4.0}
    assert once.after("counting", expected, 2.0).factors == {"counting": 2.0}
    assert once.after("counting", expected, 1e6).factors["counting"] <= 5.0
    assert once.corrected("recompute", expected).seconds == 8.0


def test_an_explanation_names_every_alternative_with_its_cost() -> None:
    changed, sums = batch(10), view(QUERIES["sums"])
    shown = explanation(sums, changed, choose(sums, changed, "auto"))
    assert {name for name, _ in shown.expected} == {"summary-delta", "recompute"}
    assert shown.rejected == ()
    for text in (str(shown), shown._repr_html_()):
        assert "10,000,000 rows read" in text
        assert "recompute" in text
    assert shown.to_dict()["expected"]["recompute"]["rows_read"] == ROWS


def test_strict_fails_with_the_reason_before_any_work() -> None:
    replaced = batch(0, sales=TableChange(ROWS, only_inserts=False, replaced=True))
    with pytest.raises(CannotMaintain) as failed:
        choose(view(QUERIES["join"]), replaced, "strict")
    assert failed.value.code == choose(view(QUERIES["join"]), replaced, "auto").reason.code
