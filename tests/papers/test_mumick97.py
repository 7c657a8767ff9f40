"""mumick97: every example of sections 2 to 5 and Figures 1 to 9, on a handful of rows; Tables 1 and 2."""

from __future__ import annotations

import pytest

from tests.maintenance.retail import (
    FIGURE_1,
    SCD_SALES,
    SIC_SALES,
    SID_SALES,
    SR_SALES,
    Retail,
    view,
)
from tests.reference.accesses import Accesses, accesses, total
from tests.reference.propagation import combinations, lattice_plans, propagate
from tests.reference.summary_refresh import (
    batch,
    full_state,
    is_weakly_minimal,
    keys_known_new,
    preaggregated_delta,
)
from viewkeeper.algebra.build import restricted_to
from viewkeeper.algebra.relations import Reference, Scan, State
from viewkeeper.algebra.walk import scans
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_delta, edge_query
from viewkeeper.maintenance.lattice.friendly import extended, lattice_friendly
from viewkeeper.maintenance.lattice.parents import Statistics, choose_for_deltas
from viewkeeper.maintenance.summary_delta.figures import preaggregation_plans, propagate_plans, refresh_sql
from viewkeeper.maintenance.summary_delta.preaggregate import pays, preaggregated
from viewkeeper.maintenance.summary_delta.prepare import prepare_deletions, prepare_insertions, summary_delta
from viewkeeper.maintenance.summary_delta.state import state_columns, stored_columns, visible

TABLE_3 = Statistics(
    rows={
        "pos": 1_000_000,
        "stores": 100,
        "items": 1000,
        "SID_sales": 100_000,
        "sCD_sales": 10_000,
        "SiC_sales": 2_000,
        "sR_sales": 10,
    },
    delta_rows={"pos": 10_000, "SID_sales": 1_000, "sCD_sales": 100, "SiC_sales": 1_000, "sR_sales": 10},
)


def edge(parent: CubeView, child: CubeView) -> Edge:
    found = derives(child, parent)
    assert isinstance(found, Edge), found
    return found


def read(rel) -> set[tuple[str, State]]:
    return {(scan.table, scan.at) for scan in scans(rel)}


