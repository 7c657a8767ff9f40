"""Bad input gets an error that names the thing, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.warehouse.rows import rows
from viewkeeper import errors

SETUP = (
    "CREATE TABLE stores (id INT, city STRING NOT NULL, PRIMARY KEY (id))",
    "CREATE TABLE pos (store INT, qty INT, price DECIMAL(6,2), day DATE,"
    " FOREIGN KEY (store) REFERENCES stores (id))",
    "INSERT INTO stores VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO pos VALUES (1, 5, 1.50, DATE'2024-01-01')",
    "CREATE MATERIALIZED VIEW v AS SELECT store, SUM(qty) AS q FROM pos GROUP BY store",
    "CREATE MATERIALIZED VIEW w AS SELECT q FROM v",
)


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> vk.Warehouse:
    warehouse = vk.open(str(tmp_path_factory.mktemp("bad")), spark=spark)
    for statement in SETUP:
        warehouse.sql(statement)
    return warehouse


def sql(text: str) -> Callable[[vk.Warehouse], object]:
    return lambda warehouse: warehouse.sql(text)


def change(kind: str, table: str, data: object) -> Callable[[vk.Warehouse], object]:
    def run(warehouse: vk.Warehouse) -> None:
        with warehouse.transaction() as t:
            getattr(t, kind)(table, data)

    return run


def ended_transaction(warehouse: vk.Warehouse) -> None:
    with warehouse.transaction() as t:
        pass
    t.insert("pos", [(1, 1, None, None)])


CASES: dict[str, tuple[Callable[[vk.Warehouse], object], type[Exception], str]] = {
    "no statement": (sql(""), errors.InvalidSQL, "statement"),
    "not SQL": (sql("SELEKT 1"), errors.InvalidSQL, "SELEKT"),
    "unbalanced": (sql("SELECT (1"), errors.InvalidSQL, ""),
    "unknown table": (sql("SELECT * FROM nowhere"), errors.UnknownTable, "nowhere"),
    "close name": (sql("SELECT * FROM poss"), errors.UnknownTable, "pos"),
    "unknown column in a query": (sql("SELECT nope FROM pos"), errors.InvalidSQL, "nope"),
    "unknown column in a view": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT nope FROM pos"),
        errors.InvalidSQL,
        "nope",
    ),
    "ambiguous column": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT qty FROM pos a JOIN pos b ON a.store = b.store"),
        errors.InvalidSQL,
        "qty",
    ),
    "two columns of one name": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT store, store FROM pos"),
        errors.InvalidSQL,
        "store",
    ),
    "random": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT rand() AS r FROM pos"),
        errors.NotDeterministic,
        "rand",
    ),
    "uuid": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT uuid() AS r FROM pos"),
        errors.NotDeterministic,
        "uuid",
    ),
    "clock": (
        sql("CREATE MATERIALIZED VIEW x AS SELECT current_timezone() AS t FROM pos"),
        errors.NotDeterministic,
        "current_timezone",
    ),
    "a table without a name": (sql("CREATE TABLE `` (a INT)"), errors.InvalidSQL, ""),
    "a blank column name": (sql("CREATE TABLE t (` ` INT)"), errors.InvalidName, "' '"),
    "a view name without end": (
        lambda wh: wh.create_view("a" * 300, "SELECT 1 AS x"),
        errors.InvalidName,
        "255",
    ),
    "table exists": (sql("CREATE TABLE Pos (a INT)"), errors.AlreadyExists, "pos"),
    "view exists": (sql("CREATE MATERIALIZED VIEW v AS SELECT 1 AS a"), errors.AlreadyExists, "v"),
    "column twice": (sql("CREATE TABLE t (a INT, A INT)"), errors.InvalidSQL, "A"),
    "key of no column": (sql("CREATE TABLE t (a INT, PRIMARY KEY (b))"), errors.InvalidSQL, "b"),
    "foreign key to no table": (
        sql("CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES gone (id))"),
        errors.UnknownTable,
        "gone",
    ),
    "foreign key to no key": (
        sql("CREATE TABLE t (a STRING, FOREIGN KEY (a) REFERENCES stores (city))"),
        errors.InvalidSQL,
        "primary key",
    ),
    "unknown type": (sql("CREATE TABLE t (a NUMBER_OF_THINGS)"), errors.InvalidSQL, "NUMBER_OF_THINGS"),
    "unstorable type": (sql("CREATE TABLE t (a INTERVAL DAY TO SECOND)"), errors.InvalidSQL, "INTERVAL"),
    "wrong refresh mode": (
        lambda wh: wh.create_view("x", "SELECT 1 AS a", refresh="sometimes"),
        errors.InvalidOption,
        "sometimes",
    ),
    "wrong policy": (lambda wh: wh.refresh("v", policy="lazy"), errors.InvalidOption, "lazy"),
    "refresh of no view": (lambda wh: wh.refresh("nothing"), errors.NotFound, "nothing"),
    "refresh of a table": (lambda wh: wh.refresh("pos"), errors.NotFound, "pos"),
    "verify of no view": (lambda wh: wh.verify("nothing"), errors.NotFound, "nothing"),
    "history of no view": (lambda wh: wh.history("nothing"), errors.NotFound, "nothing"),
    "compact of nothing": (lambda wh: wh.compact("nothing"), errors.NotFound, "nothing"),
    "vacuum of everything": (lambda wh: wh.vacuum(keep=0), errors.InvalidOption, "0"),
    "no such version": (lambda wh: wh.table("pos", version=10_000), errors.NotFound, "10000"),
    "changes before it existed": (lambda wh: wh.changes("v", since=1), errors.NotFound, "v"),
    "drop of nothing": (lambda wh: wh.drop("nothing"), errors.NotFound, "nothing"),
    "drop of a table that views read": (lambda wh: wh.drop("pos"), errors.DependencyError, "v"),
    "drop of a view that a view reads": (lambda wh: wh.drop("v"), errors.DependencyError, "w"),
    "drop of a referenced table": (lambda wh: wh.drop("stores", cascade=True), errors.DependencyError, "pos"),
    "drop table of a view": (sql("DROP TABLE v"), errors.NotFound, "v"),
    "a view that reads itself": (
        sql("ALTER MATERIALIZED VIEW v AS SELECT q AS store, 1 AS q FROM w"),
        errors.DependencyError,
        "w",
    ),
    "alter of a view that others need": (
        sql("ALTER MATERIALIZED VIEW v AS SELECT store FROM pos"),
        errors.InvalidSQL,
        "q",
    ),
    "insert into a view": (change("insert", "v", [(1, 1)]), errors.InvalidChange, "v"),
    "insert into nothing": (change("insert", "nothing", [(1,)]), errors.UnknownTable, "nothing"),
    "too few values": (change("insert", "pos", [(1, 2)]), errors.WrongType, "2 values"),
    "unknown column in rows": (change("insert", "pos", [{"shop": 1}]), errors.WrongType, "shop"),
    "text for a number": (change("insert", "pos", [("one", 1, None, None)]), errors.WrongType, "one"),
    "number too large": (change("insert", "pos", [(2**40, 1, None, None)]), errors.WrongType, "store"),
    "decimal too large": (change("insert", "pos", [(1, 1, "123456.78", None)]), errors.WrongType, ""),
    "no date": (change("insert", "pos", [(1, 1, None, "yesterday")]), errors.WrongType, "yesterday"),
    "rows of nothing": (change("insert", "pos", 7), errors.InvalidChange, "int"),
    "file that is not there": (change("insert", "pos", "/no/such/file.csv"), errors.MissingFile, "/no/such"),
    "NULL where none may be": (change("insert", "stores", [(3, None)]), errors.NullNotAllowed, "city"),
    "NULL in a key": (change("insert", "stores", [(None, "x")]), errors.NullNotAllowed, "id"),
    "key exists": (change("insert", "stores", [(1, "x")]), errors.DuplicateKey, "1"),
    "key twice in one batch": (change("insert", "stores", [(7, "x"), (7, "y")]), errors.DuplicateKey, "7"),
    "broken reference": (change("insert", "pos", [(9, 1, None, None)]), errors.BrokenForeignKey, "9"),
    "orphaned rows": (change("delete", "stores", [(1,)]), errors.BrokenForeignKey, "1"),
    "deleting what is not there": (change("delete", "pos", [(1, 6, None, None)]), errors.MissingRows, "6"),
    "deleting too many copies": (
        change("delete", "pos", [(1, 5, "1.50", "2024-01-01")] * 2),
        errors.MissingRows,
        "5",
    ),
    "deleting a key that is not there": (change("delete", "stores", [(9,)]), errors.MissingRows, "9"),
    "updating a key that is not there": (
        change("update", "stores", [{"id": 9, "city": "x"}]),
        errors.MissingRows,
        "9",
    ),
    "updating a key twice": (
        change("update", "stores", [{"id": 1, "city": "x"}, {"id": 1, "city": "y"}]),
        errors.DuplicateKey,
        "1",
    ),
    "update without a key": (change("update", "pos", [{"qty": 1}]), errors.InvalidChange, "primary key"),
    "update that lacks the key": (change("update", "stores", [{"city": "x"}]), errors.InvalidChange, "id"),
    "delete with some columns": (change("delete", "pos", [{"qty": 5}]), errors.WrongType, "qty"),
    "an ended transaction": (ended_transaction, errors.InvalidChange, "ended"),
    "SQL that breaks a reference": (
        sql("INSERT INTO pos VALUES (9, 1, 1, NULL)"),
        errors.BrokenForeignKey,
        "9",
    ),
    "SQL that breaks a key": (sql("UPDATE stores SET id = 1"), errors.DuplicateKey, "1"),
    "SQL that overflows": (sql("UPDATE pos SET qty = qty * 1000000000"), errors.ViewkeeperError, ""),
    "SQL on a view": (sql("DELETE FROM v WHERE q = 1"), errors.InvalidChange, "v"),
    "insert of another width": (sql("INSERT INTO stores SELECT 1"), errors.ViewkeeperError, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_and_changes_nothing(shop: vk.Warehouse, name: str) -> None:
    run, error, mentions = CASES[name]
    version, names = shop.version, [entry.name for entry in shop.status()]
    with pytest.raises(error) as caught:
        run(shop)
    assert mentions in str(caught.value)
    assert shop.version == version
    assert [entry.name for entry in shop.status()] == names


def test_after_all_of_it_the_data_is_as_it_was(shop: vk.Warehouse) -> None:
    assert sorted(rows(shop.table("stores"))) == [(1, "a"), (2, "b")]
    assert shop.verify("v")
    assert shop.verify("w")


def test_a_warehouse_needs_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(errors.ViewkeeperError):
        vk.open(str(file), spark=spark)
