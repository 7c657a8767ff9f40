"""A process that changes a warehouse and is killed at its n-th step.

    worker.py WAREHOUSE SPARK_CONNECT_ADDRESS transaction|refresh STEP

A step is a call that leaves something behind: a Spark write, a Delta commit, the log entry. The
process dies just before its n-th step, or just after it when the number is a half more. It exits
with 0 when it came to the end, so that whoever counts up knows when all steps were tried.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.spark import execute, relations
from viewkeeper.spark.engine import Engine
from viewkeeper.storage.objects import Folder


class Deadline:
    """Counts steps and kills the process at one of them."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.reached = 0
        self.lock = Lock()

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            with self.lock:
                self.reached += 1
                number = self.reached
            self._die_at(number)
            result = call(*arguments, **options)
            self._die_at(number + 0.5)
            return result

        return run

    def _die_at(self, now: float) -> None:
        if now == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    path, address, scenario, step = sys.argv[1:]
    deadline = Deadline(float(step))
    warehouse = vk.open(path, spark=SparkSession.builder.remote(address).getOrCreate())
    Engine.write = deadline.around(Engine.write)  # type: ignore[method-assign]
    Folder.create = deadline.around(Folder.create)  # type: ignore[method-assign]
    execute.commit_main = deadline.around(execute.commit_main)
    relations.commit_main = deadline.around(relations.commit_main)
    if scenario == "transaction":
        with warehouse.transaction() as t:
            t.insert("pos", [(1, 7), (2, 8)])
            t.delete("pos", [(1, 5)])
            t.update("stores", [{"id": 2, "city": "moved"}])
    else:
        warehouse.refresh(policy=scenario)


if __name__ == "__main__":
    main()