class TestSection2:
    def test_figure_1_summary_tables_are_cube_views(self):
        shapes = {
            v.name: (v.fact.name, [d.table for d in v.dimensions], [k.name for k in v.keys]) for v in FIGURE_1
        }
        assert shapes == {
            "SID_sales": ("pos", [], ["storeID", "itemID", "date"]),
            "sCD_sales": ("pos", ["stores"], ["city", "date"]),
            "SiC_sales": ("pos", ["items"], ["storeID", "category"]),
            "sR_sales": ("pos", ["stores"], ["region"]),
        }

    def test_section_2_1_propagate_reads_only_the_changes(self):
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 1, 4, 9), (3, 10, 5, 2, 9)]},
            delete={"pos": [(1, 10, 1, 2, 9), (1, 12, 2, 1, 4)]},
        )
        delta = summary_delta(SID_SALES, changes)
        assert read(delta) == {("pos", State.DELTA)}
        columns = ("storeID", "itemID", "date", "__rows", "__sum_qty")
        assert retail.rows(restricted_to(delta, columns)) == {
            (1, 10, 1, 0, 2),
            (3, 10, 5, 1, 2),
            (1, 12, 2, -1, -1),
        }

    def test_figure_2_refresh_updates_deletes_and_inserts(self):
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 1, 4, 9), (3, 10, 5, 2, 9)]}, delete={"pos": [(1, 12, 2, 1, 4)]}
        )
        retail.materialize(SID_SALES)
        before = retail.rows(visible(SID_SALES, retail.stored(SID_SALES)))
        done = retail.refresh(SID_SALES, summary_delta(SID_SALES, changes), changes)
        after = retail.rows(visible(SID_SALES, retail.stored(SID_SALES)))
        assert before - after == {(1, 10, 1, 2, 7), (1, 12, 2, 1, 1)}
        assert after - before == {(1, 10, 1, 3, 11), (3, 10, 5, 1, 2)}
        assert done.override is None

    def test_figure_2_as_sql(self):
        assert refresh_sql(view("v", "storeID", "SUM(price) AS p")) == (
            "MERGE INTO v AS t\nUSING sd_v AS d\nON t.storeID IS NOT DISTINCT FROM d.storeID\n"
            "WHEN MATCHED AND t.__rows + d.__rows = 0 THEN DELETE\n"
            "WHEN MATCHED THEN UPDATE SET\n"
            "  t.__rows = t.__rows + d.__rows,\n"
            "  t.__n_price = t.__n_price + d.__n_price,\n"
            "  t.__sum_price = t.__sum_price + d.__sum_price\n"
            "WHEN NOT MATCHED THEN INSERT (storeID, __rows, __n_price, __sum_price) "
            "VALUES (d.storeID, d.__rows, d.__n_price, d.__sum_price)"
        )

    def test_figure_3_summary_deltas_from_summary_deltas(self):
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 1, 4, 9), (3, 10, 5, 2, 9)]},
            delete={"pos": [(2, 10, 2, 3, 9), (3, 11, 4, 1, 8)]},
        )
        nodes = lattice_friendly(FIGURE_1)
        steps = propagate(choose_for_deltas(nodes, TABLE_3, changes), changes, retail.stored)
        parents = {step.view.name: step.parent for step in steps}
        assert parents == {
            "SID_sales": None,
            "sCD_sales": "SID_sales",
            "SiC_sales": "SID_sales",
            "sR_sales": "sCD_sales",
        }
        for plan in lattice_plans(steps):
            retail.store(plan.name, plan.relation)
        sums = ("__rows", "__sum_qty")
        assert retail.rows(Reference("sd_sCD_sales", ("city", "__stores_storeID_region", "date", *sums))) == {
            ("Rome", "south", 1, 1, 4),
            ("Rome", "south", 2, -1, -3),
            ("Oslo", "north", 5, 1, 2),
            ("Oslo", "north", 4, -1, -1),
        }
        assert retail.rows(Reference("sd_sR_sales", ("region", *sums))) == {("south", 0, 1), ("north", 0, 1)}
        columns = ("storeID", "category", "__rows", "__min_date", "__lost_min_date", "__sum_qty")
        assert retail.rows(Reference("sd_SiC_sales", columns)) == {
            (1, "office", 1, 1, None, 4),
            (2, "office", -1, None, 2, -3),
            (3, "office", 0, 5, 4, 1),
        }

    def test_figure_3_as_sql(self):
        changes = batch("pos")
        nodes = lattice_friendly(FIGURE_1)
        steps = propagate(choose_for_deltas(nodes, TABLE_3, changes), changes, full_state)
        text = {plan.name: plan.sql() for plan in lattice_plans(steps)}
        assert text["sd_sR_sales"] == (
            "CREATE VIEW sd_sR_sales AS\n"
            "SELECT\n"
            "  sd_sCD_sales_1.__stores_storeID_region AS region,\n"
            "  COALESCE(SUM(sd_sCD_sales_1.__rows), 0) AS __rows,\n"
            "  COALESCE(SUM(sd_sCD_sales_1.__n_qty), 0) AS __n_qty,\n"
            "  COALESCE(SUM(sd_sCD_sales_1.__sum_qty), 0) AS __sum_qty\n"
            "FROM sd_sCD_sales AS sd_sCD_sales_1\n"
            "GROUP BY\n"
            "  sd_sCD_sales_1.__stores_storeID_region"
        )
        assert "INNER JOIN stores" in text["sd_sCD_sales"]
        assert "FROM sd_SID_sales" in text["sd_sCD_sales"]

    def test_table_1_counts_every_cell(self):
        table = accesses(lattice_friendly(FIGURE_1), TABLE_3)
        assert table == {
            "SID_sales": Accesses(1_100_000, 11_000, 11_000, 22_000),
            "sCD_sales": Accesses(110_000, 10_100, 1_100, 20_200),
            "SiC_sales": Accesses(102_000, 11_000, 2_000, 512_000),
            "sR_sales": Accesses(2_010, 10_010, 110, 1_010_020),
        }
        assert total(table.values()) == Accesses(1_314_010, 42_110, 14_210, 1_564_220)


