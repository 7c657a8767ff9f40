"""Summary-deltas beyond the paper's examples: floating point, functions by parts, life after death."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.maintenance.retail import POS, SCHEMAS, SIC_SALES, SID_SALES, Retail, plan, view
from tests.reference.summary_refresh import batch, floating_sums, full_state, refresh
from viewkeeper.algebra.build import matching
from viewkeeper.algebra.relations import Reference, State
from viewkeeper.algebra.schema import Column
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_query
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.maintenance.summary_delta.prepare import summary_delta
from viewkeeper.maintenance.summary_delta.state import slug, stored_columns, visible

FLOATING = {
    **SCHEMAS,
    "pos": replace(POS, columns=(*POS.columns[:-1], Column("price", "double"))),
}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_nan_or_an_infinity_can_be_taken_back(odd):
    node = cube_view(plan("storeID", "SUM(price) AS p", schemas=FLOATING), FLOATING, "v")
    assert isinstance(node, CubeView)
    row = (1, 10, 1, 5, odd)
    retail = Retail({**Retail().rows_of, "pos": [row, (1, 10, 1, 5, 2.5), (2, 10, 1, 5, odd)]}, FLOATING)
    changes = retail.change(delete={"pos": [row, (2, 10, 1, 5, odd)]})
    retail.materialize(node)
    retail.refresh(node, summary_delta(node, changes), changes, weakly_minimal=True)
    assert retail.recomputed == {(1,)}
    assert retail.rows(visible(node, retail.stored(node))) == {(1, 2.5)}


def test_sums_of_integers_are_never_looked_up():
    assert floating_sums(SID_SALES) == ()
    changes = batch("pos")
    done = refresh(SID_SALES, summary_delta(SID_SALES, changes), changes, full_state(SID_SALES))
    assert done.override is None
    assert done.threatened is None


def test_boolean_aggregates_and_averages_are_maintained_by_parts():
    node = view("v", "storeID", "BOOL_AND(qty > 2) AS b, COUNT_IF(qty > 4) AS n, AVG(qty) AS a")
    retail = Retail()
    changes = retail.change(
        insert={"pos": [(1, 10, 1, 9, 1)]}, delete={"pos": [(1, 10, 1, 2, 9), (1, 12, 2, 1, 4)]}
    )
    retail.materialize(node)
    retail.refresh(node, summary_delta(node, changes), changes, weakly_minimal=True)
    assert (1, True, 2, 7.0) in retail.rows(visible(node, retail.stored(node)))


def test_a_group_that_is_born_again_does_not_inherit_extremes():
    retail = Retail()
    retail.materialize(SIC_SALES)
    for step in ({"delete": {"pos": [(1, 12, 2, 1, 4)]}}, {"insert": {"pos": [(1, 12, 9, 1, 4)]}}):
        changes = retail.change(**step)
        retail.refresh(SIC_SALES, summary_delta(SIC_SALES, changes), changes, weakly_minimal=True)
    assert (1, "food", 1, 9, 1) in retail.rows(visible(SIC_SALES, retail.stored(SIC_SALES)))


def test_known_new_keys_need_no_merge_only_where_nothing_is_deleted():
    stored = full_state(SID_SALES)
    for insert_only in (True, False):
        changes = batch("pos", insert_only=insert_only)
        done = refresh(SID_SALES, summary_delta(SID_SALES, changes), changes, stored, known_new=True)
        assert done.known_new is insert_only


def test_equal_state_has_equal_names_and_different_state_different_ones():
    one, two = view("a", "storeID", "SUM(qty * price) AS x"), view("b", "date", "AVG((qty * price)) AS y")
    assert stored_columns(one)[1:] == stored_columns(two)[1:]
    other = view("c", "date", "SUM(qty * price + 1) AS y")
    assert stored_columns(other)[2] != stored_columns(one)[2]
    assert slug(SID_SALES.keys[0].expr) == "storeID"


def test_null_group_keys_are_groups():
    retail = Retail()
    node = view("v", "date", "COUNT(*) AS n, MAX(qty) AS q")
    first = retail.change(insert={"pos": [(1, 10, None, 5, 1), (1, 10, None, 8, 1)]})
    retail.materialize(node)
    retail.refresh(node, summary_delta(node, first), first)
    second = retail.change(delete={"pos": [(1, 10, None, 8, 1)]})
    retail.refresh(node, summary_delta(node, second), second, weakly_minimal=True)
    assert retail.recomputed == {(None,)}
    assert (None, 1, 5) in retail.rows(visible(node, retail.stored(node)))


def test_recomputation_reads_only_the_threatened_groups_or_a_parent():
    retail = Retail()
    changes = retail.change(delete={"pos": [(2, 10, 2, 3, 9)]})
    retail.materialize(SIC_SALES)
    delta = summary_delta(SIC_SALES, changes)
    edge = derives(SIC_SALES, SID_SALES)
    assert isinstance(edge, Edge)

    def from_parent(keys):
        return matching(edge_query(edge, Reference("main_SID_sales", stored_columns(SID_SALES))), keys)

    retail.store("main_SID_sales", full_state(SID_SALES))
    for new_state in (None, from_parent):
        done = refresh(SIC_SALES, delta, changes, retail.stored(SIC_SALES), new_state, weakly_minimal=True)
        assert retail.rows(done.override) == {(2, "office", 1, 1, 3, 1, 4)}
    assert ("pos", State.NEW) not in {(scan.table, scan.at) for scan in scans(done.override)}
