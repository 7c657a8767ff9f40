"""Which views are stored with their IDs though nobody asks, and which batches ID-based diffs then take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.maintenance.id_diffs.devices import SCHEMAS
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog.catalog import ENFORCED, Catalog, ViewDefinition
from viewkeeper.maintenance.id_diffs import IdView
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.explanation import explanation
from viewkeeper.planning.planner import choose
from viewkeeper.report import Reason
from viewkeeper.views import STRATEGY, compiled, tables_of

PRICES = """SELECT did, price FROM parts JOIN devices_parts USING (pid) JOIN devices USING (did)
            WHERE category = 'phone'"""
WEIGHTS = TableSchema("weights", (Column("w", "double"), Column("pid", "string")), ("w",))
LOOSE = TableSchema("loose", (Column("pid", "string"), Column("x", "int")))
TABLES = {**SCHEMAS, "weights": WEIGHTS, "loose": LOOSE}

UPDATED = TableChange(400, only_inserts=False, updates=frozenset({"price"}))
MOVED = TableChange(2, only_inserts=False, updates=frozenset({"category"}))
MIXED = TableChange(2, only_inserts=False)
SIZES = {"parts": 20_000.0, "devices": 20_000.0, "devices_parts": 200_000.0, "v": 40_000.0}


def view(sql: str = PRICES, asked: str = "auto", keyed: bool = True, **tables: TableSchema) -> View:
    catalog = Catalog({**TABLES, **tables})
    bare = ViewDefinition("v", sql, (), (), properties=((STRATEGY, asked),), keyed=keyed)
    return compiled(replace(bare, tables=tables_of(bare, catalog)), catalog)


def batch(is_told: bool = False, **changes: TableChange) -> Batch:
    stored = Stored(sizes={name: int(rows) for name, rows in SIZES.items()})
    return Batch(changes, stored, is_read=is_told, is_told=is_told)


def test_ids_that_the_view_does_not_show_are_hidden_columns() -> None:
    found = view()
    assert isinstance(found.by_ids, IdView)
    [stratum] = found.strata
    assert stratum.key == ("__id_pid", "did")
    assert stratum.merge is None, "a bag, which counting maintains"
    assert stratum.query is not None
    assert set(stratum.query.columns) == {"did", "price", "__id_pid"}


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT did, SUM(price) AS s FROM parts JOIN devices_parts USING (pid) GROUP BY did", "not-rows"),
        ("SELECT pid, price FROM parts", "no-join"),
        ("SELECT pid, did FROM parts LEFT JOIN devices_parts USING (pid)", "outer-join"),
        ("SELECT price, x FROM parts JOIN loose USING (pid)", "no-key"),
        ("SELECT price, w FROM parts JOIN weights USING (pid)", "key-type"),
        ("SELECT a.did FROM devices_parts a JOIN devices_parts b ON a.pid = b.pid", "no-gain"),
        (f"{PRICES} ORDER BY price LIMIT 3", "not-rows"),
    ],
)
def test_views_that_are_stored_without(sql: str, code: str) -> None:
    found = view(sql)
    assert isinstance(found.by_ids, Reason)
    assert found.by_ids.code == code
    assert all(not stratum.key for stratum in found.strata)
    assert choose(found, batch(parts=MIXED), "incremental").rejected == ()


def test_keys_that_are_trusted_are_no_ids() -> None:
    followed = replace(SCHEMAS["parts"], properties=((ENFORCED, "false"),))
    found = view(parts=followed).by_ids
    assert isinstance(found, Reason)
    assert found.code == "trusted-key"


def test_views_that_do_not_ask_for_ids_have_none() -> None:
    found = view(keyed=False)
    assert found.by_ids is None
    assert found.top.key == ()


def test_updates_are_diffs_and_all_else_is_counted() -> None:
    found = view()
    chosen = {
        "diffs": choose(found, batch(parts=UPDATED), "auto"),
        "conditional": choose(found, batch(devices=MOVED), "incremental"),
        "mixed": choose(found, batch(parts=UPDATED, devices=MIXED), "incremental"),
    }
    assert chosen["diffs"].strategy.name == "id-diffs"
    assert chosen["diffs"].taken.expected.actions == 0, "the driver passes it on"
    assert {one.strategy.name for one in chosen["diffs"].alternatives} == {
        "id-diffs",
        "counting",
        "recompute",
    }
    for what, code in (("conditional", "conditional"), ("mixed", "not-updates")):
        assert chosen[what].strategy.name == "counting"
        assert [(name, why.code) for name, why in chosen[what].rejected] == [("id-diffs", code)]


def test_whoever_is_told_of_the_changes_has_to_look_them_up() -> None:
    """In a large view, for a small update: then the rows themselves are told."""
    found = view()
    alone, told = (choose(found, batch(is_told, parts=UPDATED), "auto") for is_told in (False, True))
    by_ids = [next(a for a in one.alternatives if a.strategy.name == "id-diffs") for one in (alone, told)]
    assert by_ids[1].expected.rows_read - by_ids[0].expected.rows_read >= 2 * SIZES["v"]
    assert by_ids[1].expected.seconds > by_ids[0].expected.seconds


def test_explain_tells_the_accesses_or_why_there_are_no_ids() -> None:
    changed = batch(parts=UPDATED)
    shown = str(explanation(view(), changed, choose(view(), changed, "auto")))
    assert "with indexes, an update of parts takes 600 accesses by IDs, 7,000 by tuples" in shown
    without = view("SELECT pid, price FROM parts")
    assert "stored without IDs: A row of its table" in str(
        explanation(without, changed, choose(without, changed, "auto"))
    )
