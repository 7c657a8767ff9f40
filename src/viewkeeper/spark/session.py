"""Spark sessions, and the engine's own settings, which never stay in the user's session."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

_RULES = "org.apache.spark.sql.catalyst.optimizer"

ENGINE_SETTINGS = {
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # One partition stays one: Spark multiplies sizes of joined tables, and would shuffle for fear of them.
    "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
    # Lists of keys are values of a plan and not a part of its code, which would be compiled for each list.
    "spark.sql.optimizer.inSetConversionThreshold": "0",
    "spark.sql.optimizer.inSetSwitchThreshold": "0",
    # Plans place their semi-joins themselves; through unions Spark would push, and plan, each several times.
    "spark.sql.optimizer.excludedRules": f"{_RULES}.PushDownLeftSemiAntiJoin",
}

COMPILED = "3000"
"""Of how many pieces of a plan Spark keeps the compiled code. Its own default, 100, is less than one refresh
of a few views needs: the next would compile them all again."""

_lock = threading.RLock()
_depth = 0


def local_session() -> SparkSession:
    """A session on this machine, small enough to share it with other work."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("viewkeeper")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.codegen.cache.maxEntries", COMPILED)
        .config("spark.log.level", "ERROR")
    )
    return builder.getOrCreate()


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str] = ENGINE_SETTINGS) -> Iterator[None]:
    """Sets configuration for a while, and puts back what was there.

    Threads of one refresh nest: the first that enters sets, the last that leaves restores.
    """
    global _depth, _saved
    with _lock:
        if _depth == 0:
            _saved = {name: current(spark, name) for name in values}
            for name, value in values.items():
                spark.conf.set(name, value)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                restore(spark, _saved)


_saved: dict[str, str | None] = {}


def current(spark: SparkSession, name: str) -> str | None:
    """What a session was told; None where it was told nothing."""
    try:
        return spark.conf.get(name, None)
    except PySparkException:
        return None


def restore(spark: SparkSession, saved: Mapping[str, str | None]) -> None:
    """Tells a session what it was told before; None: nothing."""
    for name, value in saved.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


__all__ = ["ENGINE_SETTINGS", "DataFrame", "SparkSession", "current", "local_session", "restore", "settings"]
