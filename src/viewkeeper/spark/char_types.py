"""CHAR(n) and VARCHAR(n) when rows are written: as Spark's own tables do it.

A value of more than n characters is refused, unless what is too much are blanks, which are cut off. One of
fewer than n is padded with blanks if its column is CHAR(n).
"""

from __future__ import annotations

import re

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from sqlglot import exp

from viewkeeper.algebra.schema import Column
from viewkeeper.errors import WrongType

CONDITION = "EXCEED_LIMIT_LENGTH"
"""What Spark calls a value that is too long for its column."""

_RAISED = re.compile(rf"{CONDITION}/(.*)/(.*)/(\d+)/(\d+)/")


def fitted_text(text: str | None, column: Column, table: str) -> str | None:
    """A value of a column as it is stored."""
    kind, limit = _limit(exp.DataType.build(column.declared, dialect="spark"))
    if text is None or limit is None:
        return text
    if len(text.rstrip(" ")) > limit:
        raise too_long(table, column.name, len(text), limit)
    cut = text[:limit] if len(text) > limit else text
    return cut.ljust(limit) if kind is exp.DType.CHAR else cut


def fitted_value(value: Expression, column: Column, table: str) -> Expression:
    """The same for a column of a DataFrame, which may have such texts inside."""
    return _fitted(value, exp.DataType.build(column.declared, dialect="spark"), f"{table}/{column.name}")


def _fitted(value: Expression, declared: exp.DataType, where: str) -> Expression:
    inner = declared.expressions
    match declared.this:
        case exp.DType.CHAR | exp.DType.VARCHAR:
            return _fitted_text(value, declared, where)
        case exp.DType.ARRAY:
            return F.transform(value, lambda one: _fitted(one, inner[0], where))
        case exp.DType.MAP:
            keys = F.transform_keys(value, lambda key, _: _fitted(key, inner[0], where))
            return F.transform_values(keys, lambda _, one: _fitted(one, inner[1], where))
        case exp.DType.STRUCT:
            fields = [_fitted(value[f.name], f.args["kind"], where).alias(f.name) for f in inner]
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value


def _fitted_text(value: Expression, declared: exp.DataType, where: str) -> Expression:
    kind, limit = _limit(declared)
    if limit is None:
        return value
    length = F.length(value).cast("string")
    raised = F.raise_error(F.concat(F.lit(f"{CONDITION}/{where}/"), length, F.lit(f"/{limit}/")))
    is_short = value.isNull() | (F.length(value) <= limit)
    is_padded = F.length(F.rtrim(value)) <= limit
    cut = F.when(is_short, value).when(is_padded, F.substring(value, 1, limit)).otherwise(raised)
    return F.rpad(cut, limit, " ") if kind is exp.DType.CHAR else cut


def _limit(declared: exp.DataType) -> tuple[exp.DType, int | None]:
    is_text = declared.this in (exp.DType.CHAR, exp.DType.VARCHAR)
    return declared.this, int(declared.expressions[0].name) if is_text else None


def too_long(table: str, column: str, length: int, limit: int) -> WrongType:
    return WrongType(
        f"A value is too long for the column {column} of {table}.",
        f"It has {length} characters; the column takes {limit}.",
        "Nothing was applied. Shorten the value.",
        table=table,
        columns=[column],
        code=CONDITION,
    )


def raised_too_long(text: str) -> WrongType | None:
    """The error that a DataFrame's value raised, found in Spark's text of it."""
    found = _RAISED.search(text)
    return too_long(found[1], found[2], int(found[3]), int(found[4])) if found else None
