"""Maven artefacts, by the process that needs them; Spark itself resolves them, into `interop/.ivy`."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

IVY = HERE / ".ivy"

WRITER_PYTHON = HERE / ".venv" / "bin" / "python"
"""An older Spark: no JVM Delta connector is made for the pinned one, and the newest fails on it
(`NoSuchMethodError: LogicalRDD.<init>`)."""

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"

DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

WRITER_PACKAGES = (DELTA,)
"""Of the process that writes tables as others do."""

FOLLOWER_PACKAGES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.hadoop:hadoop-aws:3.5.0",
    DELTA,
)
"""Of the pinned Spark, on which Viewkeeper runs; the Delta connector serves as its catalog alone."""

TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
"""What Spark's Kafka connector asks for tokens: Maven Central has it in no newer version than this."""

BROKER_PACKAGES = ("org.apache.kafka:kafka_2.13:4.3.1", f"{TOKENS}:4.0.0")
"""Of the Kafka broker."""
