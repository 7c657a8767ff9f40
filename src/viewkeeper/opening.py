"""Opening a warehouse: its log, and an engine of one Spark session; what is published follows it."""

from __future__ import annotations

from viewkeeper import published
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.session import SparkSession
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.objects import Folder
from viewkeeper.workspace import Workspace


def opened(path: str, spark: SparkSession, log_queries: bool = False) -> Workspace:
    """The warehouse at a path, which is created when it is missing."""
    folder = Folder(path)
    work = Workspace(WarehouseLog(folder), SparkEngine(spark, folder), logs_queries=log_queries)
    work.log.followers.append(lambda entry: published.follow(work, entry))
    return work
