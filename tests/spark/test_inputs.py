"""Rows that users hand over."""

from __future__ import annotations

import pyarrow as pa

import viewkeeper as vk


def test_arrow_tables_of_several_chunks(warehouse: vk.Warehouse) -> None:
    """Spark stops reading an Arrow table at an empty chunk."""
    kinds = pa.schema([("a", pa.int32())])
    chunks = [pa.table({"a": values}, schema=kinds) for values in ([1, 2], [], [3])]
    warehouse.create_table("t", pa.concat_tables(chunks))
    with warehouse.transaction() as change:
        change.insert("t", pa.concat_tables(chunks))
    assert sorted(row.a for row in warehouse.table("t").collect()) == [1, 1, 2, 2, 3, 3]
