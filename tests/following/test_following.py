"""Tables that others own, through the public names: what is read, what is told, and what is refused."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.following.source import appended, delete_by_vector, merged, orders
from tests.warehouse.rows import bag, rows
from viewkeeper.errors import (
    AlreadyExists,
    BrokenForeignKey,
    CannotMaintain,
    DependencyError,
    DuplicateKey,
    InvalidChange,
    InvalidOption,
    MissingFile,
    NotFound,
    UnknownColumn,
    Unsupported,
    WrongType,
)
from viewkeeper.refresh import follow

TOTALS = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Ten files of ten orders each."""
    found = tmp_path / "lake" / "orders"
    for number in range(10):
        appended(found, orders(range(10 * number, 10 * number + 10)))
    return found


@pytest.fixture
def followed(warehouse: vk.Warehouse, path: Path) -> vk.Warehouse:
    warehouse.follow("orders", str(path), key=["id"])
    warehouse.create_view("totals", TOTALS)
    return warehouse


def files_below(warehouse: vk.Warehouse) -> list[str]:
    """The data files of the warehouse that belong to followed tables."""
    return [str(path) for path in Path(warehouse.path).glob("relations/orders-*/**/*.parquet")]


def test_after_an_append_the_appended_rows_are_read(followed: vk.Warehouse, path: Path) -> None:
    appended(path, orders(range(100, 107)))
    report = followed.refresh()
    assert (report.of("totals").strategy, report.of("totals").rows_read) == ("summary-delta", 7)
    [told] = report.followed
    assert (told.table, told.before, told.version, told.how) == ("orders", 9, 10, "commits")
    assert (told.rows, told.rows_read) == (7, 0)
    assert files_below(followed) == []
    assert followed.verify("totals")


def test_after_a_merge_no_more_than_the_touched_files_are_read(followed: vk.Warehouse, path: Path) -> None:
    merged(path, orders(range(45, 55), "merged"))
    [told] = (report := followed.refresh()).followed
    assert told.rows_read <= 40
    assert report.of("totals").rows_read <= 20
    assert files_below(followed) == []
    assert followed.verify("totals")


def test_commits_that_change_no_rows_cost_nothing(followed: vk.Warehouse, path: Path) -> None:
    DeltaTable(str(path)).optimize.compact()
    report = followed.refresh()
    assert (len(report), report.actions, report.followed[0].rows) == (0, 0, 0)
    assert followed.verify("totals")
    assert followed.refresh().version == report.version


def test_a_refresh_may_ask_for_a_version(followed: vk.Warehouse, path: Path) -> None:
    before = followed.version
    appended(path, orders(range(100, 110)))
    appended(path, orders(range(110, 120)))
    assert next((s.kind, s.versions_behind) for s in followed.status()) == ("followed", 2)
    assert followed.status()[1].stale
    followed.refresh(at={"orders": 10})
    assert followed.table("orders").count() == 110
    assert [s.versions_behind for s in followed.status()] == [1, 0]
    followed.refresh(at={"orders": 4})
    assert followed.table("orders").count() == 50
    assert followed.verify("totals")
    followed.refresh()
    assert followed.table("orders").count() == 120
    assert followed.table("orders", version=before).count() == 100
    assert followed.changes("orders", before).count() == 20
    with pytest.raises(MissingFile, match="no readable version 99"):
        followed.refresh(at={"orders": 99})
    with pytest.raises(InvalidOption, match="totals is no followed table"):
        followed.refresh(at={"totals": 1})


