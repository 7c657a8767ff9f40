"""Templates of scalar expressions, parsed once; `x`, `y` and `z` stand for columns.

Types are coarse: `ratio` is a double that is exact only as it stands, so that it is compared and
grouped but never summed, and rounding does not look like a broken law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import sqlglot

from viewkeeper.algebra.expressions import Scalar, column, replace_columns

INT, STRING, DECIMAL, DATE, DOUBLE, BOOLEAN, RATIO, ARRAY = (
    "int",
    "string",
    "decimal(8,2)",
    "date",
    "double",
    "boolean",
    "ratio",
    "array",
)
ANY = "any"


@dataclass(frozen=True)
class Template:
    """An expression over columns of the given types."""

    text: str
    takes: tuple[str, ...]
    gives: str

    def over(self, *names: str) -> Scalar:
        return replace_columns(_parsed(self.text), dict(zip("xyz", map(column, names), strict=False)))


@cache
def _parsed(text: str) -> Scalar:
    return sqlglot.parse_one(text, dialect="spark")


SCALARS = (
    Template("x + y", (INT, INT), INT),
    Template("x * 2 - 1", (INT,), INT),
    Template("coalesce(x, 0)", (INT,), INT),
    Template("CASE WHEN x > 0 THEN y END", (INT, INT), INT),
    Template("x + 0.25", (DECIMAL,), DECIMAL),
    Template("concat(x, 'z')", (STRING,), STRING),
    Template("coalesce(x, y)", (STRING, STRING), STRING),
    Template("day(x)", (DATE,), INT),
    Template("x * 2", (DOUBLE,), DOUBLE),
    Template("x IS NULL", (ANY,), BOOLEAN),
    Template("x < y", (INT, INT), BOOLEAN),
    Template("7", (), INT),
)

CONDITIONS = (
    Template("x >= 0", (INT,), BOOLEAN),
    Template("x IS NOT NULL OR y IS NULL", (ANY, ANY), BOOLEAN),
    Template("x <> 1 OR x IS NULL", (INT,), BOOLEAN),
    Template("x = 1", (INT,), BOOLEAN),
    Template("x <> y", (INT, INT), BOOLEAN),
    Template("x > 0 OR y IS NULL", (INT, ANY), BOOLEAN),
    Template("NOT (x = 1 AND y < 2)", (INT, INT), BOOLEAN),
    Template("x IN (0, 2)", (INT,), BOOLEAN),
    Template("x NOT IN (0, 2)", (INT,), BOOLEAN),
    Template("x IS NOT NULL", (ANY,), BOOLEAN),
    Template("x IS NULL", (ANY,), BOOLEAN),
    Template("x = 'x'", (STRING,), BOOLEAN),
    Template("x >= 0.5", (DECIMAL,), BOOLEAN),
    Template("x BETWEEN 0 AND 1", (INT,), BOOLEAN),
    Template("x < DATE '2020-01-02'", (DATE,), BOOLEAN),
    Template("x", (BOOLEAN,), BOOLEAN),
    Template("x > 0", (DOUBLE,), BOOLEAN),
)

JOIN_CONDITIONS = (
    Template("x = y", (ANY, ANY), BOOLEAN),
    Template("x = y", (ANY, ANY), BOOLEAN),
    Template("x <=> y", (ANY, ANY), BOOLEAN),
    Template("x = y OR x IS NULL OR y IS NULL", (ANY, ANY), BOOLEAN),
    Template("x = y OR y IS NULL", (ANY, ANY), BOOLEAN),
    Template("x < y", (ANY, ANY), BOOLEAN),
    Template("x <> y", (ANY, ANY), BOOLEAN),
    Template("x = y AND x IS NOT NULL", (ANY, ANY), BOOLEAN),
    Template("coalesce(x, y) = y", (ANY, ANY), BOOLEAN),
)

AGGREGATES = (
    Template("count(*)", (), INT),
    Template("count(x)", (ANY,), INT),
    Template("count(DISTINCT x)", (ANY,), INT),
    Template("sum(x)", (INT,), INT),
    Template("sum(x)", (DECIMAL,), DECIMAL),
    Template("sum(CAST(x AS DOUBLE))", (DOUBLE,), DOUBLE),
    Template("sum(DISTINCT x)", (INT,), INT),
    Template("sum(x + y)", (INT, INT), INT),
    Template("sum(x) FILTER (WHERE y > 0)", (INT, INT), INT),
    Template("count(*) FILTER (WHERE x IS NULL)", (ANY,), INT),
    Template("avg(x)", (INT,), RATIO),
    Template("avg(x)", (DECIMAL,), RATIO),
    Template("min(x)", (ANY,), ANY),
    Template("max(x)", (ANY,), ANY),
    Template("min(x) FILTER (WHERE y IS NOT NULL)", (INT, ANY), INT),
    Template("bool_and(x)", (BOOLEAN,), BOOLEAN),
    Template("bool_or(x)", (BOOLEAN,), BOOLEAN),
    Template("median(x)", (INT,), RATIO),
)

WINDOW_FUNCTIONS = (
    Template("rank()", (), INT),
    Template("dense_rank()", (), INT),
    Template("count(*)", (), INT),
    Template("sum(x)", (INT,), INT),
    Template("min(x)", (ANY,), ANY),
    Template("max(x)", (ANY,), ANY),
)
"""Functions whose value does not depend on the order of peers."""