class TestSection3:
    def test_count_is_kept_for_every_sum_and_extreme(self):
        names = [
            s.name
            for s in state_columns(view("v", "storeID", "SUM(qty) AS q, MIN(date) AS d, MAX(itemID) AS i"))
        ]
        assert names == ["__rows", "__n_qty", "__sum_qty", "__n_date", "__min_date", "__max_itemID"]

    def test_sum_over_only_nulls_is_null(self):
        retail = Retail()
        node = view("v", "storeID", "SUM(qty) AS q, MIN(qty) AS least, COUNT(qty) AS n")
        changes = retail.change(
            insert={"pos": [(3, 10, 9, None, 9)]}, delete={"pos": [(3, 12, 1, 7, 4), (3, 11, 4, 1, 8)]}
        )
        retail.materialize(node)
        retail.refresh(node, summary_delta(node, changes), changes, weakly_minimal=True)
        assert (3, None, None, 0) in retail.rows(visible(node, retail.stored(node)))
        assert retail.recomputed == set(), "COUNT(e) = 0: no need to look at the base data"

    def test_figure_4a_data_cube(self):
        nodes = lattice(
            view("".join(keys) or "none", ", ".join(keys), "COUNT(*) AS count, SUM(qty) AS qty")
            for keys in combinations([["storeID"], ["itemID"], ["date"]])
        )
        assert len(nodes.views) == 8
        assert len(nodes.covers) == 12
        assert [v.name for v in nodes.tops] == ["storeIDitemIDdate"]
        assert [v.name for v in nodes.bottoms] == ["none"]

    def test_example_3_1_edge_query(self):
        retail = Retail()
        top = view("SID", "storeID, itemID, date", "COUNT(*) AS count, SUM(qty) AS qty")
        below = view("SI", "storeID, itemID", "COUNT(*) AS count, SUM(qty) AS qty")
        retail.store("v1", full_state(top))
        derived = visible(below, edge_query(edge(top, below), Reference("v1", stored_columns(top))))
        assert {scan for scan in scans(derived) if isinstance(scan, Scan)} == set()
        assert retail.rows(derived) == retail.rows(visible(below, full_state(below)))
        assert (1, 10, 2, 7) in retail.rows(derived)

    def test_figure_5_combined_lattice(self):
        tables = {"city": "stores", "region": "stores", "category": "items"}
        nodes = lattice(
            view(
                "/".join(keys) or "none",
                ", ".join(keys),
                "COUNT(*) AS n",
                " ".join({tables[k] for k in keys if k in tables}),
            )
            for keys in combinations([["storeID", "city", "region"], ["itemID", "category"], ["date"]])
        )
        assert len(nodes.views) == 4 * 3 * 2
        # A step down in one of the three dimensions: 3*3*2 for stores, 4*2*2 for items, 4*3 for date.
        assert len(nodes.covers) == 18 + 16 + 12

        def label(parent, child):
            found = nodes.edge(parent, child)
            assert found is not None
            return found.annotation

        assert label("storeID/itemID/date", "city/itemID/date") == ("stores",)
        assert label("storeID/itemID/date", "storeID/category/date") == ("items",)
        assert label("storeID/itemID/date", "storeID/itemID") == ()
        assert label("city/itemID", "city/category") == ("items",)
        assert label("city/date", "city") == ()

    def test_partial_orders_week_and_month_under_date(self):
        from viewkeeper.algebra.schema import Column, TableSchema
        from viewkeeper.maintenance.lattice.hierarchy import closure, dependencies, hierarchies

        dates = TableSchema(
            "dates",
            tuple(Column(c, "int") for c in ("date", "week", "month")),
            ("date",),
            (),
            (("viewkeeper.hierarchy", "date > week; date > month"),),
        )
        assert hierarchies(dates) == (("date", "week"), ("date", "month"))
        known = dependencies(dates, ())
        assert closure(("date",), known) == {"date", "week", "month"}
        assert closure(("week",), known) == {"week"}

    def test_section_3_4_partial_lattice(self):
        nodes = lattice_friendly(FIGURE_1).restricted_to(["SID_sales", "sR_sales"])
        assert [(e.parent.name, e.child.name) for e in nodes.covers] == [("SID_sales", "sR_sales")]


