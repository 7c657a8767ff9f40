"""What joins the lattice beside plain summaries: summaries of summaries, grouping sets, hidden columns, and
the aggregation before the joins."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyarrow import parquet

import viewkeeper as vk
from tests.sizes import SIZES
from tests.templates import Filled
from viewkeeper.errors import DependencyError
from viewkeeper.maintenance.steps import BESIDE
from viewkeeper.maintenance.summary_delta import preaggregate

pytestmark = pytest.mark.usefixtures("maintained", "every_edge")

BY_STORE = (
    "SELECT store, day, COUNT(*) AS n, SUM(price) AS total, MIN(price) AS least FROM sales GROUP BY ALL"
)
BY_REGION = """
    SELECT region, SUM(n) AS n, SUM(total) AS total, MIN(least) AS least
    FROM by_store JOIN stores USING (store) GROUP BY region"""
OVER_ALL = "SELECT SUM(n) AS n, SUM(total) AS total, MIN(least) AS least FROM by_region"


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE stores (store INT PRIMARY KEY, city STRING, region STRING)")
    warehouse.sql(
        "CREATE TABLE sales (store INT NOT NULL REFERENCES stores, day INT, price DECIMAL(6, 2), item INT)"
    )
    places = [(1, "a", "north"), (2, "a", "north"), (3, "b", "north"), (4, "c", "south")]
    with warehouse.transaction() as t:
        t.insert("stores", places)
        t.insert("sales", [sale(random.Random(n)) for n in range(20)])


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def sale(rng: random.Random) -> tuple[object, ...]:
    price = rng.choice([None, Decimal(rng.randint(100, 300)) / 100])
    return rng.randint(1, 4), rng.choice([None, 1, 2]), price, rng.randint(1, 3)


def changed(wh: vk.Warehouse, seed: int, moved: bool = False) -> None:
    """Some sales go, others come, and perhaps a store moves to another region."""
    rng = random.Random(seed)
    rows = [tuple(row) for row in wh.table("sales").collect()]
    with wh.transaction() as t:
        t.delete("sales", rng.sample(rows, len(rows) // 3))
        t.insert("sales", [sale(rng) for _ in range(8)])
        if moved:
            t.update(
                "stores", [{"store": 2, "city": rng.choice("ac"), "region": rng.choice(["south", "east"])}]
            )


def equal_to_text(wh: vk.Warehouse, view: str, sql: str) -> None:
    """The view equals its own text over what it names, in values and types."""
    stored, asked = wh.table(view), wh.sql(sql, use_views=False)
    assert stored.dtypes == asked.dtypes
    assert sorted(map(repr, stored.collect())) == sorted(map(repr, asked.collect()))


class TestSummaryOverSummary:
    @pytest.fixture
    def chain(self, shop: vk.Warehouse) -> vk.Warehouse:
        shop.create_view("by_store", BY_STORE)
        shop.create_view("by_region", BY_REGION)
        shop.create_view("over_all", OVER_ALL)
        return shop

    def test_its_summary_delta_comes_from_its_parents(self, chain: vk.Warehouse) -> None:
        chain.sql("INSERT INTO sales VALUES (1, 1, 2.50, 1), (1, 1, 3.50, 1), (4, 2, NULL, 2)")
        report = chain.refresh(policy="strict")
        above = {"by_store": None, "by_region": "by_store", "over_all": "by_region"}
        assert {entry.view: entry.details["parent"] for entry in report} == above
        assert {entry.strategy for entry in report} == {"summary-delta"}
        reads = {entry.view: set(entry.details["reads"]) for entry in report}
        assert reads == {"by_store": {"sales__delta"}, "by_region": {"stores"}, "over_all": set()}
        assert report.of("by_region").rows_read == 2 + 4
        equal_to_text(chain, "by_region", BY_REGION)
        equal_to_text(chain, "over_all", OVER_ALL)

    def test_it_equals_its_text_whatever_changes(self, chain: vk.Warehouse) -> None:
        for seed in range(3)[: SIZES.rounds]:
            changed(chain, seed, moved=seed == 1)
            chain.refresh(policy="strict")
            for name, sql in (("by_store", BY_STORE), ("by_region", BY_REGION), ("over_all", OVER_ALL)):
                equal_to_text(chain, name, sql)
                assert chain.verify(name)
        chain.sql("DELETE FROM sales")
        chain.refresh(policy="strict")
        equal_to_text(chain, "over_all", OVER_ALL)

    def test_it_is_drawn_propagated_and_asked_like_any_other(self, chain: vk.Warehouse) -> None:
        drawn = chain.lattice().to_dict()
        assert {(edge["parent"], edge["child"]) for edge in drawn["edges"]} >= {("by_store", "by_region")}
        chain.sql("INSERT INTO sales VALUES (1, 1, 2.50, 1)")
        assert [entry.view for entry in chain.propagate()] == ["by_store", "by_region", "over_all"]
        assert {entry.reason.code for entry in chain.refresh()} == {"propagated"}
        query = "SELECT region, SUM(price) AS t FROM sales JOIN stores USING (store) GROUP BY region"
        assert chain.explain_query(query).view == "by_region"
        equal_to_text(chain, "over_all", OVER_ALL)

    def test_to_refresh_it_alone_refreshes_what_it_is_over(self, chain: vk.Warehouse) -> None:
        chain.sql("INSERT INTO sales VALUES (1, 1, 2.50, 1)")
        assert {entry.view for entry in chain.refresh("by_region")} == {"by_store", "by_region"}
        assert [status.name for status in chain.status() if status.stale] == ["over_all"]
        equal_to_text(chain, "by_region", BY_REGION)

    def test_what_it_is_over_cannot_be_dropped_beneath_it(self, chain: vk.Warehouse) -> None:
        with pytest.raises(DependencyError, match="by_store cannot be dropped"):
            chain.drop("by_store")
        chain.drop("by_store", cascade=True)
        assert [status.name for status in chain.status()] == ["stores", "sales"]

    @pytest.mark.parametrize(
        "sql",
        [
            f"{BY_STORE[: BY_STORE.index('GROUP')]} WHERE item = 1 GROUP BY ALL",
            "SELECT store, day, item AS n, price AS total, price AS least FROM sales",
        ],
        ids=["another summary", "no summary"],
    )
    def test_it_follows_when_what_it_is_over_is_redefined(self, chain: vk.Warehouse, sql: str) -> None:
        chain.sql(f"ALTER MATERIALIZED VIEW by_store AS {sql}")
        chain.refresh()
        equal_to_text(chain, "by_region", BY_REGION)
        changed(chain, 5)
        chain.refresh(policy="incremental")
        equal_to_text(chain, "by_region", BY_REGION)
        equal_to_text(chain, "over_all", OVER_ALL)

    def test_what_counts_the_groups_reads_the_parent(self, shop: vk.Warehouse) -> None:
        text = "SELECT day, COUNT(*) AS stores, MAX(n) AS most FROM by_store GROUP BY day"
        shop.create_view("by_store", BY_STORE)
        shop.create_view("busy", text)
        changed(shop, 1)
        assert shop.refresh(policy="strict").of("busy").details["parent"] is None
        equal_to_text(shop, "busy", text)


class TestGroupingSets:
    CUBE = """
        SELECT city, day, COUNT(*) AS n, SUM(price) AS total FROM sales JOIN stores USING (store)
        GROUP BY CUBE (city, day)"""

    def test_they_are_propagated_drawn_and_asked(self, shop: vk.Warehouse) -> None:
        shop.create_view("cubed", self.CUBE)
        before = sorted(map(repr, shop.table("cubed").collect()))
        changed(shop, 3)
        assert [entry.strategy for entry in shop.propagate()] == ["summary-delta"]
        assert sorted(map(repr, shop.table("cubed").collect())) == before
        assert [entry.reason.code for entry in shop.refresh()] == ["propagated"]
        equal_to_text(shop, "cubed", self.CUBE)
        names = {node["name"] for node in shop.lattice().to_dict()["views"]}
        assert names == {"cubed(city, day)", "cubed(city)", "cubed(day)", "cubed()"}
        query = "SELECT day, COUNT(*) AS n, SUM(price) AS total FROM sales GROUP BY day"
        assert shop.explain_query(query).view == "cubed(day)"
        answered, plain = shop.sql(query), shop.sql(query, use_views=False)
        assert sorted(map(repr, answered.collect())) == sorted(map(repr, plain.collect()))

    def test_what_was_propagated_of_them_is_dropped_with_them(self, shop: vk.Warehouse) -> None:
        shop.create_view("cubed", self.CUBE)
        changed(shop, 4)
        shop.propagate()
        shop.drop("cubed")
        shop.create_view("cubed", self.CUBE)
        assert not shop.refresh()
        equal_to_text(shop, "cubed", self.CUBE)


class TestHiddenColumns:
    BY_DAY = "SELECT store, day, item, COUNT(*) AS n FROM sales GROUP BY store, day, item"
    BY_CITY = """
        SELECT city, SUM(price) AS total, MIN(price) AS least, COUNT(*) FILTER (WHERE price > 2) AS dear
        FROM sales JOIN stores USING (store) GROUP BY city"""

    def test_another_view_derives_from_what_is_hidden(self, shop: vk.Warehouse) -> None:
        shop.create_view("by_day", self.BY_DAY)
        shop.create_view("by_city", self.BY_CITY)
        assert shop.lattice().to_dict()["edges"] == []
        version = shop.extend_views()
        assert shop.extend_views() == version
        [edge] = shop.lattice().to_dict()["edges"]
        assert (edge["parent"], edge["child"], edge["joins"]) == ("by_day", "by_city", ["stores"])
        assert shop.table("by_day").columns == ["store", "day", "item", "n"]
        for seed in range(2):
            changed(shop, seed)
            report = shop.refresh(policy="strict")
            assert report.of("by_city").details["parent"] == "by_day"
            equal_to_text(shop, "by_day", self.BY_DAY)
            equal_to_text(shop, "by_city", self.BY_CITY)
        changed(shop, 2, moved=True)
        shop.refresh(policy="strict")
        equal_to_text(shop, "by_city", self.BY_CITY)
        shop.sql(
            f"ALTER MATERIALIZED VIEW by_day AS {self.BY_DAY.replace('item, ', '').replace(', item', '')}"
        )
        assert shop.lattice().to_dict()["edges"] == []

    def test_a_summary_of_a_summary_has_hidden_columns_too(self, shop: vk.Warehouse) -> None:
        by_region = "SELECT region, SUM(n) AS n FROM by_day JOIN stores USING (store) GROUP BY region"
        total = "SELECT SUM(price) AS total FROM sales"
        shop.create_view("by_day", self.BY_DAY)
        shop.create_view("by_region", by_region)
        shop.create_view("total", total)
        shop.extend_views()
        changed(shop, 1)
        report = shop.refresh(policy="strict")
        assert report.of("by_region").details["parent"] == "by_day"
        assert report.of("total").details["parent"] == "by_region"
        for name, sql in (("by_day", self.BY_DAY), ("by_region", by_region), ("total", total)):
            equal_to_text(shop, name, sql)


class TestFirstAggregation:
    @pytest.fixture
    def cheap_groups(self, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
        """As if joining a row were much dearer than aggregating it."""
        monkeypatch.setattr(preaggregate, "JOIN_SHARE", 1000.0)
        limit(aggregated_first=0)

    def test_changes_are_aggregated_before_they_are_joined(
        self, shop: vk.Warehouse, cheap_groups: None
    ) -> None:
        query = """SELECT region, COUNT(*) AS n, SUM(price) AS total, MIN(price) AS least
                   FROM sales JOIN stores USING (store) WHERE city <> 'z' GROUP BY region"""
        shop.create_view("by_region", query)
        for seed in range(3)[: SIZES.rounds]:
            changed(shop, seed)
            shown = shop.explain("by_region")
            assert any("Compute pc_by_region" in step.title for step in shown.steps)
            assert "CREATE VIEW pc_by_region AS" in shown.figures
            assert shop.refresh(policy="strict").of("by_region").strategy == "summary-delta"
            equal_to_text(shop, "by_region", query)

    def test_few_changes_are_joined_at_once(self, shop: vk.Warehouse) -> None:
        shop.create_view("by_city", TestHiddenColumns.BY_CITY)
        changed(shop, 1)
        assert not any("pc_by_city" in step.title for step in shop.explain("by_city").steps)


def test_explain_shows_the_edge_and_the_paper_s_form(shop: vk.Warehouse) -> None:
    shop.create_view("by_store", BY_STORE)
    shop.create_view("by_region", BY_REGION)
    changed(shop, 1)
    child, parent = shop.explain("by_region"), shop.explain("by_store")
    assert (parent.parent, child.parent) == (None, "by_store")
    for name in ("pi_by_store", "pd_by_store", "pc_by_store", "sd_by_store"):
        assert f"CREATE VIEW {name} AS" in parent.figures
    assert "FROM sd_by_store" in child.figures
    for shown in (child, parent):
        assert f"MERGE INTO {shown.view}" in shown.figures
        assert shown.figures.splitlines()[0] in str(shown)
        assert shown.to_dict()["parent"] == shown.parent
    assert "by way of by_store" in str(child)


class TestHandedOn:
    """A layer of a view with extremes holds the changes beside the new state where another needs them."""

    def columns(self, wh: vk.Warehouse, name: str) -> set[str]:
        state = wh._work.log.latest().relations[name]
        [file] = state.overlay[-1].files
        path = Path(wh._work.engine.folder.url, state.folder, file.path)
        return set(parquet.ParquetFile(path).schema_arrow.names)

    def test_only_then(self, warehouse: vk.Warehouse) -> None:
        pos = [{"store": n % 3, "item": n % 2, "qty": n} for n in range(12)]
        warehouse.create_table("pos", pos)
        warehouse.create_view("pairs", "SELECT store, item, MIN(qty) AS m FROM pos GROUP BY store, item")
        warehouse.sql("DELETE FROM pos WHERE qty = 9")
        warehouse.refresh()
        assert not any(name.startswith(BESIDE) for name in self.columns(warehouse, "pairs"))
        warehouse.create_view("stores", "SELECT store, MIN(qty) AS m FROM pos GROUP BY store")
        warehouse.sql("DELETE FROM pos WHERE qty = 10")
        assert warehouse.refresh().of("stores").details["parent"] == "pairs"
        assert any(name.startswith(BESIDE) for name in self.columns(warehouse, "pairs"))
        assert warehouse.verify("pairs")
        assert warehouse.verify("stores")
