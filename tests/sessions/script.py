"""A whole life of a warehouse on a given kind of session; prints what it found as JSON.

script.py PATH CONNECT_ADDRESS | cluster
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import viewkeeper as vk

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SMALL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def session(kind: str) -> SparkSession:
    """A session on a Connect server, or one with an executor in a process of its own."""
    if kind != "cluster":
        return SparkSession.builder.remote(kind).getOrCreate()
    builder = SparkSession.builder.master("local-cluster[1,2,1024]")
    return builder.config(map=SMALL).getOrCreate()


def life(warehouse: vk.Warehouse) -> dict[str, object]:
    warehouse.create_table("stores", [{"id": 1, "city": "a"}, {"id": 2, "city": "b"}], key=["id"])
    warehouse.sql("CREATE TABLE pos (store BIGINT, qty INT, price DECIMAL(8,2), day DATE)")
    warehouse.sql("INSERT INTO pos VALUES (1, 5, 1.5, DATE'2024-01-01'), (2, NULL, 2, NULL)")
    warehouse.create_view(
        "sales", "SELECT city, SUM(qty) AS q, MIN(day) AS d FROM pos JOIN stores ON store = id GROUP BY city"
    )
    warehouse.create_view("cities", "SELECT COUNT(*) AS n FROM (SELECT DISTINCT city FROM sales WHERE q > 0)")
    with warehouse.transaction() as t:
        t.insert("pos", [(2, 7, None, None), (2, 1, None, None)])
        t.delete("pos", warehouse.sql("SELECT * FROM pos WHERE store = 1"))
        t.update("stores", [{"id": 2, "city": "c"}])
    report = warehouse.refresh(policy="strict")
    warehouse.compact()
    return {
        "zoned": zoned(warehouse),
        "strategies": [entry.strategy for entry in report],
        "sales": [list(row) for row in warehouse.table("sales").collect()],
        "cities": [list(row) for row in warehouse.table("cities").collect()],
        "verified": [bool(warehouse.verify(name)) for name in ("sales", "cities")],
    }


def zoned(warehouse: vk.Warehouse) -> list[list[object]]:
    """A view of one time zone that is refreshed from another."""
    zone = "spark.sql.session.timeZone"
    warehouse.spark.conf.set(zone, "Asia/Tokyo")
    warehouse.sql("CREATE TABLE seen (at TIMESTAMP)")
    warehouse.sql("INSERT INTO seen VALUES (TIMESTAMP'2024-01-02 01:00:00')")
    query = "SELECT CAST(to_date(at) AS STRING) AS day, COUNT(*) AS n FROM seen GROUP BY to_date(at)"
    warehouse.create_view("days", query)
    warehouse.spark.conf.set(zone, "UTC")
    warehouse.sql(
        "INSERT INTO seen VALUES (TIMESTAMP'2024-01-01 14:00:00'), (TIMESTAMP'2024-01-01 17:00:00')"
    )
    warehouse.refresh(policy="strict")
    assert warehouse.spark.conf.get(zone) == "UTC"
    return [list(row) for row in warehouse.table("days").orderBy("day").collect()]


def main() -> None:
    path, kind = sys.argv[1:]
    spark = session(kind)
    found = life(vk.open(path, spark=spark))
    found["session"] = f"{type(spark).__module__}"
    print(json.dumps(found, default=str))
    spark.stop()


if __name__ == "__main__":
    main()
