"""One Spark session for the whole run, and fresh warehouses over it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import viewkeeper as vk
from tests.sizes import SIZES
from tests.templates import Filled, Filling
from viewkeeper import limits
from viewkeeper.planning import calibration, planner
from viewkeeper.refresh import lattice
from viewkeeper.spark.compare import compare

CHECKED = ("warehouse", "regressions")
"""The folders whose refreshes are compared with Spark's answers before they are committed in the long form,
unless `VIEWKEEPER_CHECK` says another share. Checks count as nobody's actions."""


COMPILED = ("cli", "conformance", "sessions", "tests")
"""The folders in which Spark compiles plans, as it does for users; README.md's examples are in the top one.
In others it interprets them: most plans run once, over a few rows, and to compile one takes longer."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

JVM = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
    " -XX:+UseSerialGC -Xms1g -Xmn500m"
)
"""A test is over before the code of Java's second compiler would pay; what the first one made is kept. Until
classes fill the space that there is for them at first, they are no reason to collect all garbage."""


PAGE = "1m"
"""What a task takes at first to sort or to group. Spark's own choice is 64 MB for such a heap: some of these
make Java collect all garbage."""


@pytest.fixture(autouse=True)
def shadow_checks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if SIZES.checked and request.path.parent.name in CHECKED:
        monkeypatch.setenv("VIEWKEEPER_CHECK", os.environ.get("VIEWKEEPER_CHECK", "1.0"))


@pytest.fixture(autouse=True)
def compiled_plans(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spark's own way with plans, in the folders named above."""
    if request.path.parent.name not in COMPILED or "spark" not in request.fixturenames:
        yield
        return
    session: SparkSession = request.getfixturevalue("spark")
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    yield
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)


@pytest.fixture
def maintained(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of how views are maintained: the first strategy that can maintain a view does, since small
    tables are cheap to recompute, and what a view takes on a busy machine is no measure."""
    monkeypatch.setattr(planner, "NOISE", 1000.0)
    monkeypatch.setattr(calibration, "BOUNDS", (1.0, 1.0))


@pytest.fixture
def every_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of lattices: every edge is taken, however few rows it saves."""
    monkeypatch.setattr(lattice, "WAITING", -1_000_000)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


CONNECT_PORT = free_port()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests on Spark, and lets them come first: the others are short, and fill what gaps remain."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A classic session; the same JVM also serves Spark Connect clients, for tests that kill them."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("viewkeeper-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", JVM)
        .config("spark.buffer.pageSize", PAGE)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "OFF")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.address", "127.0.0.1")
        .config("spark.connect.grpc.binding.port", str(CONNECT_PORT))
    )
    for name, value in INTERPRETED.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def connect_address(spark: SparkSession) -> str:
    return f"sc://127.0.0.1:{CONNECT_PORT}"


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> vk.Warehouse:
    return vk.open(str(tmp_path / "warehouse"), spark=spark)


@pytest.fixture(scope="session")
def templates() -> dict[Filling, Path]:
    """Warehouses that were filled in this run."""
    return {}


@pytest.fixture
def filled(
    warehouse: vk.Warehouse, templates: dict[Filling, Path], tmp_path_factory: pytest.TempPathFactory
) -> Filled:
    """The warehouse as a function fills it: that is done once in a run, and each test has a copy of it."""

    def fill(filling: Filling) -> vk.Warehouse:
        if filling not in templates:
            path = tmp_path_factory.mktemp("template") / "warehouse"
            filling(vk.open(str(path), spark=warehouse.spark))
            templates[filling] = path
        shutil.copytree(templates[filling], warehouse.path, dirs_exist_ok=True)
        return warehouse

    return fill


@pytest.fixture
def limit(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets limits: what is done in another way from some size on can be seen on few rows."""

    def set_limits(**own: float) -> None:
        monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, **own))
        warehouse._work.engine.limits = limits.LIMITS

    return set_limits


@pytest.fixture
def same_bag(warehouse: vk.Warehouse) -> Callable[[DataFrame, DataFrame], None]:
    """Fails unless two DataFrames are equal as bags, both ways."""

    def check(left: DataFrame, right: DataFrame) -> None:
        difference = compare(warehouse._work.engine, left, right)
        assert not difference, f"only left: {difference.only_left}, only right: {difference.only_right}"

    return check
