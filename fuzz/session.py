"""The one Spark session of a run, and settings under which small tables are maintained and not recomputed."""

from __future__ import annotations

import logging
import os
import time

from pyspark.sql import SparkSession

from viewkeeper.planning import calibration, planner
from viewkeeper.refresh import lattice


def prefer_maintenance() -> None:
    """Tables of a few rows are cheaper to recompute: the choice is told to look away from that."""
    calibration.BOUNDS = (1.0, 1.0)
    planner.NOISE = 1000.0
    lattice.WAITING = -1_000_000


def started() -> SparkSession:
    """A small local session that interprets its plans: to compile them takes longer than to run them. For the
    same reason Java compiles quickly, and not well."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    prefer_maintenance()
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return (
        SparkSession.builder.master("local[2]")
        .appName("viewkeeper-fuzz")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.default.parallelism", "2")
        .config("spark.driver.memory", "2g")
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC",
        )
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.timeType.enabled", "true")
        .config("spark.sql.ui.explainMode", "simple")
        .getOrCreate()
    )
