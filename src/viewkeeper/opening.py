"""Opening a warehouse: its log, and an engine of one Spark session; what is published follows it."""

from __future__ import annotations

from collections.abc import Mapping

from viewkeeper import published
from viewkeeper.publishing.options import PUBLISH
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.session import SparkSession
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.stores import options_of
from viewkeeper.workspace import Workspace


def opened(
    path: str,
    spark: SparkSession,
    log_queries: bool = False,
    storage_options: Mapping[str, str] | None = None,
    publish: bool = False,
) -> Workspace:
    """The warehouse at a path, which is created when it is missing; `publish`: new views are published."""
    folder = Folder(path, options=options_of(storage_options))
    defaults = ((PUBLISH, "true"),) if publish else ()
    engine = SparkEngine(spark, folder)
    work = Workspace(WarehouseLog(folder), engine, logs_queries=log_queries, defaults=defaults)
    work.log.followers.append(lambda entry: published.follow(work, entry))
    return work
