"""A small aggregate most of whose groups change is written whole: nothing before it is read again."""

from __future__ import annotations

import random

import pytest

import viewkeeper as vk
from viewkeeper.storage.relation import Layer, RelationState

pytestmark = pytest.mark.usefixtures("maintained")

QUERY = "SELECT k, COUNT(*) AS n, SUM(v) AS total, MIN(v) AS least, MAX(w) AS most FROM t GROUP BY k"

Row = tuple[int | None, int | None, float | None]


@pytest.fixture
def warehouse_of_few(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql("CREATE TABLE t (k INT, v INT, w DOUBLE)")
    with warehouse.transaction() as t:
        t.insert("t", [(n % 5 or None, n, n / 2) for n in range(40)])
    warehouse.create_view("few", QUERY)
    return warehouse


def stored(wh: vk.Warehouse) -> RelationState:
    return wh._work.log.latest().relations["few"]


def last_layer(wh: vk.Warehouse) -> Layer:
    return stored(wh).overlay[-1]


def changed(wh: vk.Warehouse, gone: list[Row], new: list[Row]) -> vk.Report:
    with wh.transaction() as t:
        t.delete("t", gone)
        t.insert("t", new)
    return wh.refresh(policy="strict")


def test_all_groups_are_written_where_there_are_more_changes_than_groups(
    warehouse_of_few: vk.Warehouse,
) -> None:
    wh = warehouse_of_few
    # The group of NULL and that of 4 do not change; 9 is new, and 1 dies.
    gone: list[Row] = [(1, n, n / 2) for n in range(1, 40, 5)]
    [entry] = changed(wh, gone, [(9, 1, 1.0), (2, 100, 0.0), (3, 100, 0.0)])
    assert last_layer(wh).whole
    assert entry.rows_written == last_layer(wh).rows == stored(wh).stored_rows == 6
    assert entry.details["groups_recomputed"] == 0
    assert wh.verify("few")


def test_what_did_not_change_is_no_change(warehouse_of_few: vk.Warehouse) -> None:
    wh = warehouse_of_few
    before = wh.version
    gone: list[Row] = [(1, n, n / 2) for n in range(1, 40, 5)]
    changed(wh, gone, [(9, 1, 1.0), (2, 100, 0.0)])
    told = {(row["change"], row["old_k"], row["new_k"]) for row in wh.changes("few", since=before).collect()}
    assert told == {("delete", 1, None), ("insert", None, 9), ("update", 2, 2)}


def test_only_the_whole_layer_is_read_again(warehouse_of_few: vk.Warehouse) -> None:
    wh = warehouse_of_few
    many: list[Row] = [(n % 5 or None, n, n / 2) for n in range(10, 30)]
    changed(wh, many[:10], [(7, 7, 7.0)])
    first = last_layer(wh)
    assert first.whole
    [entry] = changed(wh, many[10:], [(8, 8, 8.0)])
    assert entry.rows_read == 11 + first.rows
    assert stored(wh).since_whole == (last_layer(wh),)
    assert len(stored(wh).overlay) == 2
    assert wh.verify("few")


def test_a_small_batch_writes_what_it_changes(warehouse_of_few: vk.Warehouse) -> None:
    [entry] = changed(warehouse_of_few, [(2, 2, 1.0)], [])
    assert not last_layer(warehouse_of_few).whole
    assert entry.rows_written <= 2
    assert warehouse_of_few.verify("few")


def test_a_stream_of_batches_large_and_small(warehouse_of_few: vk.Warehouse) -> None:
    """Insertions that add to a whole layer, minima that are lost above it, groups that die and are reborn."""
    wh, rng, kinds = warehouse_of_few, random.Random(3), set()
    rows: list[Row] = [tuple(row) for row in wh.table("t").collect()]
    for batch in range(9):
        size = (12, 1, 6)[batch % 3]
        gone = [] if batch % 3 == 1 else rng.sample(rows, min(size, len(rows)))
        new: list[Row] = [(rng.choice([None, 1, 2, 3, 9]), rng.randint(-5, 5), None) for _ in range(size)]
        changed(wh, gone, new)
        since = stored(wh).since_whole
        kinds.add("".join("=" if layer.whole else "r" if layer.replaces else "+" for layer in since))
        for row in gone:
            rows.remove(row)
        rows += new
        assert batch % 3 < 2 or wh.verify("few")
    assert {"=r", "=r+"} <= kinds
    wh.compact("few")
    assert not stored(wh).overlay
    assert wh.verify("few")
