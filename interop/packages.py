"""Maven artefacts, by the process that needs them; Spark itself resolves them, into `interop/.ivy`."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

IVY = HERE / ".ivy"

WRITER_PYTHON = HERE / ".venv" / "bin" / "python"
"""An older Spark: no JVM Delta connector is made for the pinned one, and the newest fails on it
(`NoSuchMethodError: LogicalRDD.<init>`)."""

WRITER_PACKAGES = ("io.delta:delta-spark_4.2_2.13:4.4.0",)
"""Of the process that writes tables as others do."""

FOLLOWER_PACKAGES: tuple[str, ...] = ()
"""Of the pinned Spark, on which Viewkeeper runs."""
