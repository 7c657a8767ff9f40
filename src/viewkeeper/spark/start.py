"""Starts a Spark session where none is given: as it is asked for, as the environment says, and else sensibly.

What is asked for (`--master`, `--remote`, `--conf`) wins over what spark-submit, `PYSPARK_SUBMIT_ARGS`,
`SPARK_REMOTE`, `MASTER` and `spark-defaults.conf` say, and these win over the defaults here. A session that
is active already is taken as it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from viewkeeper.spark.quiet import quiet

COMPILED = "3000"
"""Of how many pieces of a plan Spark keeps the compiled code. Its own default, 100, is less than one refresh
of a few views needs: the next would compile them all again."""

SHARE = 4
"""Spark gets one part in so many of the machine's memory."""

LEAST, MOST = 1024, 32 * 1024
"""Megabytes."""

_NAMED = {"--master": "spark.master", "--driver-memory": "spark.driver.memory", "--name": "spark.app.name"}


@dataclass(frozen=True)
class Wanted:
    """What is asked of a session: where it runs, and its settings."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


_wanted = Wanted()


def want(wanted: Wanted) -> None:
    """Sessions that this process starts from now on are as wanted."""
    global _wanted
    _wanted = wanted


def started(wanted: Wanted | None = None, environment: Mapping[str, str] = os.environ) -> SparkSession:
    """A session: the one that is active, or a new one."""
    wanted = wanted or _wanted
    active = SparkSession.getActiveSession()
    if active is not None and wanted == Wanted():
        return active
    # Functions in Python run on the Python that asks for them, wherever that is installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("viewkeeper")
    remote = wanted.remote or ("" if wanted.master else environment.get("SPARK_REMOTE", ""))
    if remote:
        builder = builder.remote(remote)
    own = dict(wanted.conf) if remote else settings(wanted, environment, cores(), memory())
    for name, value in own.items():
        builder = builder.config(name, value)
    with quiet():
        return builder.getOrCreate()


def is_started() -> bool:
    """Whether there is a session already, which is not ours to end."""
    return SparkSession.getActiveSession() is not None


def settings(wanted: Wanted, environment: Mapping[str, str], cores: int, memory: int) -> dict[str, str]:
    """What a classic session is told; under spark-submit nothing but what is asked for."""
    asked = {**({"spark.master": wanted.master} if wanted.master else {}), **wanted.conf}
    if "PYSPARK_GATEWAY_PORT" in environment:
        return asked
    known = given(environment)
    return {**{k: v for k, v in defaults(cores, memory).items() if k not in known}, **asked}


def defaults(cores: int, memory: int) -> dict[str, str]:
    """For a session on this machine, which has so many cores and megabytes."""
    heap = min(max(memory // SHARE, LEAST), MOST)
    return {
        "spark.master": f"local[{cores}]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{heap}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(cores, 2)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.cache.maxEntries": COMPILED,
        "spark.log.level": "ERROR",
    }


def given(environment: Mapping[str, str]) -> frozenset[str]:
    """The settings about which the environment has a say."""
    master = {"spark.master"} if environment.get("MASTER") else set()
    arguments = shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", ""))
    return frozenset({*master, *_submitted(arguments), *_in_files(environment)})


def _submitted(arguments: list[str]) -> Iterable[str]:
    """The settings that arguments of spark-submit are about."""
    for number, argument in enumerate(arguments):
        option, _, value = argument.partition("=")
        value = value or (arguments[number + 1] if number + 1 < len(arguments) else "")
        if option in _NAMED:
            yield _NAMED[option]
        elif option in ("--conf", "-c"):
            yield value.partition("=")[0]
        elif option == "--properties-file":
            yield from _names(Path(value))


def _in_files(environment: Mapping[str, str]) -> Iterable[str]:
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    return _names(Path(folder) / "spark-defaults.conf") if folder else ()


def _names(file: Path) -> list[str]:
    """The settings in a file of Spark's: name and value, with a blank or = between them."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    words = (line.replace("=", " ", 1).split() for line in lines)
    return [one[0] for one in words if one and not one[0].startswith("#")]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2


def memory() -> int:
    """The megabytes of the machine, or of the container."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8").strip()
    except OSError:
        limit = "max"
    return min(pages, int(limit) if limit.isdecimal() else pages) // 2**20
