"""The derives relation beyond the paper's examples: refusals, WHERE clauses, lossy joins, hierarchies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.maintenance.retail import (
    FIGURE_1,
    ITEMS,
    POS,
    SCD_SALES,
    SCHEMAS,
    SID_SALES,
    SR_SALES,
    STORES,
    Retail,
    named,
    plan,
    view,
)
from tests.reference.propagation import propagate, why_not
from tests.reference.summary_refresh import batch, full_state
from viewkeeper.algebra.expressions import Named, column
from viewkeeper.algebra.relations import Aggregate, Bound, Reference, Scan
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import base_tables
from viewkeeper.errors import InvalidOption
from viewkeeper.maintenance.lattice.answer import Answer, answer
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_delta, edge_query
from viewkeeper.maintenance.lattice.hierarchy import hierarchies, violations
from viewkeeper.maintenance.lattice.over_summary import over_base
from viewkeeper.maintenance.lattice.parents import Statistics, choose_for_deltas, choose_for_views
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.maintenance.summary_delta.prepare import summary_delta
from viewkeeper.maintenance.summary_delta.state import stored_columns, visible
from viewkeeper.report import Reason
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view


def code(child: CubeView, parent: CubeView) -> str:
    found = derives(child, parent)
    assert isinstance(found, Reason)
    assert parent.name in found.sentence
    return found.code


def test_what_the_parent_lacks_is_named():
    assert code(SID_SALES, SR_SALES) == "attribute-missing"
    assert code(view("v", "region", "SUM(price) AS p", "stores"), SCD_SALES) == "aggregate-missing"
    assert code(
        view("v", "storeID", "COUNT(*) AS n"), view("w", "storeID", "COUNT(*) AS n", "", "qty > 1")
    ) == ("other-where")
    assert list(why_not(SID_SALES, FIGURE_1)) == ["sCD_sales", "SiC_sales", "sR_sales"]


def test_a_condition_on_group_by_columns_is_applied_at_the_edge():
    retail = Retail()
    child = view("v", "city", "COUNT(*) AS n", "stores", "date > 1 AND region = 'south'")
    found = derives(child, SID_SALES)
    assert isinstance(found, Edge)
    assert len(found.where) == 2
    assert retail.rows(edge_query(found, full_state(SID_SALES))) == retail.rows(full_state(child))


def test_a_parent_that_may_have_lost_rows_is_refused():
    loose = {**SCHEMAS, "pos": replace(POS, foreign_keys=())}
    parent = cube_view(plan("storeID, city", "COUNT(*) AS n", "stores"), loose, "parent")
    child = cube_view(plan("storeID", "COUNT(*) AS n"), loose, "child")
    assert isinstance(parent, CubeView)
    assert isinstance(child, CubeView)
    assert code(child, parent) == "lossy-join"


def test_an_unused_join_that_drops_rows_is_made_at_the_edge():
    loose = {**SCHEMAS, "pos": replace(POS, foreign_keys=())}
    parent = cube_view(plan("storeID, date", "COUNT(*) AS n"), loose, "parent")
    child = cube_view(plan("date", "COUNT(*) AS n", "stores"), loose, "child")
    assert isinstance(parent, CubeView)
    assert isinstance(child, CubeView)
    found = derives(child, parent)
    assert isinstance(found, Edge)
    assert found.annotation == ("stores",)


def test_a_join_along_a_declared_hierarchy():
    """sR_sales from sCD_sales: a city has one region, also where the city is NULL, also when it moves."""
    retail = Retail()
    changes = retail.change(
        insert={"stores": [(1, "Oslo", "north"), (4, None, "west")], "pos": [(4, 10, 1, 1, 1)]},
        delete={"stores": [(1, "Rome", "south")]},
    )
    found = derives(SR_SALES, SCD_SALES)
    assert isinstance(found, Edge)
    assert found.joins[0].level == "stores[storeID].city"
    assert retail.rows(edge_query(found, full_state(SCD_SALES))) == retail.rows(full_state(SR_SALES))
    for node in (SCD_SALES, SR_SALES):
        retail.materialize(node)
    delta = edge_delta(found, summary_delta(SCD_SALES, changes), changes, retail.stored(SCD_SALES))
    retail.refresh(SR_SALES, delta, changes)
    assert retail.rows(retail.stored(SR_SALES)) == retail.rows(full_state(SR_SALES))
    assert ("west", 1, 1) in retail.rows(visible(SR_SALES, retail.stored(SR_SALES)))


def test_views_that_derive_each_other_make_no_cycle():
    twins = [view(name, "storeID", "SUM(qty) AS q") for name in ("a", "b", "c")]
    nodes = lattice(twins)
    assert [(e.parent.name, e.child.name) for e in nodes.covers] == [("a", "b"), ("b", "c")]


def test_a_changed_dimension_makes_its_edges_read_the_stored_parent_not_the_fact_table():
    nodes = lattice(FIGURE_1)
    sizes = Statistics({"pos": 10_000, "stores": 10, "items": 10, "SID_sales": 100}, {"pos": 0})
    steps = propagate(
        choose_for_deltas(nodes, sizes, batch("stores")),
        batch("stores"),
        lambda v: Reference(f"main_{v.name}", stored_columns(v)),
    )
    assert {step.view.name: step.parent for step in steps} == {
        "sCD_sales": "SID_sales",
        "sR_sales": "SID_sales",
    }
    assert [base_tables(step.relation) for step in steps] == [("stores",), ("stores",)]


def test_only_a_chain_of_single_changes_is_weakly_minimal():
    nodes = lattice(FIGURE_1)
    sizes = Statistics({"pos": 10_000, "stores": 10, "items": 10, "SID_sales": 100}, {"pos": 10_000})

    def minimal(*changed: str) -> dict[str, bool]:
        changes = batch(*changed)
        steps = propagate(choose_for_deltas(nodes, sizes, changes), changes, full_state)
        assert all(step.parent for step in steps if step.view is not SID_SALES)
        return {step.view.name: step.weakly_minimal for step in steps}

    assert set(minimal("pos").values()) == {True}
    assert set(minimal("stores").values()) == {True}
    assert minimal("pos", "stores") == {
        "SID_sales": True,
        "sCD_sales": False,
        "SiC_sales": True,
        "sR_sales": False,
    }


def test_recomputation_uses_the_lattice_too():
    sizes = Statistics(
        {"pos": 10_000, "stores": 10, "items": 10, "SID_sales": 100, "sCD_sales": 5, "SiC_sales": 50}
    )
    choices = choose_for_views(lattice(FIGURE_1), sizes)
    assert {c.view.name: c.parent for c in choices} == {
        "SID_sales": None,
        "sCD_sales": "SID_sales",
        "SiC_sales": "SID_sales",
        "sR_sales": "sCD_sales",
    }


class TestHierarchies:
    def test_an_unknown_column_is_named(self):
        bad = replace(STORES, properties=(("viewkeeper.hierarchy", "storeID > town"),))
        with pytest.raises(InvalidOption) as raised:
            hierarchies(bad)
        assert raised.value.columns == ("town",)
        assert raised.value.table == "stores"

    def test_violations_of_a_declared_chain_are_found(self):
        retail = Retail()
        check = violations(STORES, "city", "region")
        assert retail.rows(check) == set()
        retail.change(insert={"stores": [(4, "Rome", "north"), (5, None, "a"), (6, None, None)]})
        assert retail.rows(check) == {("Rome",), (None,)}


SUMMARY = TableSchema(
    "SID_sales", tuple(Column(c, "int") for c in ("storeID", "itemID", "date", "TotalCount", "TotalQuantity"))
)


def over_summary(keys: str, measures: str) -> CubeView | Reason:
    rel = Scan("SID_sales", tuple(Bound(c.name, c) for c in SUMMARY.columns))
    found = cube_view(
        Aggregate(rel, tuple(named(keys)), tuple(named(measures))), {"SID_sales": SUMMARY}, "top"
    )
    assert isinstance(found, CubeView)
    return over_base(found, SID_SALES)


class TestSummaryOverSummary:
    def test_it_is_a_child_in_the_lattice_and_its_delta_comes_from_the_parents(self):
        node = over_summary("storeID", "SUM(TotalQuantity) AS q, SUM(TotalCount) AS n, MIN(date) AS d")
        assert isinstance(node, CubeView)
        assert node.fact == POS
        found = derives(node, SID_SALES)
        assert isinstance(found, Edge)
        retail = Retail()
        changes = retail.change(insert={"pos": [(1, 10, 0, 4, 9)]}, delete={"pos": [(3, 12, 1, 7, 4)]})
        retail.materialize(node)
        retail.store("sd", summary_delta(SID_SALES, changes))
        delta = edge_delta(found, Reference("sd", summary_delta(SID_SALES, changes).columns), changes)
        retail.refresh(node, delta, changes, weakly_minimal=True)
        assert retail.rows(visible(node, retail.stored(node))) == {(1, 12, 4, 0), (2, 7, 2, 2), (3, 1, 1, 4)}

    def test_without_groups_a_sum_of_counts_is_null_over_nothing(self):
        node = over_summary("", "SUM(TotalCount) AS n, SUM(TotalQuantity) AS q")
        assert isinstance(node, CubeView)
        retail = Retail()
        assert retail.rows(visible(node, full_state(node))) == {(7, 23)}
        retail.change(delete={"pos": retail.rows_of["pos"]})
        assert retail.rows(visible(node, full_state(node))) == {(None, None)}

    @pytest.mark.parametrize(
        ("keys", "measures", "why"),
        [
            ("storeID", "COUNT(*) AS n", "not-distributive"),
            ("storeID", "AVG(TotalQuantity) AS a", "not-distributive"),
            ("storeID", "MIN(TotalQuantity) AS a", "not-distributive"),
            ("TotalCount", "SUM(TotalQuantity) AS a", "uses-aggregate"),
        ],
    )
    def test_what_counts_groups_is_refused(self, keys, measures, why):
        found = over_summary(keys, measures)
        assert isinstance(found, Reason)
        assert found.code == why


class TestAnswers:
    SIZES = Statistics(
        {"SID_sales": 100, "sCD_sales": 20, "SiC_sales": 50, "sR_sales": 2, "stores": 3, "items": 3}
    )

    def test_the_cheapest_view_answers(self):
        retail = Retail()
        query = view("query", "region", "SUM(qty) AS q", "stores")
        found = answer(query, FIGURE_1, full_state, self.SIZES)
        assert isinstance(found, Answer)
        assert found.view.name == "sR_sales"
        assert retail.rows(found.relation) == {("south", 15), ("north", 8)}
        assert [name for name, _ in found.rejected] == ["sCD_sales", "SiC_sales", "SID_sales"]

    def test_why_no_view_answers(self):
        found = answer(view("query", "price", "COUNT(*) AS n"), FIGURE_1, full_state)
        assert isinstance(found, Reason)
        assert found.code == "not-derivable"
        assert "does not group by price" in found.sentence

    def test_no_view_of_that_table(self):
        other = cube_view(
            Aggregate(
                Scan("items", tuple(Bound(c.name, c) for c in ITEMS.columns)),
                (Named("category", column("category")),),
                (),
            ),
            SCHEMAS,
            "query",
        )
        assert isinstance(other, CubeView)
        found = answer(other, FIGURE_1, full_state)
        assert isinstance(found, Reason)
        assert found.code == "no-view"


SHOWING_SIGNS = ("CAST(x AS STRING)", "- x", "if(x > 0, x, NULL)")


@pytest.mark.parametrize("key", [*SHOWING_SIGNS, "x > 0", "(x) IN (1, 2)", "n + 1"])
def test_signs_of_zeros_are_not_read_from_groups(key: str) -> None:
    """A group shows −0.0 as 0.0; comparisons see no difference."""
    floats = TableSchema("f", (Column("x", "double"), Column("n", "int")))

    def by(keys: str) -> CubeView:
        text = f"SELECT {keys}, COUNT(*) AS c FROM f GROUP BY {keys}"
        found = cube_view(parse_view(text, StaticCatalog([floats])).relation, {"f": floats}, keys)
        assert isinstance(found, CubeView)
        return found

    if key in SHOWING_SIGNS:
        assert code(by(key), by("x, n")) == "zeros"
    else:
        assert isinstance(derives(by(key), by("x, n")), Edge)
