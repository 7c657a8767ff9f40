"""The settings of a session that change what a query means; a view keeps those that it was defined under.

    '2024-01-01 23:30' AS STRING, CAST('x' AS INT), 1/3 of decimals, "a" = A     each has several answers

Recorded are the settings that are known to change answers, set or not, and whatever else of `spark.sql` the
session sets, but for what only changes how fast an answer comes. While something of a view is worked on, the
session has the view's settings; views of other settings wait, in whichever thread they are. Sessions do not
wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from viewkeeper.catalog.catalog import Settings
from viewkeeper.spark.session import ENGINE_SETTINGS, current, for_each_session, restore

MEANT = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType",
)
"""Recorded even where a session leaves them alone: another Spark may have another default."""

FOR_SPEED = tuple(
    f"spark.sql.{name}"
    for name in (
        "adaptive.",
        "artifact.",
        "autoBroadcastJoinThreshold",
        "broadcast",
        "cache.",
        "catalog.",
        "catalogImplementation",
        "cbo.",
        "classic.",
        "codegen.",
        "columnNameOfCorruptRecord",
        "connect.",
        "debug.",
        "defaultCatalog",
        "event.",
        "exchange.",
        "execution.",
        "extensions",
        "files.",
        "hive.",
        "inMemory",
        "join.",
        "leafNodeDefaultParallelism",
        "lightweightPlanChangeValidation",
        "optimizer.",
        "orc.",
        "parquet.",
        "planChange",
        "pyspark.",
        "redaction.",
        "repl.",
        "runSQLOnFiles",
        "requireAllClusterKeys",
        "scripts.",
        "shuffle.",
        "sort",
        "sources.",
        "stackTracesInDataFrameContext",
        "statistics.",
        "streaming.",
        "thriftServer.",
        "ui.",
        "warehouse.dir",
        "window.",
        "windowExec.",
    )
)
"""What such names begin with does not change an answer, or is not for a session to change."""


def settings_of(spark: SparkSession) -> Settings:
    """What the session's settings say about the meaning of a query."""
    told = {name: value for name, value in spark.conf.getAll.items() if _has_meaning(spark, name)}
    defaults = {name: _default(spark, name) for name in MEANT if name not in told}
    found = {**told, **{name: value for name, value in defaults.items() if value is not None}}
    return tuple(sorted(found.items()))


_known: WeakKeyDictionary[SparkSession, dict[str, Any]] = WeakKeyDictionary()
"""What sessions were asked once: each question is a message to a server."""


def _has_meaning(spark: SparkSession, name: str) -> bool:
    if not name.startswith("spark.sql.") or name in ENGINE_SETTINGS or name.startswith(FOR_SPEED):
        return False
    return bool(_once(spark, f"modifiable {name}", lambda: spark.conf.isModifiable(name)))


def _default(spark: SparkSession, name: str) -> str | None:
    """What a setting is where a session was told nothing; None: this Spark does not have it."""
    value: str | None = _once(spark, name, lambda: _effective(spark, name))
    return value


def _effective(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name)
    except PySparkException:
        return None


def _once(spark: SparkSession, question: str, answer: Callable[[], Any]) -> Any:
    known = _known.setdefault(spark, {})
    if question not in known:
        known[question] = answer()
    return known[question]


class _SharedSettings:
    """Which settings the queries of a session have now, and how many are at work under them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.settings: Settings = ()
        self.users = 0
        self.saved: dict[str, str | None] = {}
        self.of_thread = threading.local()


_shared = for_each_session(_SharedSettings)


@contextmanager
def under(spark: SparkSession, settings: Settings | None) -> Iterator[None]:
    """The session with the settings of a view, for a while; None: with its own.

    Whoever works under the same settings works at the same time, others wait. What a thread does under some
    settings it can do under others meanwhile, if it is alone.
    """
    wanted = settings_of(spark) if settings is None else settings
    own = _shared(spark).of_thread
    outer: Settings | None = getattr(own, "settings", None)
    if outer == wanted:
        yield
    elif outer is None:
        _enter(spark, wanted)
        own.settings = wanted
        try:
            yield
        finally:
            own.settings = None
            _leave(spark)
    else:
        with _instead(spark, outer, wanted):
            yield


def _enter(spark: SparkSession, wanted: Settings) -> None:
    shared = _shared(spark)
    with shared.changed:
        shared.changed.wait_for(lambda: not shared.users or shared.settings == wanted)
        if not shared.users:
            shared.settings, shared.saved = wanted, _set(spark, wanted)
        shared.users += 1


def _leave(spark: SparkSession) -> None:
    shared = _shared(spark)
    with shared.changed:
        shared.users -= 1
        if not shared.users:
            restore(spark, shared.saved)
            shared.changed.notify_all()


@contextmanager
def _instead(spark: SparkSession, outer: Settings, wanted: Settings) -> Iterator[None]:
    """Other settings within those of this thread, which waits for the other users of the latter to end."""
    own = _shared(spark).of_thread
    own.settings = None
    _leave(spark)
    try:
        with under(spark, wanted):
            yield
    finally:
        _enter(spark, outer)
        own.settings = outer


def _set(spark: SparkSession, wanted: Settings) -> dict[str, str | None]:
    """Sets what is otherwise in the session; what was there before."""
    now, then = dict(settings_of(spark)), dict(wanted)
    differing = [name for name in {**now, **then} if now.get(name) != then.get(name)]
    saved = {name: current(spark, name) for name in differing}
    restore(spark, {name: then.get(name) for name in differing})
    return saved
