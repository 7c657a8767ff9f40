"""Tables of the session's catalog are followed where it says that they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.errors import InvalidOption, NotFound, Unsupported
from viewkeeper.spark.catalog_tables import place_told
from viewkeeper.sql.statements import CreateTable, Follows, parse_statement

TOLD = [
    ("id", "bigint"),
    ("Location", "string"),
    ("Provider", "int"),
    ("", ""),
    ("# Detailed Table Information", ""),
    ("Name", "spark_catalog.default.t"),
    ("Location", "file:/lake/odd%20folder/t"),
    ("Provider", "delta"),
]


def test_the_catalog_tells_format_and_place() -> None:
    assert place_told("t", TOLD) == ("delta", "/lake/odd folder/t")
    bucket = [*TOLD[:-2], ("Location", "s3a://lake/t"), ("Provider", "ICEBERG")]
    assert place_told("t", bucket) == ("iceberg", "s3://lake/t")
    with pytest.raises(Unsupported, match="neither its format nor its place"):
        place_told("t", TOLD[:4])


@pytest.mark.parametrize(
    ("text", "place", "options"),
    [
        ("CREATE TABLE t USING catalog", "", ()),
        ("CREATE TABLE t USING catalog OPTIONS (table 'lake.sales.t')", "lake.sales.t", ()),
        ("CREATE TABLE t USING catalog OPTIONS ('table' 'a.t', region 'x')", "a.t", (("region", "x"),)),
    ],
)
def test_a_table_is_named_in_sql(text: str, place: str, options: tuple[tuple[str, str], ...]) -> None:
    statement = parse_statement(text)
    assert isinstance(statement, CreateTable)
    assert statement.follows == Follows("catalog", place, options, True)


def test_what_is_no_such_table_is_told(warehouse: vk.Warehouse, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="catalog has no table nowhere"):
        warehouse.follow("t", "nowhere", format="catalog")
    spark.sql(f"CREATE TABLE in_text (v STRING) USING text LOCATION '{tmp_path / 'text'}'")
    try:
        with pytest.raises(InvalidOption, match="format text cannot be followed"):
            warehouse.sql("CREATE TABLE t USING catalog OPTIONS (table 'in_text')")
    finally:
        spark.sql("DROP TABLE in_text")
