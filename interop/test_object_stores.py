"""Where the session has Hadoop's connector for S3, Spark reads and writes by itself; Arrow reads the same."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.stores.conftest import Bucket, bucket, store
from viewkeeper.spark.access import ArrowAccess

COLUMNS = "id INT, store STRING, qty INT, day DATE, tags ARRAY<STRING>, PRIMARY KEY (id)"

__all__ = ["bucket", "store"]


def opened(bucket: Bucket, spark: SparkSession) -> vk.Warehouse:
    warehouse = vk.open(bucket.url, spark, storage_options=bucket.options)
    engine = warehouse._work.engine
    engine.limits = replace(engine.limits, written_by_driver=0, changes_held=0)
    return warehouse


def test_the_connector_is_taken_and_both_ways_read_each_other(bucket: Bucket, spark: SparkSession) -> None:
    ours = opened(bucket, spark)
    assert "Spark's connector reads and writes s3://" in ours._work.engine.access.told
    ours.sql(f"CREATE TABLE pos ({COLUMNS})")
    ours.sql(
        "INSERT INTO pos SELECT CAST(id AS INT), concat('s', id % 7), CAST(id % 5 AS INT),"
        " DATE '1500-01-01', array('x', NULL) FROM range(200)"
    )
    ours.create_view("sums", "SELECT store, SUM(qty) AS q, MAX(day) AS d FROM pos GROUP BY store")
    theirs = opened(bucket, spark)
    theirs._work.engine.__dict__["access"] = ArrowAccess(spark, theirs._work.engine.folder, "by Arrow")
    theirs.sql("UPDATE pos SET qty = 100 WHERE id = 7")
    theirs.refresh()
    ours.sql("DELETE FROM pos WHERE id < 5")
    ours.refresh()
    shown = [sorted(map(tuple, one.table("sums").collect())) for one in (ours, theirs)]
    assert shown[0] == shown[1]
    read = vk.read(bucket.url, "sums", storage_options=bucket.options).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in read) == shown[0]
    assert ours.verify("sums")
    assert theirs.verify("sums")
    ours.compact()
    assert sorted(map(tuple, theirs.table("sums").collect())) == shown[0]
