"""What a long-lived service needs of Spark: sessions beside each other, and queries that end in time."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from viewkeeper.errors import ViewkeeperError
from viewkeeper.spark.meaning import settings_of
from viewkeeper.spark.preview import first_rows

log = logging.getLogger("viewkeeper.spark")

FOR_STRANGERS = {"spark.sql.runSQLOnFiles": "false"}
"""Of a session that runs queries from outside: a name is never a path."""


def beside(spark: SparkSession, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Another session of the same Spark, in which queries mean the same; what one is told from now on,
    the other does not see."""
    session = spark.newSession()
    for name, value in {**dict(settings_of(spark)), **(settings or {})}.items():
        try:
            session.conf.set(name, value)
        except PySparkException:
            continue  # a server that does not let sessions choose
    return session


def interrupt(spark: SparkSession) -> None:
    """Ends what a session is doing, as far as its Spark can be reached."""
    try:
        spark.interruptAll()
    except Exception as error:
        log.warning("Spark could not be told to end what it does", extra={"error": str(error)[:500]})


def release(spark: SparkSession) -> None:
    """Ends a session that `beside` has made; a classic one is left alone: its end would be that of all.

    A session of Spark Connect has a channel, and to close that needs its threads: where it is left to the end
    of Python, which has stopped them, the process never ends.
    """
    if getattr(spark, "_jsparkSession", None) is not None:
        return
    client = spark.client  # only sessions of Spark Connect have one
    try:
        client.release_session()
    except Exception as error:
        log.warning("a session could not be released", extra={"error": str(error)[:500]})
    client.close()


def own_functions(spark: SparkSession) -> frozenset[str]:
    """The functions that Spark has of itself, in lower case."""
    return frozenset(str(row[0]).lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())


def rows_in_time(
    frame: DataFrame, limit: int, seconds: float
) -> tuple[list[str], list[tuple[Any, ...]], bool]:
    """The first rows of a query, which is ended when it takes too long."""
    spark, tag = frame.sparkSession, f"viewkeeper-{uuid.uuid4()}"
    ended = threading.Event()

    def end() -> None:
        ended.set()
        spark.interruptTag(tag)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    spark.addTag(tag)
    timer.start()
    try:
        return first_rows(frame, limit)
    except (PySparkException, ViewkeeperError) as error:
        if not ended.is_set():
            raise
        what = f"The query was ended: it took more than {seconds:g} s."
        raise ViewkeeperError(
            what, hint="Ask for less, or give the service more with --query-seconds."
        ) from error
    finally:
        timer.cancel()
        spark.removeTag(tag)
