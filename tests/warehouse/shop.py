"""A shop with a few sales, and changes of its tables."""

from __future__ import annotations

import viewkeeper as vk

TOTALS = "SELECT store, COUNT(*) AS n, SUM(qty) AS q FROM pos GROUP BY store"


def stock(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("stores", [{"id": 1, "city": "a"}, {"id": 2, "city": "b"}], key=["id"])
    warehouse.sql("CREATE TABLE pos (store BIGINT, item STRING, qty BIGINT)")
    insert(warehouse, "pos", (1, "x", 5), (1, "y", 3), (2, "x", 3), (2, None, None))


def insert(warehouse: vk.Warehouse, table: str, *new: tuple[object, ...]) -> None:
    with warehouse.transaction() as t:
        t.insert(table, list(new))


def delete(warehouse: vk.Warehouse, table: str, *old: tuple[object, ...]) -> None:
    with warehouse.transaction() as t:
        t.delete(table, list(old))


def one(report: vk.Report) -> vk.ViewReport:
    [entry] = report
    return entry
