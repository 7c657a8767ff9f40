"""How many groups are expected to lose an extreme, and what that does to the price of a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.planning.test_choice import batch, view
from viewkeeper.maintenance.strategy import Batch
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.cost import estimate
from viewkeeper.planning.lost_extremes import lost_groups
from viewkeeper.planning.planner import choose

EXTREMES = view("SELECT item, MIN(id) AS lo, MAX(price) AS hi FROM sales GROUP BY item")
MINIMUM = view("SELECT item, MIN(id) AS lo FROM sales GROUP BY item")


def deletions(number: int, **facts: object) -> Batch:
    change = TableChange(number, only_inserts=False)
    return batch(0, sales=replace(change, **facts))  # type: ignore[arg-type]


def lost(one: object, given: Batch, groups: float = 10_000, rows: float = 10_000_000) -> float:
    return lost_groups(one.top, given, groups, rows)  # type: ignore[attr-defined]


def test_only_deletions_take_extremes_away() -> None:
    assert lost(MINIMUM, deletions(1_000)) == pytest.approx(1.0)
    assert lost(MINIMUM, deletions(1_000, deleted=500.0)) == pytest.approx(0.5)
    assert lost(MINIMUM, batch(0, sales=TableChange(1_000, only_inserts=True))) == 0
    assert lost(EXTREMES, deletions(1_000)) == pytest.approx(2.0)


def test_what_several_rows_hold_is_hardly_lost() -> None:
    """A group of 1,000 rows with 100 values has ten of each, and all ten would have to go."""
    assert lost(MINIMUM, deletions(1_000, values={"id": 100})) < 1e-30
    assert lost(MINIMUM, deletions(1_000, values={"item": 100})) == pytest.approx(1.0)


def test_no_more_groups_are_lost_than_there_are() -> None:
    assert lost(EXTREMES, deletions(10_000_000), groups=7) == 7
    assert lost(view("SELECT item, SUM(price) AS p FROM sales GROUP BY item"), deletions(1_000)) == 0


def test_the_price_of_lost_extremes_goes_by_how_many_there_will_be() -> None:
    """Table 3: of 10,000 changes of a million sales none takes the last sale of a first day."""
    few, many = deletions(10_000, deleted=5_000.0, values={"id": 200}), deletions(10_000)
    prices = [estimate(choose(MINIMUM, one, "strict").taken.script, MINIMUM, one) for one in (few, many)]
    assert prices[0].seconds < prices[1].seconds
    assert prices[0].rows_read < prices[1].rows_read
    assert choose(MINIMUM, few, "auto").strategy.name != "recompute"