class TestSection4:
    def test_table_2_aggregate_sources(self):
        node = view(
            "v", "storeID", "COUNT(*) AS n, COUNT(qty) AS nq, SUM(qty) AS q, MIN(date) AS lo, MAX(date) AS hi"
        )
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 8, None, 9), (1, 10, 9, 4, 9)]}, delete={"pos": [(3, 12, 1, 7, 4)]}
        )
        columns = (
            "__rows",
            "__n_qty",
            "__sum_qty",
            "__min_date",
            "__max_date",
            "__lost_min_date",
            "__lost_max_date",
        )
        inserted = restricted_to(prepare_insertions(node, changes), columns)
        deleted = restricted_to(prepare_deletions(node, changes), columns)
        assert retail.rows(inserted) == {(1, 0, None, 8, 8, None, None), (1, 1, 4, 9, 9, None, None)}
        assert retail.rows(deleted) == {(-1, -1, -7, None, None, 1, 1)}

    def test_example_4_1_and_figure_6(self):
        plans = propagate_plans(SIC_SALES, batch("pos"))
        assert [plan.name for plan in plans] == [
            "pi_SiC_sales",
            "pd_SiC_sales",
            "pc_SiC_sales",
            "sd_SiC_sales",
        ]
        assert read(plans[0].relation) == {("pos", State.DELTA), ("items", State.NEW)}
        assert plans[2].sql() == (
            "CREATE VIEW pc_SiC_sales AS\n"
            + "\nUNION ALL\n".join(
                "SELECT\n"
                + ",\n".join(f"  {side}_{n}.{c}" for c in plans[2].relation.columns)
                + f"\nFROM {side} AS {side}_{n}"
                for n, side in ((1, "pi_SiC_sales"), (2, "pd_SiC_sales"))
            )
        )

    def test_example_4_2_the_steps_of_figure_6_compute_the_summary_delta(self):
        retail = Retail()
        changes = retail.change(insert={"pos": [(1, 10, 0, 4, 9)]}, delete={"pos": [(2, 11, 3, 4, 8)]})
        for plan in propagate_plans(SIC_SALES, changes):
            stored = retail.store(plan.name, plan.relation)
        assert retail.rows(stored) == retail.rows(summary_delta(SIC_SALES, changes))
        columns = ("storeID", "category", "__rows", "__min_date", "__lost_min_date", "__sum_qty")
        assert retail.rows(restricted_to(stored, columns)) == {
            (1, "office", 1, 0, None, 4),
            (2, "office", -1, None, 3, -4),
        }

    def test_example_4_3_and_figure_7_preaggregation(self):
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 0, 4, 9), (1, 10, 7, 1, 9)]}, delete={"pos": [(2, 11, 3, 4, 8)]}
        )
        first = preaggregated(SIC_SALES, changes)
        assert first is not None
        assert [key.name for key in first.keys] == ["storeID", "itemID"]
        assert read(summary_delta(first, changes)) == {("pos", State.DELTA)}
        assert retail.rows(preaggregated_delta(SIC_SALES, first, changes)) == retail.rows(
            summary_delta(SIC_SALES, changes)
        )
        assert [plan.name for plan in preaggregation_plans(SIC_SALES, first, changes)] == [
            "pc_SiC_sales",
            "sd_SiC_sales",
        ]

    def test_preaggregation_is_a_matter_of_cost(self):
        first = preaggregated(SIC_SALES, batch("pos"))
        assert first is not None
        assert pays(SIC_SALES, first, changed_rows=10_000_000, groups=1_000)
        assert not pays(SIC_SALES, first, changed_rows=10_000_000, groups=9_000_000)
        assert not pays(SIC_SALES, first, changed_rows=10_000, groups=1_000)

    def test_no_join_waits_where_an_aggregate_uses_it_or_it_changed(self):
        assert preaggregated(view("v", "storeID", "SUM(cost) AS c", "items"), batch("pos")) is None
        assert preaggregated(SIC_SALES, batch("pos", "items")) is None

    def test_section_4_1_4_a_store_moves_to_another_city(self):
        retail = Retail()
        changes = retail.change(
            insert={"stores": [(2, "Oslo", "north")]}, delete={"stores": [(2, "Rome", "south")]}
        )
        delta = restricted_to(summary_delta(SCD_SALES, changes), ("city", "date", "__rows", "__sum_qty"))
        assert retail.rows(delta) == {
            ("Rome", 2, -1, -3),
            ("Rome", 3, -1, -4),
            ("Oslo", 2, 1, 3),
            ("Oslo", 3, 1, 4),
        }

    @pytest.mark.parametrize("node", FIGURE_1, ids=lambda node: node.name)
    def test_section_4_1_4_fact_and_dimensions_change_together(self, node):
        retail = Retail()
        changes = retail.change(
            insert={
                "stores": [(2, "Oslo", "north"), (4, "Bari", "south")],
                "pos": [(4, 12, 9, 1, 4), (2, 10, 0, 1, 9)],
                "items": [(11, "ink", "art", 2)],
            },
            delete={
                "stores": [(2, "Rome", "south")],
                "pos": [(2, 10, 2, 3, 9)],
                "items": [(11, "ink", "office", 2)],
            },
        )
        retail.materialize(node)
        retail.refresh(node, summary_delta(node, changes), changes, is_weakly_minimal(node, changes))
        assert retail.rows(retail.stored(node)) == retail.rows(full_state(node))

    def test_changes_of_columns_that_a_view_does_not_use_are_no_changes(self):
        retail = Retail()
        changes = retail.change(
            insert={"items": [(11, "red ink", "office", 5)]}, delete={"items": [(11, "ink", "office", 2)]}
        )
        assert retail.rows(summary_delta(SIC_SALES, changes)) == set()