def test_rows_in_deletion_vectors_are_gone(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "orders"
    appended(path, orders(range(20)))
    warehouse.follow("orders", str(path), key=["id"])
    warehouse.create_view("totals", TOTALS)
    for gone in ({1, 3}, {1, 3, 19}, {3, 19}):
        delete_by_vector(path, gone)
        [told] = warehouse.refresh(check=1.0).followed
        assert told.rows == {2: 1, 3: 1}.get(len(gone), 1) or told.rows == 2
        assert {row.id for row in warehouse.table("orders").collect()} == set(range(20)) - gone
        assert warehouse.verify("totals")


def test_a_change_feed_is_read_where_it_is_smaller(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "orders"
    appended(path, orders(range(2000)), configuration={"delta.enableChangeDataFeed": "true"})
    warehouse.follow("orders", str(path), key=["id"])
    warehouse.create_view("totals", TOTALS)
    DeltaTable(str(path)).update(predicate="id = 8", updates={"amount": "amount + 1"})
    [told] = warehouse.refresh(check=1.0).followed
    assert (told.how, told.rows, told.rows_read) == ("change feed", 2, 2)
    assert warehouse.verify("totals")


def test_partitions_are_typed_by_the_log(warehouse: vk.Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "odd folder"
    values = [
        (1, date(2024, 2, 29), datetime(2024, 1, 1, 12, 30), "a b/ä%?"),
        (2, None, None, None),
        (3, date(1969, 12, 31), datetime(1969, 12, 31, 23, 59, 59, 123456), "x=y"),
    ]
    kinds = [pa.int64(), pa.date32(), pa.timestamp("us", "UTC"), pa.string()]
    names = ["id", "day", "at", "text"]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*values, strict=True), kinds, strict=True)]
    write_deltalake(str(path), pa.table(columns, names=names), partition_by=names[1:])
    warehouse.follow("t", str(path))
    found = warehouse.sql("SELECT id, day, CAST(at AS TIMESTAMP_NTZ) AS at, text FROM t")
    assert rows(found) == bag(values)
    warehouse.create_view("v", "SELECT day, at, text, COUNT(*) AS n FROM t GROUP BY ALL")
    DeltaTable(str(path)).delete("day IS NULL")
    warehouse.refresh(check=1.0)
    assert warehouse.table("v").count() == 2


def test_columns_that_are_added_are_seen(followed: vk.Warehouse, path: Path) -> None:
    followed.create_view("everything", "SELECT * FROM orders")
    followed.create_view(
        "pairs", "SELECT a.id, b.amount FROM orders a JOIN orders b ON a.id = b.id + 1 WHERE a.status = 'new'"
    )
    more = orders(range(100, 103)).append_column("note", pa.array(["x"] * 3))
    appended(path, more, schema_mode="merge")
    report = followed.refresh(check=1.0)
    assert report.of("totals").strategy == "summary-delta"
    assert followed.verify("pairs")
    assert followed.table("everything").columns == ["id", "customer", "amount", "status", "note"]
    assert followed.verify("everything")
    assert followed.verify("totals")


def test_columns_of_another_type_are_computed_anew(followed: vk.Warehouse, path: Path) -> None:
    wide = orders(range(5)).set_column(1, "customer", pa.array(range(5), pa.int64()))
    write_deltalake(str(path), wide, mode="overwrite", schema_mode="overwrite")
    report = followed.refresh(check=1.0)
    assert report.of("totals").strategy == "recompute"
    assert "customer is not what it was" in report.followed[0].how
    assert dict(followed.table("totals").dtypes)["customer"] == "bigint"


