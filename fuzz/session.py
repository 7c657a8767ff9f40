"""The one Spark session of a run, and settings under which small tables are maintained and not recomputed."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from viewkeeper.limits import Limits

CHOICES: dict[str, dict[str, Any]] = {
    "cost": {},
    "maintain": {
        "planning.calibration.BOUNDS": (1.0, 1.0),
        "planning.planner.NOISE": 1000.0,
        "refresh.lattice.WAITING": -1_000_000,
        "limits.LIMITS": Limits(),
    },
}
"""Tables of a few rows are cheaper to recompute: mostly the choice is told to look away from that."""

TIGHT = Limits(
    aggregated_first=3,
    broadcast=3,
    broadcast_to=6,
    candidates_stored=6,
    changes_held=2,
    diff_expected=4,
    diff_fetched=8,
    driver_join=6,
    fresh_keys_read=5,
    gathered=8,
    groups_looked_up=3,
    groups_written=3,
    hashed=4,
    in_list=3,
    in_listed=8,
    joins_in_task=2,
    laid=4,
    layer_adopted=3,
    layers=3,
    layers_joined=1,
    looked_up=6,
    main_written=6,
    merged_whole=5,
    much_changed=5,
    one_file=5,
    one_task=5,
    pass_fetched=5,
    priced_as_broadcast=5,
    relevance_counted=2,
    overdeleted=4,
    result_files=2,
    result_held=5,
    round_fetched=5,
    round_held=4,
    unions=2,
    worth_in_list=3,
    written_by_driver=4,
)

CHOICES["tight"] = CHOICES["maintain"] | {
    "limits.LIMITS": TIGHT,
}
"""Bounds on either side of which work is done in another way, so low that tables of a few rows cross them."""


@contextmanager
def choosing(choice: str) -> Iterator[None]:
    """How strategies are chosen while a case is played: by all threads, so they play cases of one choice."""
    before = {name: _set(name, value) for name, value in CHOICES[choice].items()}
    try:
        yield
    finally:
        for name, value in before.items():
            _set(name, value)


def _set(name: str, value: Any) -> Any:
    """Gives a constant of Viewkeeper another value, and says which one it had."""
    module, constant = f"viewkeeper.{name}".rsplit(".", 1)
    place = import_module(module)
    before = getattr(place, constant)
    setattr(place, constant, value)
    return before


def started() -> SparkSession:
    """A small local session that interprets its plans: to compile them takes longer than to run them. For the
    same reason Java compiles quickly, and not well."""
    os.environ["TZ"] = "UTC"
    time.tzset()
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
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC -Xms1g -Xmn600m",
        )
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.timeType.enabled", "true")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.address", "127.0.0.1")
        .config("spark.connect.grpc.binding.port", str(_free_port()))
        .getOrCreate()
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