class TestFigure8:
    """Each branch of the refresh function, on SiC_sales, whose EarliestSale is a MIN."""

    def refreshed(self, insert=(), delete=(), weakly_minimal=True):
        retail = Retail()
        changes = retail.change(insert={"pos": list(insert)}, delete={"pos": list(delete)})
        retail.materialize(SIC_SALES)
        retail.refresh(SIC_SALES, summary_delta(SIC_SALES, changes), changes, weakly_minimal)
        rows = {row[:2]: row[2:] for row in retail.rows(visible(SIC_SALES, retail.stored(SIC_SALES)))}
        assert retail.rows(retail.stored(SIC_SALES)) == retail.rows(full_state(SIC_SALES))
        return rows, retail.recomputed

    def test_a_group_that_is_not_found_is_inserted(self):
        rows, recomputed = self.refreshed(insert=[(3, 10, 6, 2, 9)], delete=[(1, 10, 1, 2, 9)])
        assert rows[3, "office"] == (2, 4, 3)
        assert recomputed == {(1, "office")}

    def test_a_group_without_rows_is_deleted_without_looking_at_the_base(self):
        rows, recomputed = self.refreshed(delete=[(1, 12, 2, 1, 4)])
        assert (1, "food") not in rows
        assert recomputed == set()

    def test_a_lost_minimum_is_recomputed(self):
        rows, recomputed = self.refreshed(delete=[(2, 10, 2, 3, 9)])
        assert rows[2, "office"] == (1, 3, 4)
        assert recomputed == {(2, "office")}

    def test_a_deleted_value_above_the_minimum_needs_nothing(self):
        rows, recomputed = self.refreshed(delete=[(2, 11, 3, 4, 8)])
        assert rows[2, "office"] == (1, 2, 3)
        assert recomputed == set()

    def test_weakly_minimal_changes_tighten_the_test(self):
        same = {"insert": [(2, 10, 1, 1, 9)], "delete": [(2, 10, 2, 3, 9)]}
        rows, recomputed = self.refreshed(**same)
        assert rows[2, "office"] == (2, 1, 5)
        assert recomputed == set(), "a smaller value was inserted: it is the new minimum"
        _, careful = self.refreshed(**same, weakly_minimal=False)
        assert careful == set(), "the inserted value lies below every deleted one"
        rows, careful = self.refreshed(
            insert=[(2, 10, 2, 1, 8)], delete=[(2, 10, 2, 3, 9)], weakly_minimal=False
        )
        assert careful == {(2, "office")}

    def test_a_row_that_one_term_inserts_and_another_deletes_leaves_no_minimum(self):
        """A store moves while its earliest sale is deleted: that sale never was in the new city."""
        node = view("v", "city", "MIN(date) AS earliest", "stores")
        retail = Retail()
        changes = retail.change(
            insert={"stores": [(2, "Oslo", "north")], "pos": []},
            delete={"stores": [(2, "Rome", "south")], "pos": [(2, 10, 2, 3, 9)]},
        )
        assert not is_weakly_minimal(node, changes)
        top = view("top", "storeID, date", "COUNT(*) AS n")
        for delta in (
            summary_delta(node, changes),
            edge_delta(edge(top, node), summary_delta(top, changes), changes, full_old(retail, top)),
        ):
            retail.materialize(node)
            retail.refresh(node, delta, changes, weakly_minimal=False)
            assert retail.rows(retail.stored(node)) == retail.rows(full_state(node))