def test_a_view_over_a_column_that_is_gone_is_told(followed: vk.Warehouse, path: Path) -> None:
    before = followed.version
    narrow = orders(range(5)).drop(["amount"])
    write_deltalake(str(path), narrow, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(DependencyError, match="totals cannot be kept: orders has other columns") as problem:
        followed.refresh()
    assert (problem.value.view, followed.version) == ("totals", before)
    assert followed.table("orders").count() == 100
    followed.drop("totals")
    followed.refresh()
    assert followed.table("orders").count() == 5


def test_a_table_that_was_made_anew_is_another_one(followed: vk.Warehouse, path: Path) -> None:
    shutil.rmtree(path)
    with pytest.raises(NotFound, match="no Delta table at"):
        followed.refresh()
    assert "There is no Delta table" in followed.status()[0].note
    appended(path, orders(range(3)))
    with pytest.raises(CannotMaintain, match="is another table now"):
        followed.refresh(policy="strict")
    report = followed.refresh(check=1.0)
    assert report.of("totals").reason.code == "input-replaced"
    assert "is another table now" in report.of("totals").reason.sentence


def test_a_table_that_is_dropped_while_a_refresh_runs_leaves_all_as_it_was(
    followed: vk.Warehouse, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged(path, orders(range(45, 55), "merged"))
    before, totals = followed.version, rows(followed.table("totals"))
    netted = follow.net_files
    monkeypatch.setattr(follow, "net_files", lambda *given: shutil.rmtree(path) or netted(*given))
    with pytest.raises(MissingFile, match="no readable version 10"):
        followed.refresh()
    monkeypatch.undo()
    assert (followed.version, rows(followed.table("totals"))) == (before, totals)
    with pytest.raises(NotFound, match="no Delta table at"):
        followed.refresh()


def test_an_older_copy_of_a_table_is_another_one(followed: vk.Warehouse, path: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "copy")
    appended(path, orders(range(100, 104)))
    followed.refresh()
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path)
    appended(path, orders(range(200, 206)))
    report = followed.refresh(check=1.0)
    assert "is not what it was" in report.of("totals").reason.sentence
    assert followed.table("orders").count() == 106


def test_files_that_are_gone_are_told(followed: vk.Warehouse, path: Path) -> None:
    DeltaTable(str(path)).delete("id < 15")
    DeltaTable(str(path)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(CannotMaintain, match="is missing"):
        followed.refresh(policy="strict")
    report = followed.refresh(check=1.0)
    assert (report.of("totals").strategy, report.of("totals").reason.code) == ("recompute", "input-replaced")
    assert "parquet is missing" in report.of("totals").reason.sentence


def test_keys_are_checked_where_the_version_before_was_vacuumed(followed: vk.Warehouse, path: Path) -> None:
    """Files that no view needs are gone with it; all rows of the new version are looked at."""
    DeltaTable(str(path)).optimize.compact()
    appended(path, orders([5]))
    DeltaTable(str(path)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    before = followed.version
    with pytest.raises(DuplicateKey) as problem:
        followed.refresh()
    assert (problem.value.rows, followed.version) == (({"id": 5},), before)
    DeltaTable(str(path)).delete("id = 5")
    followed.refresh(check=1.0)
    assert followed.verify("totals")


def test_a_log_that_is_cleaned_up_is_told(followed: vk.Warehouse, path: Path) -> None:
    appended(path, orders(range(100, 104)))
    appended(path, orders(range(104, 108)))
    DeltaTable(str(path)).create_checkpoint()
    for number in range(11):
        (path / "_delta_log" / f"{number:020d}.json").unlink()
    report = followed.refresh(check=1.0)
    assert report.of("totals").reason.code == "input-replaced"
    assert followed.table("orders").count() == 108


def test_keys_are_checked(followed: vk.Warehouse, path: Path, tmp_path: Path) -> None:
    before = followed.version
    appended(path, orders([5, 200]))
    with pytest.raises(DuplicateKey, match="orders") as problem:
        followed.refresh()
    assert problem.value.rows == ({"id": 5},)
    assert (followed.version, files_below(followed)) == (before, [])
    with pytest.raises(DuplicateKey):
        followed.follow("again", str(path), key=["id"])
    followed.follow("trusted", str(path), key=["id"], enforced=False)
    write_deltalake(str(tmp_path / "lines"), pa.table({"line": [1, 2], "order": [1, 999]}))
    with pytest.raises(BrokenForeignKey):
        followed.sql(
            "CREATE TABLE lines (line BIGINT, `order` BIGINT, FOREIGN KEY (`order`) REFERENCES orders (id))"
            f" USING delta LOCATION '{tmp_path / 'lines'}'"
        )


def test_tables_are_followed_in_sql(warehouse: vk.Warehouse, path: Path) -> None:
    place = f"USING delta LOCATION '{path}'"
    warehouse.sql(f"CREATE TABLE orders {place} PRIMARY KEY (id) ENFORCED")
    warehouse.sql(f"CREATE TABLE few (id BIGINT, status STRING, PRIMARY KEY (id) NOT ENFORCED) {place}")
    warehouse.sql(f"CREATE TABLE IF NOT EXISTS few {place}")
    assert warehouse.table("few").columns == ["id", "status"]
    told = {row.col_name: row.data_type for row in warehouse.sql("DESCRIBE orders").collect()}
    assert (told["amount"], told["Format"], told["Version"], told["Keys"]) == (
        "bigint",
        "delta",
        "9",
        "ENFORCED",
    )
    told = {row.col_name: row.data_type for row in warehouse.sql("DESCRIBE TABLE few").collect()}
    assert (told["Location"], told["Keys"]) == (str(path), "NOT ENFORCED")
    appended(path, orders([100]).append_column("more", pa.array([1])), schema_mode="merge")
    warehouse.refresh()
    assert warehouse.table("few").columns == ["id", "status"]
    assert warehouse.sql("SELECT COUNT(more) FROM orders").first()[0] == 1


def test_what_cannot_be_followed_is_refused(followed: vk.Warehouse, path: Path, tmp_path: Path) -> None:
    before = followed.version
    with pytest.raises(AlreadyExists):
        followed.follow("orders", str(path))
    with pytest.raises(NotFound, match="no Delta table at"):
        followed.follow("t", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidOption, match="format hudi"):
        followed.follow("t", str(path), format="hudi")
    with pytest.raises(InvalidOption, match="would be kept in the warehouse's log"):
        followed.follow("t", str(path), storage_options={"aws_secret_access_key": "x"})
    with pytest.raises(UnknownColumn, match="has no column nothing"):
        followed.follow("t", str(path), key=["nothing"])
    with pytest.raises(UnknownColumn, match="cannot have the column nothing"):
        followed.sql(f"CREATE TABLE t (nothing INT) USING delta LOCATION '{path}'")
    with pytest.raises(WrongType, match="id of t cannot be int"):
        followed.sql(f"CREATE TABLE t (id INT) USING delta LOCATION '{path}'")
    with pytest.raises(Unsupported, match="others own"):
        followed.sql(f"CREATE TABLE t LOCATION '{path}'")
    for change in ("INSERT INTO orders VALUES (1, 2, 3, 'x')", "DELETE FROM orders", "TRUNCATE TABLE orders"):
        with pytest.raises(InvalidChange, match="others own it"):
            followed.sql(change)
    with pytest.raises(InvalidChange, match="others own it"), followed.transaction() as t:
        t.delete("orders", [(1,)])
    assert (followed.version, (tmp_path / "nowhere").exists()) == (before, False)


def test_a_refresh_reads_nothing_that_it_did_not_record(
    followed: vk.Warehouse, path: Path, spark: SparkSession
) -> None:
    """The table goes on while a refresh runs, and another warehouse follows it too."""
    other = vk.open(f"{followed.path}-other", spark=spark)
    other.follow("orders", str(path), version=3)
    other.create_view("totals", TOTALS)
    appended(path, orders(range(100, 110)))
    calls = []

    def late(event: object) -> None:
        if not calls:
            calls.append(event)
            appended(path, orders(range(110, 120)))

    followed.on_progress = late
    report = followed.refresh(check=1.0)
    assert (report.followed[0].version, len(calls)) == (10, 1)
    assert followed.table("orders").count() == 110
    assert followed.verify("totals")
    assert other.table("orders").count() == 40
    other.refresh(check=1.0)
    followed.refresh(check=1.0)
    assert rows(other.table("totals")) == rows(followed.table("totals"))


def test_views_read_followed_and_own_tables_together(followed: vk.Warehouse, path: Path) -> None:
    followed.create_table("customers", [{"no": n, "city": f"c{n % 2}"} for n in range(5)], key=["no"])
    followed.create_view(
        "cities",
        "SELECT city, SUM(amount) AS total FROM orders JOIN customers ON customer = no GROUP BY city",
        refresh="on_commit",
    )
    DeltaTable(str(path)).update(predicate="id = 11", updates={"amount": "amount + 5"})
    with followed.transaction() as t:
        t.update("customers", [{"no": 1, "city": "moved"}])
    assert followed.verify("cities", deep=True)
    followed.refresh(check=1.0)
    assert followed.verify("cities", deep=True)
    followed.compact()
    followed.vacuum(1)
    assert followed.verify("cities")
    assert followed.explain("cities").reason.code != "input-replaced"


def test_views_that_mean_something_else_with_a_column_more_are_defined_anew(
    warehouse: vk.Warehouse, tmp_path: Path
) -> None:
    """A column that is added may be one to join by: no row has changed, and every view row has."""
    write_deltalake(str(tmp_path / "a"), pa.table({"k": [1, 2], "x": [5, 6]}))
    write_deltalake(str(tmp_path / "b"), pa.table({"k": [1, 2]}))
    warehouse.follow("a", str(tmp_path / "a"))
    warehouse.follow("b", str(tmp_path / "b"))
    warehouse.create_view("joined", "SELECT k, x FROM a NATURAL JOIN b")
    warehouse.create_view("other", "SELECT k FROM a")
    write_deltalake(str(tmp_path / "b"), pa.table({"k": [2], "x": [6]}), mode="append", schema_mode="merge")
    assert warehouse.propagate().followed == ()
    warehouse.refresh("other", check=1.0, at={"b": 1})
    assert rows(warehouse.table("joined")) == bag([(2, 6)])
    assert warehouse.verify("joined")


def test_changes_of_followed_tables_are_propagated(followed: vk.Warehouse, path: Path) -> None:
    appended(path, orders(range(100, 110)))
    before = rows(followed.table("totals"))
    [told] = followed.propagate().followed
    assert (told.rows, rows(followed.table("totals")) == before) == (10, True)
    assert followed.refresh(check=1.0).of("totals").reason.code == "propagated"
    assert followed.verify("totals")
