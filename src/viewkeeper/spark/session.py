"""Spark sessions, and the engine's own settings, which never stay in the user's session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

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

Shared = TypeVar("Shared")


def for_each_session(make: Callable[[], Shared]) -> Callable[[SparkSession], Shared]:
    """What all threads share of a session, made once for it, whichever object stands for the session."""
    by_object: WeakKeyDictionary[SparkSession, Shared] = WeakKeyDictionary()
    by_name: WeakValueDictionary[str, Shared] = WeakValueDictionary()
    lock = threading.Lock()

    def of(spark: SparkSession) -> Shared:
        with lock:
            known = by_object.get(spark)
            if known is None:
                known = by_object[spark] = by_name.setdefault(_name(spark), make())
            return known

    return of


def _name(spark: SparkSession) -> str:
    """What the server calls a session."""
    java = getattr(spark, "_jsparkSession", None)
    if java is None:
        return str(spark.session_id)  # type: ignore[attr-defined]  # a session of Spark Connect
    return str(java.sessionUUID())


class _EngineSettings:
    """How many threads have the engine's settings in a session now, and what was there before."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.saved: dict[str, str | None] = {}


_nested = for_each_session(_EngineSettings)


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str] = ENGINE_SETTINGS) -> Iterator[None]:
    """Sets configuration for a while, and puts back what was there.

    Threads of one refresh nest: the first that enters sets, the last that leaves restores.
    """
    nested = _nested(spark)
    with nested.lock:
        if nested.depth == 0:
            nested.saved = {name: current(spark, name) for name in values}
            for name, value in values.items():
                spark.conf.set(name, value)
        nested.depth += 1
    try:
        yield
    finally:
        with nested.lock:
            nested.depth -= 1
            if nested.depth == 0:
                restore(spark, nested.saved)


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


__all__ = [
    "ENGINE_SETTINGS",
    "DataFrame",
    "SparkSession",
    "StreamingQuery",
    "current",
    "for_each_session",
    "restore",
    "settings",
]
