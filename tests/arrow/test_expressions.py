"""Values over Arrow tables are those of Spark: of types, of zeros, of NaN, of what does not fit."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from viewkeeper.algebra.merge.layers import parsed_expression
from viewkeeper.arrow.expressions import holds, value
from viewkeeper.arrow.types import stored_type
from viewkeeper.errors import NeedsSpark

TABLE = pa.table(
    {
        "n": pa.array([0, 3, None], pa.int64()),
        "i": pa.array([7, -7, 2], pa.int32()),
        "x": pa.array([1.5, nan, None], pa.float64()),
        "z": pa.array([0.0, -0.0, inf], pa.float64()),
        "d": pa.array([Decimal("2.50"), Decimal("-1.25"), None], pa.decimal128(8, 2)),
        "t": pa.array(["a", "b", None], pa.string()),
    }
)


def of(text: str) -> list[Any]:
    return value(parsed_expression(text), TABLE).to_pylist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("CASE WHEN n > 0 THEN i / n END", [None, -7 / 3, None]),
        ("CASE WHEN n = 0 THEN 'none' WHEN n > 0 THEN t END", ["none", "b", None]),
        ("coalesce(n, i, 1)", [0, 3, 2]),
        ("i div 2", [3, -3, 1]),
        ("i % 4", [3, -3, 2]),
        ("nullif(i, 7)", [None, -7, 2]),
        ("n <=> NULL", [False, False, True]),
        ("n IN (3, 4)", [False, True, None]),
        ("NOT (n BETWEEN 1 AND 5)", [True, False, None]),
        ("d * 2", [Decimal("5.00"), Decimal("-2.50"), None]),
        ("d + i", [Decimal("9.50"), Decimal("-8.25"), None]),
        ("CAST(d AS DECIMAL(6,1))", [Decimal("2.5"), Decimal("-1.3"), None]),
        ("CAST(d AS DOUBLE)", [2.5, -1.25, None]),
        ("concat(t, CAST(i AS STRING))", ["a7", "b-7", None]),
        ("lpad(CAST(i AS STRING), 3, '0')", ["007", "0-7", "002"]),
        ("shiftright(i, 1) + (i & 1)", [4, -3, 1]),
        ("if(n > 1, abs(i), -i)", [-7, 7, -2]),
    ],
)
def test_expressions(text: str, wanted: list[Any]) -> None:
    assert of(text) == wanted


SAME = (
    *("d / 3", "d / n", "d * d", "d - i", "d % 2", "d div 2", "d + 1.5", "1 - d", "i + 1", "i + n", "i / 2"),
    *("i div 2", "i % 3", "coalesce(i, d)", "coalesce(d, 0)", "i * 1.5e0", "x + i", "-d", "abs(d)", "abs(i)"),
    *("CAST(d AS DECIMAL(4,1))", "CAST(i AS DECIMAL(20,5))", "CAST(d AS DOUBLE) / 3", "CAST(i AS STRING)"),
    *("sqrt(abs(i))", "CASE WHEN i > 0 THEN d / i END", "i > d", "x < i", "z = 0", "i IN (7, 2.5)"),
    *("CAST(concat('1', '25', 'E-1') AS DECIMAL(38,2))", "d * CAST('100' AS DECIMAL(30,0)) / 7"),
)
"""Expressions that Spark is asked for as well, over the rows where n is 3 and 5."""


def test_spark_gives_the_same_values_and_types(spark: SparkSession) -> None:
    rows = pa.concat_tables([TABLE.slice(1, 1), TABLE.slice(0, 1).set_column(0, "n", [[5]])])
    frame = spark.createDataFrame(rows).selectExpr(*(f"{text} AS c{at}" for at, text in enumerate(SAME)))
    found = pa.table({f"c{at}": value(parsed_expression(text), rows) for at, text in enumerate(SAME)})
    kinds = dict(frame.dtypes)
    assert {n: found[n].type for n in kinds} == {n: stored_type(kind) for n, kind in kinds.items()}
    assert repr(found.to_pylist()) == repr([row.asDict() for row in frame.collect()])


def test_nan_is_equal_to_itself_and_the_greatest_of_numbers() -> None:
    assert of("x > 1e300") == [False, True, None]
    assert of("x = x") == [True, True, None]
    assert of("z = 0.0e0") == [True, True, False]
    assert holds(parsed_expression("x > 1e300"), TABLE).to_pylist() == [False, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "i / n",
        "upper(t)",
        "round(x, 2)",
        "n * 9223372036854775807",
        "CAST(x AS STRING)",
        "t > 3",
        "CAST(d * 1000000 AS DECIMAL(4,2))",
    ],
)
def test_what_arrow_would_find_in_another_way_is_left_to_spark(text: str) -> None:
    with pytest.raises(NeedsSpark):
        of(text)
