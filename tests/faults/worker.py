"""Processes that change a copy of a warehouse each, and are killed at every step, one after the other.

    worker.py WAREHOUSE FOLDER SPARK_CONNECT_ADDRESS transaction|full|strict

A step is a call that leaves something behind: a Spark write, a Delta commit, the log entry. A process dies
just before a step, and the last one just after the last step; between two steps nothing changes. The copies
of those that died are FOLDER/step-1, step-2, …. The processes are forked from one that has imported
everything and has not talked to Spark yet.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.spark import anew, stored_relations
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.storage.objects import Folder


class Deadline:
    """Counts steps and kills the process before one of them, or after the last."""

    def __init__(self, step: int, is_last: bool) -> None:
        self.step = step
        self.is_last = is_last
        self.reached = 0
        self.lock = Lock()

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            with self.lock:
                self.reached += 1
                is_due = self.reached == self.step
            if is_due and not self.is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if is_due:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return run


def change(path: Path, address: str, scenario: str, deadline: Deadline) -> None:
    warehouse = vk.open(str(path), spark=SparkSession.builder.remote(address).getOrCreate())
    SparkEngine.write = deadline.around(SparkEngine.write)  # type: ignore[method-assign]
    Folder.create = deadline.around(Folder.create)  # type: ignore[method-assign]
    anew.commit_main = deadline.around(anew.commit_main)
    stored_relations.commit_main = deadline.around(stored_relations.commit_main)
    if scenario == "transaction":
        with warehouse.transaction() as t:
            t.insert("pos", [(1, 7), (2, 8)])
            t.delete("pos", [(1, 5)])
            t.update("stores", [{"id": 2, "city": "moved"}])
    else:
        warehouse.refresh(policy=scenario)


def dies(path: Path, address: str, scenario: str, deadline: Deadline) -> bool:
    """Whether a process of its own is killed on the way; it must not fail in any other way."""
    child = os.fork()
    if child == 0:
        change(path, address, scenario, deadline)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        sys.exit(f"{path} ended with {code}")
    return code != 0


def main() -> None:
    warehouse, folder, address, scenario = sys.argv[1:]

    def killed_at(name: int, step: int, is_last: bool = False) -> bool:
        copy = Path(folder) / f"step-{name}"
        shutil.copytree(warehouse, copy)
        died = dies(copy, address, scenario, Deadline(step, is_last))
        if not died:
            shutil.rmtree(copy)
        return died

    steps = next(step for step in count(1) if not killed_at(step, step)) - 1
    if not killed_at(steps + 1, steps, is_last=True):
        sys.exit(f"The last of {steps} steps was not reached again")


if __name__ == "__main__":
    main()
