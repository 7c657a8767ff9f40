"""One Spark session for the whole run, and fresh warehouses over it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from viewkeeper.planning import calibration, planner
from viewkeeper.refresh import lattice
from viewkeeper.spark.compare import compare

calibration.BOUNDS = (1.0, 1.0)
planner.NOISE = 1000.0
lattice.WAITING = -1_000_000
"""What a view costs on a busy machine decides nothing in tests, and tables are too small for any strategy to
pay, or any edge of a lattice, which are taken wherever there is one: the tests of the choice itself set
these as they need."""

CHECKED = ("warehouse", "regressions")
"""The folders whose refreshes are compared with Spark's answers before they are committed, unless
`VIEWKEEPER_CHECK` says another share. Checks count as nobody's actions."""


@pytest.fixture(autouse=True)
def shadow_checks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.parent.name in CHECKED:
        monkeypatch.setenv("VIEWKEEPER_CHECK", os.environ.get("VIEWKEEPER_CHECK", "1.0"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


CONNECT_PORT = free_port()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests on Spark: `scripts/test` runs them in one process, and all others beside it."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A classic session; the same JVM also serves Spark Connect clients, for tests that kill them.

    Plans over a few rows run sooner interpreted than compiled; the sessions of the command line compile.
    """
    session = (
        SparkSession.builder.master("local[2]")
        .appName("viewkeeper-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.address", "127.0.0.1")
        .config("spark.connect.grpc.binding.port", str(CONNECT_PORT))
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def connect_address(spark: SparkSession) -> str:
    return f"sc://127.0.0.1:{CONNECT_PORT}"


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> vk.Warehouse:
    return vk.open(str(tmp_path / "warehouse"), spark=spark)


@pytest.fixture
def limit(warehouse: vk.Warehouse) -> Callable[..., None]:
    """Sets limits of the warehouse: what is done in another way from some size on can be seen on few rows."""

    def set_limits(**limits: int) -> None:
        warehouse._work.engine.limits = replace(warehouse._work.engine.limits, **limits)

    return set_limits


@pytest.fixture
def same_bag(warehouse: vk.Warehouse) -> Callable[[DataFrame, DataFrame], None]:
    """Fails unless two DataFrames are equal as bags, both ways."""

    def check(left: DataFrame, right: DataFrame) -> None:
        difference = compare(warehouse._work.engine, left, right)
        assert not difference, f"only left: {difference.only_left}, only right: {difference.only_right}"

    return check
