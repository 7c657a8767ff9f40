"""Which views could answer a workload, without Spark."""

from __future__ import annotations

import pytest

from tests.maintenance.retail import ITEMS, POS, STORES
from viewkeeper.advise.candidates import Proposal, above, forms, general, proposals, smallest
from viewkeeper.advise.groups import countings, upkeep
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.recognise import cube_view
from viewkeeper.maintenance.lattice.text import select_text
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.sql.parse import parse_view

CATALOG = Catalog({table.name: table for table in (POS, STORES, ITEMS)})
STORE, ITEM = "JOIN stores USING (storeID)", "JOIN items USING (itemID)"
CITY = f"SELECT city, SUM(qty) AS q FROM pos {STORE} GROUP BY city"
REGION = f"SELECT region, SUM(price) AS p FROM pos {STORE} GROUP BY region"
CATEGORY = f"SELECT category, MIN(date) AS d FROM pos {ITEM} GROUP BY category"
OF_STORE = "SELECT storeID, AVG(qty) AS q FROM pos GROUP BY storeID"
OF_DAY = f"SELECT city, SUM(qty) AS q FROM pos {STORE} WHERE date >= 7 GROUP BY city"


def cube(sql: str, name: str = "query") -> CubeView:
    plan = parse_view(sql, CATALOG).relation
    assert plan is not None
    found = cube_view(plan, CATALOG.tables, name)
    assert isinstance(found, CubeView), found
    return found


def shown(view: CubeView) -> tuple[set[str], set[str]]:
    return {key.name for key in view.keys}, {measure.name for measure in view.measures}


@pytest.mark.parametrize(
    ("one", "other", "keys", "measures"),
    [
        (CITY, CATEGORY, {"city", "category"}, {"sum_qty", "min_date"}),
        (CITY, OF_STORE, {"storeID"}, {"sum_qty", "avg_qty"}),
        (CITY, REGION, {"city"}, {"sum_qty", "sum_price"}),
        (CITY, OF_DAY, {"city", "date"}, {"sum_qty"}),
    ],
)
def test_two_queries_are_answered_from_what_is_above_them(
    one: str, other: str, keys: set[str], measures: set[str]
) -> None:
    """Keys that others determine, by a foreign key or along a hierarchy, are left out."""
    found = smallest(above(cube(one), cube(other)))
    assert shown(found) == (keys, measures)
    assert all(isinstance(derives(cube(sql), found), Edge) for sql in (one, other))


def test_a_condition_is_a_key_for_other_values_and_stays_where_they_do_not_vary() -> None:
    wide, narrow = forms(cube(OF_DAY))
    assert (shown(wide)[0], wide.where) == ({"city", "date"}, ())
    assert (shown(narrow)[0], narrow.where) == ({"city"}, cube(OF_DAY).where)
    assert forms(cube(OF_DAY), varies=True) == (wide,)


def test_conditions_that_all_share_stay() -> None:
    other = f"SELECT region, SUM(qty) AS q FROM pos {STORE} WHERE date >= 7 GROUP BY region"
    both = above(cube(OF_DAY), cube(other))
    assert [c.sql("spark") for c in both.where] == ["`date` >= 7"]
    assert shown(both)[0] == {"city", "region"}


def offered(queries: list[str], existing: dict[str, str], fixed: tuple[str, ...] = ()) -> list[Proposal]:
    starts = [form for sql in queries for form in forms(cube(sql))]
    return list(proposals(starts, {name: cube(sql, name) for name, sql in existing.items()}, fixed))


def test_a_view_that_exists_is_extended_by_what_queries_lack() -> None:
    found = {one.view: one for one in offered([REGION, CITY], {"cities": CITY})}
    assert [call.sql("spark") for call in found["cities"].lacks] == ["SUM(`price`)"]
    assert "SUM(pos.price) AS sum_price" in select_text(found["cities"].cube)
    assert {"region"} in [shown(one.cube)[0] for one in found.values()]


def test_a_view_that_is_fixed_gets_a_new_one_beside_it() -> None:
    found = offered([REGION, CITY], {"cities": CITY}, ("cities",))
    assert [one.view for one in found if shown(one.cube)[0] == {"city"}] == ["cities", None]
    assert not any(one.lacks for one in found)


@pytest.mark.parametrize("sql", [CITY, REGION, CATEGORY, OF_STORE, OF_DAY])
def test_the_text_of_a_candidate_is_that_candidate(sql: str) -> None:
    for form in forms(cube(sql)):
        again = cube(select_text(form), form.name)
        assert (again.keys, again.where) == (form.keys, form.where)
        assert {m.expr for m in again.measures} == {m.expr for m in form.measures}
        assert [o.name for o in again.outputs] == [o.name for o in form.outputs]


def test_a_table_in_two_roles_has_two_names_in_a_text() -> None:
    rivals = "SELECT a.city, b.city AS other, COUNT(*) AS n FROM pos"
    rivals += " JOIN stores a ON pos.storeID = a.storeID JOIN stores b ON pos.itemID = b.storeID GROUP BY ALL"
    text = select_text(general(cube(rivals)))
    assert "JOIN stores AS stores2" in text
    assert cube(text).keys == general(cube(rivals)).keys


def test_a_query_without_aggregates_counts() -> None:
    assert shown(general(cube("SELECT DISTINCT storeID FROM pos")))[1] == {"count_all"}


def test_all_candidates_of_a_fact_table_are_counted_together() -> None:
    """But for those whose joins lose rows: items are joined here by no foreign key."""
    views = [cube(CITY, "x"), cube(OF_STORE, "y"), cube(CATEGORY, "z")]
    assert [[view.name for view in together] for together in countings(views)] == [["x", "y", "z"]]
    lossy = "SELECT cost, COUNT(*) AS n FROM pos JOIN items ON pos.qty = items.itemID GROUP BY cost"
    assert len(countings([*views, cube(lossy, "w")])) == 2


def test_upkeep_reads_the_changes_and_writes_the_groups_that_they_touch() -> None:
    sizes = {"pos": 100_000, "stores": 100, "items": 1_000}
    few = upkeep(general(cube(CITY)).renamed("v"), 50, TableChange(1_000, True), sizes)
    many = upkeep(general(cube(OF_DAY)).renamed("v"), 20_000, TableChange(1_000, True), sizes)
    assert 1_000 <= few.rows_read < 5_000
    assert few.rows_written <= 50
    assert few.rows_written < many.rows_written <= 1_000
