"""One Kafka broker on this machine, in a Java process of its own, with its own jars."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from interop.packages import BROKER_PACKAGES, HERE

_IVY = HERE / ".ivy-kafka"
_SPARK = Path(pyspark.__file__).parent

_CLUSTER = "hsnn0fr0TNy9AZv0eGGo2g"

_CONFIGURATION = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.dirs={folder}/log
"""


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker that runs meanwhile; its address."""
    port = _free_port()
    configuration = folder / "server.properties"
    configuration.write_text(_CONFIGURATION.format(port=port, controller=_free_port(), folder=folder))
    _java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(configuration)).wait(timeout=120)
    process = _java("kafka.Kafka", str(configuration))
    try:
        _wait(port, process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def fetched() -> Path:
    """The folder of the broker's jars, which Spark's own resolver fetches for a program that does nothing."""
    jars = _IVY / "jars"
    if not jars.is_dir():
        command = [str(_SPARK / "bin" / "spark-submit"), "--packages", ",".join(BROKER_PACKAGES)]
        command += ["--conf", f"spark.jars.ivy={_IVY}", "--class", "kafka.tools.StorageTool"]
        environment = {**os.environ, "SPARK_HOME": str(_SPARK)}
        subprocess.run([*command, "spark-internal", "random-uuid"], env=environment, check=True)
    return jars


def _java(main: str, *arguments: str) -> subprocess.Popen[bytes]:
    scala = (_SPARK / "jars").glob("scala-*.jar")  # Spark's resolver leaves out what Spark has
    path = ":".join([f"{fetched()}/*", *map(str, scala)])
    command = ["java", "-Xmx256m", "-cp", path, main, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    """Until the broker takes connections."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise RuntimeError(f"The broker ended with {process.returncode}.")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise TimeoutError(f"The broker takes no connections after {seconds} seconds.")
