"""A Spark of another version in a process of its own: it takes statements, and tells their rows.

    jvm.py PACKAGES IVY FOLDER

Reads a JSON object from each line, and answers with one: `{"sql": text}` gives `{"rows": […]}` or
`{"error": text}`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from interop.packages import DELTA_SETTINGS, IVY, WRITER_PACKAGES, WRITER_PYTHON

_ANSWER = "@answer "
_SETTINGS = {
    **DELTA_SETTINGS,
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
}


class Writer:
    """The process, as those see it who ask it to do something."""

    def __init__(self, folder: Path) -> None:
        command = [str(WRITER_PYTHON), "-m", "interop.jvm", ",".join(WRITER_PACKAGES), str(IVY), str(folder)]
        root = Path(__file__).parents[1]
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def sql(self, text: str) -> list[list[Any]]:
        """The rows of a statement; what fails there fails here."""
        answer = self._ask({"sql": text})
        if "error" in answer:
            raise RuntimeError(f"{text}\n{answer['error']}")
        return list(answer["rows"])

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(_ANSWER):
                return dict(json.loads(line.removeprefix(_ANSWER)))
        raise RuntimeError(f"The writer ended with {self._process.wait()}.")

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def main() -> None:
    from pyspark.sql import SparkSession

    packages, ivy, folder = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").appName("writer")
    builder = builder.config("spark.jars.packages", packages).config("spark.jars.ivy", ivy)
    builder = builder.config("spark.sql.warehouse.dir", folder)
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        print(_ANSWER + json.dumps(_answer(spark, json.loads(line)), default=str), flush=True)
    spark.stop()


def _answer(spark: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"rows": [list(row) for row in spark.sql(question["sql"]).collect()]}
    except Exception as error:  # whatever it is, the one who asked is told
        return {"error": str(error)[:2000]}


if __name__ == "__main__":
    main()
