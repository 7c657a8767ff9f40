"""Which plans are generalized cube views, and which are refused, with their codes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.maintenance.retail import POS, SCHEMAS, Retail, expression, named, plan, scan
from tests.reference.summary_refresh import full_state
from viewkeeper.algebra.expressions import Named
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
    UnionAll,
)
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import derives
from viewkeeper.maintenance.lattice.recognise import cube_view, cube_views
from viewkeeper.maintenance.lattice.summary import Summary, is_exact
from viewkeeper.maintenance.program import program
from viewkeeper.maintenance.summary_delta.state import visible
from viewkeeper.report import Reason
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import DUCKDB, render


def recognised(rel, schemas=SCHEMAS) -> CubeView:
    found = cube_view(rel, schemas, "v")
    assert isinstance(found, CubeView), found
    return found


def refused(rel, schemas=SCHEMAS) -> str:
    found = cube_view(rel, schemas, "v")
    assert isinstance(found, Reason)
    assert found.sentence
    return found.code


def test_the_key_of_a_dimension_is_its_foreign_key():
    a = recognised(plan("storeID AS s", "COUNT(*) AS n", "stores"))
    b = recognised(plan("stores_storeID AS s", "COUNT(*) AS n", "stores"))
    assert a.keys == b.keys
    assert a.where == b.where == ()


def test_conditions_keep_a_fixed_order_whatever_the_sql_said():
    a = recognised(plan("city", "COUNT(*) AS n", "stores", "qty > 1 AND region = 'x'"))
    b = recognised(plan("city", "COUNT(*) AS n", "stores", "region = 'x' AND qty > 1"))
    assert a.where == b.where
    assert len(a.where) == 2


def test_a_foreign_key_that_is_required_and_declared_loses_no_row():
    loose = replace(POS, foreign_keys=())
    assert recognised(plan("city", "COUNT(*) AS n", "stores")).dimensions[0].lossless
    found = recognised(plan("city", "COUNT(*) AS n", "stores"), {**SCHEMAS, "pos": loose})
    assert not found.dimensions[0].lossless


def test_two_roles_of_one_dimension_stay_apart():
    moves = TableSchema(
        "moves",
        (Column("source", "int", False), Column("target", "int", False)),
        (),
        tuple(ForeignKey((c,), "stores", ("storeID",)) for c in ("source", "target")),
    )
    schemas = {**SCHEMAS, "moves": moves}

    def role(name):
        return Scan("stores", tuple(Bound(f"{name}_{c.name}", c) for c in SCHEMAS["stores"].columns))

    rel = Scan("moves", tuple(Bound(c.name, c) for c in moves.columns))
    rel = Join(rel, role("s"), JoinKind.INNER, expression("source = s_storeID"))
    rel = Join(rel, role("t"), JoinKind.INNER, expression("target = t_storeID"))
    found = recognised(Aggregate(rel, tuple(named("s_city, t_city")), tuple(named("COUNT(*) AS n"))), schemas)
    assert [d.path for d in found.dimensions] == ["stores[source]", "stores[target]"]
    assert [k.expr.name for k in found.keys] == ["stores[source].city", "stores[target].city"]


def test_a_snowflake_is_followed_from_the_fact_table():
    regions = TableSchema(
        "regions", (Column("region", "string", False), Column("head", "string")), ("region",)
    )
    rel = Join(
        scan("stores"),
        Scan("regions", (Bound("r", regions.columns[0]), Bound("head", regions.columns[1]))),
        JoinKind.INNER,
        expression("region = r"),
    )
    rel = Join(rel, scan("pos"), JoinKind.INNER, expression("stores_storeID = storeID"))
    found = recognised(Aggregate(rel, tuple(named("head")), ()), {**SCHEMAS, "regions": regions})
    assert found.fact.name == "pos"
    assert [d.path for d in found.dimensions] == ["stores[storeID]", "regions[stores[storeID].region]"]


def test_expressions_above_the_aggregate_are_outputs():
    retail = Retail()
    grouped = plan("storeID", "SUM(qty) AS q, COUNT(*) AS n")
    rel = Project(grouped, (Named("share", expression("q / n")), Named("store", expression("storeID"))))
    found = recognised(rel)
    assert [o.name for o in found.outputs] == ["share", "store"]
    assert (8 / 3, 1) in retail.rows(visible(found, full_state(found)))


def test_a_key_is_stored_under_the_name_by_which_it_is_shown():
    grouped = plan("storeID, itemID", "COUNT(*) AS n")
    found = recognised(Project(grouped, tuple(named("itemID AS storeID, n AS itemID"))))
    assert [k.name for k in found.keys] == ["__key_storeID", "storeID"]
    retail = Retail()
    assert (10, 2) in retail.con.execute(render(visible(found, full_state(found)), DUCKDB)).fetchall()


def test_distinct_is_grouping_without_aggregates():
    found = recognised(Distinct(Project(scan("pos"), tuple(named("storeID, itemID")))))
    assert found.measures == ()
    assert [k.name for k in found.keys] == ["storeID", "itemID"]


@pytest.mark.parametrize(
    ("rel", "code"),
    [
        (scan("pos"), "no-aggregate"),
        (Filter(plan("storeID", "COUNT(*) AS n"), expression("n > 1")), "having"),
        (plan("storeID", "COUNT(DISTINCT itemID) AS n"), "holistic"),
        (plan("storeID", "MEDIAN(qty) AS n"), "holistic"),
        (Aggregate(Distinct(scan("pos")), tuple(named("storeID")), ()), "not-a-star"),
        (
            Aggregate(
                Join(scan("pos"), scan("stores"), JoinKind.LEFT, expression("storeID = stores_storeID")),
                tuple(named("city")),
                (),
            ),
            "not-inner-join",
        ),
        (
            Aggregate(
                Join(scan("pos"), scan("stores"), JoinKind.INNER, expression("qty > stores_storeID")),
                tuple(named("city")),
                (),
            ),
            "not-a-star",
        ),
        (
            Aggregate(
                Join(scan("stores"), scan("items"), JoinKind.INNER, expression("city = name")),
                tuple(named("city")),
                (),
            ),
            "not-a-star",
        ),
    ],
)
def test_refusals(rel, code):
    assert refused(rel) == code


def test_a_table_that_nobody_knows_is_refused():
    assert refused(plan("storeID", "COUNT(*) AS n"), {}) == "unknown-table"


def test_grouping_sets_are_several_nodes_of_one_view():
    def grouping_set(keys: str, outputs: str):
        return Project(plan(keys, "SUM(qty) AS q", "stores"), tuple(named(outputs)))

    rollup = UnionAll(
        (
            grouping_set("region, city", "region, city, q"),
            grouping_set("region", "region, NULL AS city, q"),
            grouping_set("", "NULL AS region, NULL AS city, q"),
        )
    )
    nodes = cube_views(rollup, SCHEMAS, "sales")
    assert not isinstance(nodes, Reason)
    assert [node.name for node in nodes] == ["sales#1", "sales#2", "sales#3"]
    assert [len(node.keys) for node in nodes] == [2, 1, 0]
    retail = Retail()
    shown = UnionAll(tuple(visible(node, full_state(node)) for node in nodes))
    assert retail.rows(shown) == retail.rows(rollup)
    assert (None, None, 23) in retail.rows(shown)


def test_a_rollup_as_the_front_end_writes_it():
    sql = (
        "SELECT region, city, SUM(qty) AS q, GROUPING(city) AS g FROM pos JOIN stores USING (storeID) "
        "GROUP BY ROLLUP (region, city)"
    )
    rel = parse_view(sql, StaticCatalog(SCHEMAS.values())).relation
    assert rel is not None
    nodes = cube_views(rel, SCHEMAS, "sales")
    assert not isinstance(nodes, Reason)
    assert [[k.name for k in node.keys if k.name in ("region", "city")] for node in nodes] == [
        ["region", "city"],
        ["region"],
        [],
    ]
    assert [(e.parent.name, e.child.name) for e in lattice(nodes).covers] == [
        ("sales#1", "sales#2"),
        ("sales#2", "sales#3"),
    ]
    retail = Retail()
    shown = UnionAll(tuple(visible(node, full_state(node)) for node in nodes))
    assert retail.rows(shown) == retail.rows(rel)
    assert ("south", None, 15, 1) in retail.rows(shown)


def test_one_refused_grouping_set_refuses_the_view():
    bad = UnionAll((plan("storeID", "COUNT(*) AS n"), plan("storeID", "MEDIAN(qty) AS n")))
    found = cube_views(bad, SCHEMAS, "v")
    assert isinstance(found, Reason)
    assert found.code == "holistic"


def test_a_summary_says_what_each_stored_column_is_over_the_base_tables():
    """The strata of a view name its state; where COUNT(e) is COUNT(*), both are the same piece."""
    rel = plan("storeID", "SUM(qty) AS q, MAX(itemID) AS i, COUNT(*) AS n")
    [stratum] = program("v", rel)
    summary = Summary(recognised(rel), stratum.state)
    meaning = {stratum.state.name(part): piece.name for part, piece in summary.meaning.items()}
    assert meaning == {
        "__rows": "__rows",
        "__sum_qty": "__sum_qty",
        "__n_qty": "__n_qty",
        "__max_itemID": "__max_itemID",
        "__n_itemID": "__rows",
    }


def test_an_edge_that_multiplies_long_decimals_is_not_exact():
    wide = replace(POS, columns=(*POS.columns[:-1], Column("price", "decimal(30,10)")))
    for schema, exact in ((POS, True), (wide, False)):
        schemas = {**SCHEMAS, "pos": schema}
        parent = cube_view(plan("storeID, price", "COUNT(*) AS n", schemas=schemas), schemas, "parent")
        child = cube_view(plan("storeID", "SUM(price) AS p", schemas=schemas), schemas, "child")
        assert is_exact(derives(child, parent)) is exact
