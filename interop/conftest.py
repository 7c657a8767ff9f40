"""The pinned Spark with the packages of `interop/packages.py`, and a process that writes as others do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from interop.broker import fetched
from interop.jvm import Writer
from interop.packages import DELTA_SETTINGS, FOLLOWER_PACKAGES, IVY, TOKENS


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    [tokens] = fetched().glob("*spark-token-provider-kafka*.jar")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("viewkeeper-interop")
        .config("spark.jars.ivy", str(IVY))
        .config("spark.jars.packages", ",".join(FOLLOWER_PACKAGES))
        .config("spark.jars.excludes", TOKENS)
        .config("spark.jars", str(tokens))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "OFF")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("catalog")))
        .config(map=DELTA_SETTINGS)
    )
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> vk.Warehouse:
    return vk.open(str(tmp_path / "warehouse"), spark=spark)


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    """Spark with the JVM Delta connector, as the default catalog."""
    with Writer(tmp_path_factory.mktemp("lake")) as process:
        yield process
