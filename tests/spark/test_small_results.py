"""Small results are written by the driver, large ones by Spark: the files hold the same in the same types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from pyarrow import parquet

import viewkeeper as vk
from viewkeeper.storage.relation import DataFile

pytestmark = pytest.mark.usefixtures("maintained")

COLUMNS = """
    a TINYINT, b SMALLINT, c INT, d BIGINT, e DECIMAL(7, 2), f DECIMAL(18, 0), g DECIMAL(38, 10), h DOUBLE,
    i FLOAT, j STRING, k BOOLEAN, l DATE, m TIMESTAMP, n TIMESTAMP_NTZ, o BINARY"""
VALUES = """
    (1, 2, 3, 4, 1.25, 7, 0.0000000001, DOUBLE('NaN'), FLOAT('-Infinity'), 'é''', true, DATE'0001-01-01',
     TIMESTAMP'1899-12-31 23:59:59.123456', TIMESTAMP_NTZ'0001-01-01 00:00:00', X'00FF'),
    (-128, -32768, -2147483648, -9223372036854775808, -99999.99, 999999999999999999,
     -9999999999999999999999999999.9999999999, 1e308, 1.5, '', false, DATE'9999-12-31',
     TIMESTAMP'9998-12-31 23:59:59.999999', TIMESTAMP_NTZ'2024-02-29 12:00:00.000001', X''),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""


def view_files(warehouse: vk.Warehouse, name: str) -> list[tuple[DataFile, Path]]:
    state = warehouse._work.log.latest().relations[name]
    files = [file for layer in state.overlay for file in layer.files]
    return [(file, Path(warehouse._work.engine.folder.url, state.folder, file.path)) for file in files]


def are_alike(warehouse: vk.Warehouse, by_driver: str, by_spark: str) -> None:
    """The files of one relation, which the driver has written, against those of another, by Spark."""
    [(mine, mine_at)], [(sparks, sparks_at)] = (view_files(warehouse, n) for n in (by_driver, by_spark))
    assert mine.path.endswith("part-0.parquet")
    assert not sparks.path.endswith("part-0.parquet")
    assert _types(mine_at) == _types(sparks_at)
    assert (mine.rows, mine.nulls) == (sparks.rows, sparks.nulls)
    assert {name: mine.ranges.get(name) for name in sparks.ranges} == sparks.ranges


def _types(path: Path) -> list[tuple[str, str, str]]:
    return [(c.name, c.physical_type, str(c.logical_type)) for c in parquet.ParquetFile(path).schema]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_the_files_are_alike(warehouse: vk.Warehouse, limit: Callable[..., None], zone: str) -> None:
    before = warehouse.spark.conf.get("spark.sql.session.timeZone")
    warehouse.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        warehouse.sql(f"CREATE TABLE t ({COLUMNS})")
        for name in ("by_driver", "by_spark"):
            warehouse.create_view(name, "SELECT * FROM t")
        warehouse.sql(f"INSERT INTO t VALUES {VALUES}")
        warehouse.refresh("by_driver")
        limit(written_by_driver=-1)
        warehouse.refresh("by_spark")
        found = [sorted(map(repr, warehouse.table(n).collect())) for n in ("by_driver", "by_spark", "t")]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == 3
        are_alike(warehouse, "by_driver", "by_spark")
    finally:
        warehouse.spark.conf.set("spark.sql.session.timeZone", before)


LISTED = [
    (
        1,
        2,
        3,
        4,
        "1.25",
        7,
        "0.0000000001",
        "nan",
        "-inf",
        "é'",
        True,
        "0001-01-01",
        datetime(1899, 12, 31, 23, 59, 59, 123456),
        "0001-01-01 00:00:00",
        b"\x00\xff",
    ),
    (
        -128,
        -32768,
        -(2**31),
        -(2**63),
        "-99999.99",
        10**18 - 1,
        "-9999999999999999999999999999.9999999999",
        1e308,
        1.5,
        "",
        False,
        "9999-12-31",
        datetime(9998, 12, 31, 23, 59, 59, 999999),
        "2024-02-29 12:00:00.000001",
        b"",
    ),
    (None,) * 15,
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_rows_of_a_list_are_written_as_spark_writes_them(warehouse: vk.Warehouse, zone: str) -> None:
    before = warehouse.spark.conf.get("spark.sql.session.timeZone")
    warehouse.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for name in ("listed", "computed"):
            warehouse.sql(f"CREATE TABLE {name} ({COLUMNS})")
        with warehouse.transaction() as t:
            t.insert("listed", LISTED)
        warehouse.sql(f"INSERT INTO computed SELECT * FROM VALUES {VALUES}")
        found = [sorted(map(repr, warehouse.table(n).collect())) for n in ("listed", "computed")]
        assert found[0] == found[1]
        are_alike(warehouse, "listed", "computed")
    finally:
        warehouse.spark.conf.set("spark.sql.session.timeZone", before)


def test_what_turns_out_large_is_written_by_spark(
    warehouse: vk.Warehouse, limit: Callable[..., None]
) -> None:
    """One changed row of a dimension meets many facts: more than was expected of one change."""
    limit(written_by_driver=10)
    warehouse.create_table("facts", [{"k": 1, "n": number} for number in range(40)])
    warehouse.create_table("dims", [{"k": number, "name": "x"} for number in range(40)], key=["k"])
    warehouse.create_view("v", "SELECT n, name FROM facts JOIN dims USING (k)")
    with warehouse.transaction() as t:
        t.update("dims", [{"k": 1, "name": "y"}])
    report = warehouse.refresh()
    assert report.of("v").rows_written == 80
    assert report.actions == 2
    assert not any(file.path.endswith("part-0.parquet") for file, _ in view_files(warehouse, "v"))
    assert warehouse.verify("v")


def test_nested_types_are_written_by_spark(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (a INT, b ARRAY<INT>, c STRUCT<x: INT>)")
    warehouse.create_view("v", "SELECT b, c FROM t")
    warehouse.sql("INSERT INTO t SELECT 1, array(1, NULL), named_struct('x', 2)")
    warehouse.refresh()
    assert [tuple(row) for row in warehouse.table("v").collect()] == [([1, None], (2,))]
    assert not any(file.path.endswith("part-0.parquet") for file, _ in view_files(warehouse, "v"))
