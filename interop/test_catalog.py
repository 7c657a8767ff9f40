"""A table of the session's catalog, which is the JVM Delta connector's, is followed by its name."""

from __future__ import annotations

import viewkeeper as vk
from interop.jvm import Writer
from interop.test_delta_histories import bag


def test_a_table_is_followed_by_its_name(warehouse: vk.Warehouse, writer: Writer) -> None:
    spark = warehouse.spark
    spark.sql("CREATE SCHEMA shop")
    spark.sql("CREATE TABLE shop.sales (id BIGINT, city STRING) USING delta")
    told = spark.sql("DESCRIBE EXTENDED shop.sales").collect()
    [place] = [row[1] for row in told if row[0] == "Location"]
    table = f"delta.`{place}`"
    writer.sql(f"INSERT INTO {table} SELECT id, IF(id % 2 = 0, 'a', 'b') FROM range(10)")
    columns = "(id BIGINT, city STRING, PRIMARY KEY (id))"
    warehouse.sql(f"CREATE TABLE sales {columns} USING catalog OPTIONS (table 'shop.sales')")
    warehouse.follow("again", "spark_catalog.shop.sales", format="catalog")
    warehouse.create_view("cities", "SELECT city, COUNT(*) AS n FROM sales GROUP BY city")
    assert bag(warehouse.table("cities").collect()) == bag([("a", 5), ("b", 5)])
    writer.sql(f"DELETE FROM {table} WHERE id < 3")
    assert warehouse.refresh(check=1.0).of("cities").strategy == "summary-delta"
    assert bag(warehouse.table("cities").collect()) == bag(
        writer.sql(f"SELECT city, COUNT(*) FROM {table} GROUP BY city")
    )
    assert warehouse.table("again").count() == 7
