"""Incremental view maintenance for Apache Spark.

import viewkeeper as vk

wh = vk.open("warehouse/")
wh.sql("CREATE TABLE pos (storeID INT, qty INT)")
wh.sql("CREATE MATERIALIZED VIEW sales AS SELECT storeID, SUM(qty) AS q FROM pos GROUP BY storeID")
with wh.transaction() as t:
    t.insert("pos", [(1, 5), (1, 7)])
wh.refresh()
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import ViewkeeperError
from viewkeeper.report import Reason, Report, ViewReport

if TYPE_CHECKING:
    from viewkeeper.reading import Rows, changes, read
    from viewkeeper.spark.session import SparkSession
    from viewkeeper.warehouse import Warehouse

__version__ = "0.1.0"

__all__ = [
    "Reason",
    "Report",
    "Rows",
    "ViewReport",
    "ViewkeeperError",
    "Warehouse",
    "__version__",
    "changes",
    "open",
    "read",
    "register",
]


def open(
    path: str,
    spark: SparkSession | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    publish: bool = False,
    log_queries: bool = False,
) -> Warehouse:
    """Opens the warehouse at a path or URL; makes it, and a local Spark session, where missing.

    `storage_options` open an object store, as for deltalake; they are not written anywhere. `publish`: views
    that are created are published as Delta tables, unless their properties say otherwise. `log_queries`: the
    shapes of queries are counted, for `Warehouse.advise`.
    """
    from viewkeeper.warehouse import Warehouse

    return Warehouse(str(path), spark, log_queries, storage_options, publish)


def register(spark: SparkSession) -> None:
    """Makes `spark.read.format("viewkeeper")` known to a session that has not found it by itself."""
    from viewkeeper.spark.source import ViewkeeperSource

    spark.dataSource.register(ViewkeeperSource)


def __getattr__(name: str) -> Any:
    """What needs Spark, or plans, is imported when it is asked for: readers and tasks do without."""
    if name in ("Rows", "changes", "read"):
        return getattr(import_module("viewkeeper.reading"), name)
    if name == "Warehouse":
        from viewkeeper.warehouse import Warehouse

        return Warehouse
    raise AttributeError(f"module 'viewkeeper' has no attribute {name!r}")