def full_old(retail: Retail, node: CubeView):
    retail.materialize(node)
    return retail.stored(node)


class TestSection43:
    def test_insert_only_batches_append_blindly(self):
        retail = Retail()
        changes = retail.change(insert={"pos": [(1, 10, 0, 4, 9)]})
        retail.materialize(SIC_SALES)
        done = retail.refresh(SIC_SALES, summary_delta(SIC_SALES, changes), changes)
        assert done.override is None
        assert done.layer.columns == stored_columns(SIC_SALES)
        assert retail.rows(retail.stored(SIC_SALES)) == retail.rows(full_state(SIC_SALES))

    def test_new_dates_are_new_groups(self):
        stored = {"date": (1, 4), "storeID": (1, 3)}
        assert keys_known_new(SID_SALES, stored, {"date": (5, 6), "storeID": (1, 3)})
        assert not keys_known_new(SID_SALES, stored, {"date": (4, 6), "storeID": (1, 3)})
        assert not keys_known_new(SR_SALES, stored, {"date": (5, 6)}), "sR_sales does not group by date"
        assert not keys_known_new(SID_SALES, stored, {"date": (None, None)})


class TestSection5:
    def test_example_5_1_the_derives_relation(self):
        relation = {
            (child.name, parent.name): found.annotation
            for child in FIGURE_1
            for parent in FIGURE_1
            if child is not parent and isinstance(found := derives(child, parent), Edge)
        }
        assert relation == {
            ("sCD_sales", "SID_sales"): ("stores",),
            ("SiC_sales", "SID_sales"): ("items",),
            ("sR_sales", "SID_sales"): ("stores",),
            ("sR_sales", "sCD_sales"): ("stores",),
            ("sR_sales", "SiC_sales"): ("stores",),
        }
        nodes = lattice(FIGURE_1)
        assert [v.name for v in nodes.tops] == ["SID_sales"]
        assert [v.name for v in nodes.bottoms] == ["sR_sales"]

    def test_a_count_and_a_sum_over_a_group_by_attribute(self):
        retail = Retail()
        child = view("child", "storeID", "SUM(date) AS s, COUNT(date) AS n, MAX(date) AS m")
        found = edge(SID_SALES, child)
        assert [s.reused for s in found.sources] == [True, False, False, False]
        derived = edge_query(found, full_state(SID_SALES))
        assert retail.rows(derived) == retail.rows(full_state(child))

    def test_example_5_2_extended_views_share_joins_and_aggregates(self):
        for node in extended(FIGURE_1):
            calls = {m.expr.sql() for m in node.all_measures}
            assert calls == {"COUNT(*)", 'SUM("qty")', 'MIN("date")'}
        top = extended(FIGURE_1)[0]
        assert [d.table for d in top.dimensions] == ["stores", "items"]
        assert [k.name for k in top.hidden_keys] == [
            "__items_itemID_category",
            "__stores_storeID_city",
            "__stores_storeID_region",
        ]

    def test_example_5_4_and_figure_9(self):
        nodes = lattice_friendly(FIGURE_1)
        assert {(e.parent.name, e.child.name): e.annotation for e in nodes.covers} == {
            ("SID_sales", "sCD_sales"): ("stores",),
            ("SID_sales", "SiC_sales"): ("items",),
            ("sCD_sales", "sR_sales"): (),
            ("SiC_sales", "sR_sales"): ("stores",),
        }
        hidden = {v.name: [k.expr.name for k in v.hidden_keys] for v in nodes.views}
        assert hidden == {
            "SID_sales": [],
            "sCD_sales": ["stores[storeID].region"],
            "SiC_sales": [],
            "sR_sales": [],
        }
        assert all(not v.hidden_measures for v in nodes.views)

    def test_example_5_5_the_fourth_edge(self):
        retail = Retail()
        changes = retail.change(
            insert={"pos": [(1, 10, 0, 4, 9), (3, 10, 5, 2, 9)]}, delete={"pos": [(2, 10, 2, 3, 9)]}
        )
        retail.store("sd_SiC_sales", summary_delta(SIC_SALES, changes))
        parent = Reference("sd_SiC_sales", summary_delta(SIC_SALES, changes).columns)
        delta = edge_delta(edge(SIC_SALES, SR_SALES), parent, changes)
        assert read(delta) == {("stores", State.NEW)}
        assert retail.rows(delta) == retail.rows(summary_delta(SR_SALES, changes))

    def test_theorem_5_1_the_d_lattice_is_the_v_lattice(self):
        """The same edges with the same joins serve recomputation and deltas, for every pair."""
        retail = Retail()
        changes = retail.change(insert={"pos": [(1, 10, 0, 4, 9)]}, delete={"pos": [(3, 12, 1, 7, 4)]})
        for found in lattice_friendly(FIGURE_1).edges:
            assert retail.rows(edge_query(found, full_state(found.parent))) == retail.rows(
                full_state(found.child)
            )
            retail.materialize(found.child)
            delta = edge_delta(found, summary_delta(found.parent, changes), changes)
            retail.refresh(found.child, delta, changes, weakly_minimal=True)
            assert retail.rows(retail.stored(found.child)) == retail.rows(full_state(found.child))

    def test_section_5_5_the_parent_is_chosen_by_cost_with_its_joins(self):
        nodes = lattice_friendly(FIGURE_1)
        choice = {c.view.name: c for c in choose_for_deltas(nodes, TABLE_3, batch("pos"))}
        assert choice["sR_sales"].parent == "sCD_sales"
        assert choice["sR_sales"].cost == 100
        assert dict(choice["sR_sales"].rejected) == {
            "SID_sales": 1_000 + 500 + 100,
            "SiC_sales": 1_000 + 500 + 100,
            "pos": 10_000 + 5_000 + 100,
        }
