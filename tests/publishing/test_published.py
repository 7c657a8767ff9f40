"""Published tables and views follow every commit of the warehouse, and make up for what was left undone."""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

import viewkeeper as vk
from tests.streams.changes import Stream
from tests.streams.shapes import TABLES
from tests.streams.test_streams import apply
from viewkeeper import published
from viewkeeper.errors import InvalidOption, NotFound, UnknownColumn, Unsupported
from viewkeeper.published import NotPublished
from viewkeeper.publishing import follow, publisher

VIEWS = {
    "sums": "SELECT store, SUM(qty) AS q, AVG(price) AS p, MAX(day) AS d FROM sales GROUP BY store",
    "rounded": "SELECT item, round(AVG(qty), 1) AS a FROM sales GROUP BY item",
    "joined": "SELECT s.item, s.weight, i.kind FROM sales s JOIN items i ON s.item = i.name",
}


def as_bag(rows: Any) -> Counter[str]:
    return Counter(repr([_plain(value) for value in row]) for row in rows)


def _plain(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def by_polars(place: str) -> Counter[str]:
    return as_bag(pl.scan_delta(place).collect().rows())


def by_deltalake(place: str) -> Counter[str]:
    table = pa.table(QueryBuilder().register("t", DeltaTable(place)).execute("SELECT * FROM t").read_all())
    return as_bag(zip(*(column.to_pylist() for column in table.columns), strict=True))


def by_spark(wh: vk.Warehouse, name: str) -> Counter[str]:
    return as_bag(tuple(row) for row in wh.table(name).collect())


@pytest.fixture
def sales(warehouse: vk.Warehouse) -> vk.Warehouse:
    warehouse.sql(f"CREATE TABLE sales ({TABLES['sales']})")
    warehouse.sql("CREATE TABLE items (name STRING, kind STRING, cost DECIMAL(6,2))")
    warehouse.sql("CREATE TABLE stores (id INT NOT NULL, city STRING, region STRING, PRIMARY KEY (id))")
    warehouse.sql("CREATE TABLE moves (src INT, dst INT, amount BIGINT)")
    return warehouse


def test_every_reader_sees_what_the_warehouse_shows(sales: vk.Warehouse, tmp_path: Path) -> None:
    stream = Stream(random.Random(5))
    for name, text in VIEWS.items():
        sales.create_view(name, text, publish=True)
    sales.sql(
        "CREATE MATERIALIZED VIEW towns TBLPROPERTIES ('viewkeeper.publish' = 'true',"
        f" 'viewkeeper.publish.mode' = 'copy-on-write', 'viewkeeper.publish.to' = '{tmp_path / 'out'}')"
        " AS SELECT DISTINCT city, region FROM stores"
    )
    places = {name: f"{sales.path}/published/{name}" for name in (*VIEWS, "stores")}
    assert sales.publish("stores") == places["stores"]
    places["towns"] = str(tmp_path / "out")
    apply(sales, stream.start())
    for _ in range(4):
        sales.refresh()
        for name, place in places.items():
            wanted = by_spark(sales, name)
            assert by_polars(place) == wanted, name
            assert by_deltalake(place) == wanted, name
        apply(sales, stream.batch())
    assert DeltaTable(places["towns"]).protocol().min_reader_version == 1
    fields = {field.name: field.nullable for field in DeltaTable(places["stores"]).schema().fields}
    assert fields == {"id": False, "city": True, "region": True}
    assert all(sales.verify_published(name) for name in places)


def test_what_is_left_undone_is_made_up_for(sales: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    sales.create_view("sums", VIEWS["sums"], publish=True)
    place = f"{sales.path}/published/sums"
    sales.sql("INSERT INTO sales (store, qty) VALUES (1, 5), (2, 6)")

    def fails(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(publisher, "commit", fails)
        with pytest.warns(NotPublished, match="sums is not published yet"):
            sales.refresh()
    assert by_polars(place) == Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPublished)
        assert sales.refresh().version == sales.version
    assert by_polars(place) == by_spark(sales, "sums")
    commits = len(DeltaTable(place).history())
    sales.refresh()
    sales.compact("sums")
    assert len(DeltaTable(place).history()) == commits
    assert sales.verify_published("sums").version == sales.version - 1


def test_verification_finds_what_differs(sales: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    sales.publish("stores")
    sales.sql("INSERT INTO stores VALUES (1, 'a', 'b')")
    assert sales.verify_published("stores")
    monkeypatch.setattr(published, "rows_left", lambda *_: iter(()))
    found = sales.verify_published("stores")
    assert (found.missing, found.extra) == (({"id": 1, "city": "a", "region": "b", "__count": 1},), ())
    assert not found


def test_a_view_with_another_query_is_published_with_other_columns(sales: vk.Warehouse) -> None:
    sales.sql("INSERT INTO sales (store, qty) VALUES (1, 5), (2, 6)")
    sales.create_view("v", "SELECT store FROM sales", publish=True)
    sales.alter_view("v", "SELECT store, qty FROM sales")
    place = f"{sales.path}/published/v"
    assert by_polars(place) == by_spark(sales, "v") == as_bag([(1, 5), (2, 6)])
    with pytest.raises(Unsupported, match="no column named"):
        sales.alter_view("v", "SELECT store, SUM(qty) FROM sales GROUP BY store")
    assert by_polars(place) == by_spark(sales, "v")
    elsewhere = sales.publish("v", f"{sales.path}-elsewhere")
    assert sales.published == {"v": elsewhere}
    assert by_polars(elsewhere) == by_spark(sales, "v")
    assert not list(Path(place).glob("*.parquet"))


def test_what_is_dropped_or_unpublished_leaves_nothing(sales: vk.Warehouse, tmp_path: Path) -> None:
    sales.create_view("sums", VIEWS["sums"], publish=True)
    other = tmp_path / "out"
    sales.publish("stores", str(other))
    (other / "mine.txt").write_text("kept")
    sales.unpublish("stores")
    assert [path.name for path in other.rglob("*") if path.is_file()] == ["mine.txt"]
    sales.drop("sums")
    assert [path for path in Path(sales.path, "published").rglob("*") if path.is_file()] == []
    for wrong in (sales.unpublish, sales.verify_published):
        with pytest.raises(NotFound, match="stores is not published"):
            wrong("stores")


def test_what_cannot_be_published_is_told_before(sales: vk.Warehouse) -> None:
    version = sales.version
    with pytest.raises(Unsupported, match=r"no column named sum\(qty\)"):
        sales.create_view("v", "SELECT store, SUM(qty) FROM sales GROUP BY store", publish=True)
    with pytest.raises(InvalidOption, match="merge-on-read, copy-on-write"):
        sales.publish("sales", mode="fast")
    with pytest.raises(InvalidOption, match="true, false"):
        sales.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('viewkeeper.publish' = 'yes')")
    assert sales.version == version


def test_of_large_views_spark_writes_the_files(sales: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into one that is published with an order, from a state that only has main, and one with layers."""
    monkeypatch.setattr(follow, "LARGE", 3)
    stream = Stream(random.Random(8))
    apply(sales, stream.start())
    sales.create_view("sums", VIEWS["sums"])
    place = sales.publish("sums", cluster_by=["d"], cdf=True)
    for _ in range(2):
        apply(sales, stream.batch())
        sales.refresh()
        assert by_polars(place) == by_spark(sales, "sums")
    assert sales.verify_published("sums")
    sales.publish("sums", mode="copy-on-write")
    assert by_deltalake(place) == by_polars(place) == by_spark(sales, "sums")
    assert DeltaTable(place).protocol().min_reader_version == 1


def test_a_layout_is_told_by_properties(sales: vk.Warehouse) -> None:
    properties = "'viewkeeper.publish' = 'true', 'viewkeeper.publish.partition_by' = 'City'"
    text = "AS SELECT region, city FROM stores"
    with pytest.raises(UnknownColumn, match="names the column City"):
        sales.sql(f"CREATE MATERIALIZED VIEW towns TBLPROPERTIES ({properties}) {text}")
    sales.sql(f"CREATE MATERIALIZED VIEW towns TBLPROPERTIES ({properties.lower()}) {text}")
    with sales.transaction() as t:
        t.insert("stores", [(1, "ulm", "s"), (2, None, "s"), (3, "kiel", "n")])
    sales.refresh()
    assert by_polars(sales.published["towns"]) == by_deltalake(sales.published["towns"])
    assert by_polars(sales.published["towns"]) == by_spark(sales, "towns")
    assert DeltaTable(sales.published["towns"]).metadata().partition_columns == ["city"]
    opened = vk.open(sales.path, sales.spark, publish=True)
    opened.create_view("ids", "SELECT id FROM stores")
    opened.sql(f"CREATE MATERIALIZED VIEW own TBLPROPERTIES ('viewkeeper.publish' = 'false') {text}")
    assert set(opened.published) == {"towns", "ids"}
    with pytest.raises(Unsupported, match="can be of the types"):
        sales.publish("items", partition_by=["cost"])
