"""An aggregate below others on Spark: one action for its layer and its change, whatever came before."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import viewkeeper as vk
from tests.sizes import spread
from viewkeeper.storage.relation import RelationState

pytestmark = pytest.mark.usefixtures("maintained")

ABOVE_AVERAGE = """
    SELECT t.k, t.v FROM {table} t JOIN (SELECT k, AVG(v) AS mean FROM {table} GROUP BY k) a ON t.k = a.k
    WHERE t.v > a.mean"""

Row = tuple[int | None, int | None]


@pytest.fixture
def many(warehouse: vk.Warehouse) -> vk.Warehouse:
    """Thirty groups of three rows, and some rows without a key or a value."""
    warehouse.sql("CREATE TABLE t (k INT, v INT)")
    with warehouse.transaction() as t:
        t.insert("t", [(n % 30, n) for n in range(90)] + [(None, 5), (3, None), (40, None)])
    warehouse.create_view("above", ABOVE_AVERAGE.format(table="t"))
    return warehouse


def state(wh: vk.Warehouse) -> RelationState:
    return wh._work.log.latest().relations["__above_1"]


def changed(wh: vk.Warehouse, gone: list[Row], new: list[Row]) -> vk.Report:
    with wh.transaction() as t:
        t.delete("t", gone)
        t.insert("t", new)
    return wh.refresh(policy="strict")


def test_one_action_for_the_aggregate_and_one_for_the_view(many: vk.Warehouse) -> None:
    report = changed(many, [(1, 31)], [(2, 500)])
    assert report.actions == 2
    layer = state(many).overlay[-1]
    assert (layer.replaces, layer.whole, layer.rows) == (True, False, 2), "two groups, in place of the old"
    assert many.verify("above")


def test_a_group_that_looks_the_same_ends_the_flow_of_changes(many: vk.Warehouse) -> None:
    """(1, 1), (1, 31) and (1, 61) become (1, 0), (1, 31) and (1, 62): the mean is what it was."""
    wh = many
    wh.create_view("means", "SELECT k, mean FROM (SELECT k, AVG(v) AS mean FROM t GROUP BY k) WHERE mean > 0")
    [_, means] = changed(wh, [(1, 1), (1, 61)], [(1, 0), (1, 62)])
    assert means.details["steps_skipped"] == 1
    assert wh.verify("means")
    assert wh.verify("above")


def test_groups_die_and_are_born_again_in_one_batch(many: vk.Warehouse) -> None:
    changed(many, [(7, 7), (7, 37), (7, 67)], [])
    assert many.verify("above")
    changed(many, [(8, 8), (8, 38), (8, 68)], [(8, 1), (8, 2), (7, 1), (7, 3)])
    assert many.verify("above")
    assert {row.v for row in many.table("above").where("k = 7").collect()} == {3}


def test_few_groups_are_written_whole(many: vk.Warehouse) -> None:
    report = changed(many, [], [(k % 35, 1000 + k) for k in range(70)])
    layer = state(many).overlay[-1]
    assert layer.whole
    assert layer.rows == 37, "35 keys, 40, and NULL"
    assert report.actions == 2
    assert many.verify("above")
    changed(many, [(0, 0)], [(None, 1)])
    assert not state(many).overlay[-1].whole
    assert many.verify("above")


def test_what_the_driver_does_not_hold_is_written(many: vk.Warehouse, limit: Callable[..., None]) -> None:
    limit(result_held=3)
    changed(many, [(n, n) for n in range(5)], [(n, 77) for n in range(20, 25)])
    assert many.verify("above")


def test_keys_that_arrow_and_spark_write_differently(warehouse: vk.Warehouse) -> None:
    wh = warehouse
    wh.sql("CREATE TABLE a (k ARRAY<INT>, v INT)")
    wh.sql("INSERT INTO a VALUES (array(1), 1), (array(1), 5), (array(2), 3), (NULL, 4)")
    wh.create_view("above", ABOVE_AVERAGE.format(table="a"))
    wh.sql("INSERT INTO a VALUES (array(2), 9), (array(3), 1)")
    wh.sql("DELETE FROM a WHERE v = 1")
    wh.refresh(policy="strict")
    assert wh.verify("above")


@pytest.mark.parametrize("seed", spread(range(3)))
def test_streams_of_batches_of_all_sizes(many: vk.Warehouse, seed: int) -> None:
    rng = random.Random(seed)
    rows: list[Row] = [(n % 30, n) for n in range(90)]
    for size in (1, 40, 3, 60, 2):
        gone = rng.sample(rows, min(size, len(rows)))
        new: list[Row] = [(rng.choice([None, *range(35)]), rng.randrange(100)) for _ in range(size)]
        rows = [*(set(rows) - set(gone)), *new]
        changed(many, gone, new)
        assert many.verify("above"), size
