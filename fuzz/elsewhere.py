"""A refresh in another process: `python -m fuzz.elsewhere sc://… path view…`, through Spark Connect.

Nothing that the first process holds in memory is known there. Java stays the same, and so it stays warm.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

PORT = "spark.connect.grpc.binding.port"


def refreshed_elsewhere(spark: SparkSession, path: Path, names: list[str]) -> list[tuple[str, str]] | None:
    """Views and their strategies; None where the session serves no others."""
    port = spark.conf.get(PORT, None)
    if port is None:
        return None
    command = [sys.executable, "-m", "fuzz.elsewhere", f"sc://127.0.0.1:{port}", str(path), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"In another process: {done.stderr.strip()[-500:]}")
    return [(view, strategy) for view, strategy in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    import viewkeeper as vk
    from fuzz.session import choosing

    address, path, *names = sys.argv[1:]
    spark = SparkSession.builder.remote(address).getOrCreate()
    with choosing("maintain"):
        report = vk.open(path, spark=spark).refresh(*names, policy="incremental")
    print(json.dumps([(entry.view, entry.strategy) for entry in report]))
    spark.stop()


if __name__ == "__main__":
    main()
