"""Types that Delta tables cannot hold are refused, and nothing is left behind."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from viewkeeper.errors import Unsupported

TYPES = [
    "INTERVAL DAY TO SECOND",
    "INTERVAL YEAR TO MONTH",
    "VARIANT",
    "STRUCT<a: VARIANT>",
    "STRING COLLATE UTF8_LCASE",
    "ARRAY<STRING COLLATE UTF8_LCASE>",
]


@pytest.mark.parametrize("kind", [*TYPES, "TIME(6)"])
def test_a_table_by_sql_is_refused(warehouse: vk.Warehouse, kind: str) -> None:
    with pytest.raises(Unsupported, match="Delta tables cannot hold"):
        warehouse.sql(f"CREATE TABLE t (k INT, v {kind})")
    assert not warehouse.status()


@pytest.mark.parametrize("kind", TYPES)
def test_a_table_from_rows_is_refused(warehouse: vk.Warehouse, kind: str) -> None:
    rows = warehouse.spark.sql(f"SELECT 1 AS k, CAST(NULL AS {kind}) AS v")
    with pytest.raises(Unsupported, match="Delta tables cannot hold"):
        warehouse.create_table("t", rows)
    assert not warehouse.status()


def test_fields_may_be_called_like_types(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("t", warehouse.spark.sql("SELECT named_struct('interval', 1, 'variant', 2) AS s"))
    assert [tuple(row.s) for row in warehouse.table("t").collect()] == [(1, 2)]
