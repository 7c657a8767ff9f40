"""Changes to tables: net effect, checks, atomicity, the log of changes, time travel."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.templates import Filled
from tests.warehouse.rows import bag, rows
from viewkeeper import errors


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE stores (id INT, city STRING, PRIMARY KEY (id))")
    warehouse.sql("CREATE TABLE pos (store INT, qty INT, FOREIGN KEY (store) REFERENCES stores (id))")
    with warehouse.transaction() as t:
        t.insert("stores", [(1, "a"), (2, None)])
        t.insert("pos", [(1, 5), (1, 5), (2, None)])


@pytest.fixture
def shop(filled: Filled) -> vk.Warehouse:
    return filled(stock)


def test_bags_keep_duplicates_and_nulls(shop: vk.Warehouse) -> None:
    assert rows(shop.table("pos")) == bag([(1, 5), (1, 5), (2, None)])


def test_deletes_one_copy_each(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.delete("pos", [(1, 5), (2, None)])
    assert rows(shop.table("pos")) == bag([(1, 5)])


def test_a_row_inserted_and_deleted_leaves_no_trace(shop: vk.Warehouse) -> None:
    before = shop.version
    with shop.transaction() as t:
        t.insert("pos", [(2, 9)])
        t.delete("pos", [(2, 9)])
    assert shop.version == before
    assert rows(shop.table("pos")) == bag([(1, 5), (1, 5), (2, None)])


def test_updates_change_only_the_columns_given(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.update("stores", [{"id": 1, "city": "z"}])
        t.insert("stores", [(3, "c")])
        t.update("stores", [{"id": 3, "city": "d"}])
    assert rows(shop.table("stores")) == bag([(1, "z"), (2, None), (3, "d")])


def test_deletes_by_key_within_the_transaction(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.insert("stores", [(7, "x")])
        t.delete("stores", [(7,)])
        t.insert("stores", [(7, "y")])
    assert rows(shop.table("stores")) == bag([(1, "a"), (2, None), (7, "y")])


def test_a_key_may_be_replaced_in_one_transaction(shop: vk.Warehouse) -> None:
    with shop.transaction() as t:
        t.delete("stores", [(2, None)])
        t.insert("stores", [(2, "new")])
    assert rows(shop.table("stores")) == bag([(1, "a"), (2, "new")])


def test_an_exception_discards_everything(shop: vk.Warehouse) -> None:
    before = shop.version

    def interrupted() -> None:
        with shop.transaction() as t:
            t.insert("pos", [(1, 1)])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        interrupted()
    assert shop.version == before


def test_trusted_rows_are_not_checked(shop: vk.Warehouse) -> None:
    before = shop._work.engine.actions
    with shop.transaction() as t:
        t.insert("pos", [(99, 1)], check=False)
    assert shop._work.engine.actions == before, "the driver writes rows that are given as a list"
    assert rows(shop.table("pos"))[(99, 1)] == 1


def test_one_row_costs_few_actions(shop: vk.Warehouse) -> None:
    before = shop._work.engine.actions
    with shop.transaction() as t:
        t.insert("pos", [(1, 1)])
    assert shop._work.engine.actions - before == 1, "one for all checks"


def test_lists_of_rows_and_a_query_in_one_transaction(shop: vk.Warehouse) -> None:
    """What is on the driver and what Spark computes: later changes see earlier ones, and all cancels."""
    with shop.transaction() as t:
        t.insert("stores", [{"id": 3}, {"id": 4}])
        t.update("stores", [{"id": 3, "city": "c"}])
        t.delete("stores", [(4, None)])
        t.insert("pos", [(3, 1), (3, None)])
        t.delete("pos", [(3, None), (1, 5)])
        t.insert("pos", shop.spark.sql("SELECT 2 AS store, 8 AS qty"))
    assert rows(shop.table("stores")) == bag([(1, "a"), (2, None), (3, "c")])
    assert rows(shop.table("pos")) == bag([(1, 5), (2, None), (3, 1), (2, 8)])


def test_rows_that_are_deleted_are_equal_as_spark_finds_them(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (x DOUBLE, s STRING)")
    with warehouse.transaction() as t:
        t.insert("t", [(float("nan"), None), (-0.0, "a"), (1.5, "b")])
        t.delete("t", [(float("nan"), None)])
    with warehouse.transaction() as t:
        t.delete("t", [(0.0, "a")])
        t.insert("t", [(2.5, "c"), (float("nan"), "n")])
    found = [tuple(map(str, row)) for row in warehouse.table("t").collect()]
    assert sorted(found) == [("1.5", "b"), ("2.5", "c"), ("nan", "n")]


def test_an_empty_list_changes_nothing(shop: vk.Warehouse) -> None:
    before = shop.version
    with shop.transaction() as t:
        t.insert("pos", [])
        t.delete("pos", [])
        t.update("stores", [])
    assert shop.version == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO pos VALUES (1, 1), (2, 2)",
        "DELETE FROM pos WHERE qty = 5",
        "UPDATE pos SET qty = 6 WHERE qty = 5",
    ],
)
def test_few_rows_that_a_statement_changes_are_written_by_the_driver(
    shop: vk.Warehouse, statement: str
) -> None:
    before = shop._work.engine.actions
    shop.sql(statement)
    assert shop._work.engine.actions - before == 2, "one that computes them, one for all checks"
    [file] = shop._work.log.latest().relations["pos"].log[-1].files
    assert file.path.endswith("part-0.parquet")


def test_time_travel(shop: vk.Warehouse) -> None:
    version = shop.version
    shop.sql("DELETE FROM pos WHERE qty = 5")
    assert rows(shop.table("pos")) == bag([(2, None)])
    assert rows(shop.table("pos", version=version)) == bag([(1, 5), (1, 5), (2, None)])


def test_changes_between_versions_of_a_keyed_table(shop: vk.Warehouse) -> None:
    version = shop.version
    with shop.transaction() as t:
        t.update("stores", [{"id": 1, "city": "b"}])
    with shop.transaction() as t:
        t.insert("stores", [(3, "c")])
        t.update("stores", [{"id": 1, "city": "c"}])
    found = shop.changes("stores", since=version)
    assert found.columns == ["change", "old_id", "new_id", "old_city", "new_city"]
    assert rows(found) == bag([("update", 1, 1, "a", "c"), ("insert", None, 3, None, "c")])


def test_changes_of_a_bag_are_net(shop: vk.Warehouse) -> None:
    version = shop.version
    with shop.transaction() as t:
        t.insert("pos", [(1, 5), (2, 8)])
    with shop.transaction() as t:
        t.delete("pos", [(2, 8), (2, None)])
    found = shop.changes("pos", since=version)
    assert rows(found) == bag([("insert", None, 1, None, 5), ("delete", 2, None, None, None)])


def test_many_small_transactions_are_folded(shop: vk.Warehouse) -> None:
    for number in range(20):
        with shop.transaction() as t:
            t.insert("pos", [(1, number)])
    status = {entry.name: entry for entry in shop.status()}
    assert status["pos"].layers < 20
    assert shop.table("pos").count() == 23


def test_compaction_changes_nothing_that_is_seen(shop: vk.Warehouse) -> None:
    version = shop.version
    shop.sql("UPDATE stores SET city = 'q' WHERE id = 2")
    before = rows(shop.table("stores"))
    shop.compact()
    assert rows(shop.table("stores")) == before
    assert {entry.layers for entry in shop.status()} == {0}
    assert rows(shop.changes("stores", since=version)) == bag([("update", 2, 2, None, "q")])


def test_vacuum_keeps_what_retained_versions_name(shop: vk.Warehouse) -> None:
    version = shop.version
    shop.sql("DELETE FROM pos WHERE qty = 5")
    shop.compact()
    assert shop.vacuum(keep=1) > 0
    assert rows(shop.table("pos")) == bag([(2, None)])
    with pytest.raises(errors.NotFound):
        shop.table("pos", version=version)


def test_every_type_goes_in_and_out(warehouse: vk.Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE t (a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(38,10),"
        " h STRING, i BOOLEAN, j BINARY, k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n ARRAY<INT>,"
        " o STRUCT<x: INT, y: STRING>)"
    )
    when = datetime(2024, 2, 29, 12, 30, 1, 5)
    numbers = (1, 2, 3, 2**62, 0.5, -0.0, Decimal("1.5"))
    row = (*numbers, "ü", True, b"\x00", date(2024, 2, 29), when, when, [1], (1, "a"))
    with warehouse.transaction() as t:
        t.insert("t", [row, tuple([None] * 15)])
    found = warehouse.table("t").collect()
    assert [tuple(r) for r in found if r.a == 1] == [row]
    with warehouse.transaction() as t:
        t.delete("t", [row])
    assert warehouse.table("t").count() == 1


@pytest.mark.parametrize("kind", ["frame", "arrow", "pandas", "dicts", "csv", "parquet"])
def test_tables_from_many_kinds_of_data(
    warehouse: vk.Warehouse, spark: SparkSession, tmp_path: object, kind: str
) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")
    data = {
        "frame": lambda: frame,
        "arrow": lambda: pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]}),
        "pandas": lambda: pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}),
        "dicts": lambda: [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
        "csv": lambda: _saved(f"{tmp_path}/x.csv", "id,name\n1,a\n2,b\n"),
        "parquet": lambda: _parquet(frame, f"{tmp_path}/x"),
    }[kind]()
    warehouse.create_table("t", data, key=["id"])
    assert rows(warehouse.table("t")) == bag([(1, "a"), (2, "b")])


def _saved(path: str, text: str) -> str:
    with open(path, "w") as file:
        file.write(text)
    return path


def _parquet(frame: object, path: str) -> str:
    frame.write.parquet(path)  # type: ignore[attr-defined]
    return path


def test_sql_changes(shop: vk.Warehouse) -> None:
    shop.sql("INSERT INTO stores VALUES (3, 'c'), (4, 'd')")
    shop.sql("INSERT INTO stores (id) SELECT id + 10 FROM stores WHERE id > 3")
    shop.sql("UPDATE stores SET city = upper(city) WHERE id IN (SELECT store FROM pos)")
    shop.sql("DELETE FROM stores WHERE id = 4")
    shop.sql(
        "MERGE INTO stores USING (VALUES (3, 'cc'), (5, 'e')) AS s (id, city) ON stores.id = s.id"
        " WHEN MATCHED THEN UPDATE SET city = s.city WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(shop.table("stores")) == bag([(1, "A"), (2, None), (3, "cc"), (14, None), (5, "e")])


def test_an_update_of_the_key_itself(shop: vk.Warehouse) -> None:
    shop.sql("INSERT INTO stores VALUES (8, 'h')")
    shop.sql("UPDATE stores SET id = id + 1 WHERE id = 8")
    assert rows(shop.table("stores"))[(9, "h")] == 1


def test_main_is_a_plain_delta_table(shop: vk.Warehouse) -> None:
    import duckdb
    import polars
    from deltalake import DeltaTable

    shop.sql("DELETE FROM pos WHERE qty IS NULL")
    shop.compact("pos")
    state = shop._work.log.latest().relations["pos"]
    table = DeltaTable(f"{shop.path}/{state.folder}")
    expected = [(1, 5), (1, 5)]
    assert [tuple(r.values()) for r in table.to_pyarrow_table().to_pylist()] == expected
    assert polars.read_delta(f"{shop.path}/{state.folder}").rows() == expected
    assert duckdb.read_parquet(table.file_uris()).select("store, qty").fetchall() == expected
