"""Spark's types as Arrow has them, and the types that Spark gives to numbers that meet.

int + bigint          bigint
bigint + double       double
int + decimal(p,s)    decimal: an int is a decimal(10,0) there, a constant one of as many digits as it has
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from viewkeeper.errors import NeedsSpark

MOST_DIGITS = 38

_PLAIN = {
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TEXT: pa.string(),
    exp.DType.CHAR: pa.string(),
    exp.DType.VARCHAR: pa.string(),
    exp.DType.BINARY: pa.binary(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: pa.timestamp("us", "UTC"),
    exp.DType.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    exp.DType.TIMESTAMPLTZ: pa.timestamp("us", "UTC"),
    exp.DType.TIMESTAMPNTZ: pa.timestamp("us"),
}

_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}


@lru_cache(maxsize=1024)
def stored_type(kind: str) -> pa.DataType:
    """Arrow's type for the text of one of Spark's."""
    return built_type(exp.DataType.build(kind, dialect="spark"))


def built_type(kind: exp.DataType) -> pa.DataType:
    """The same for a parsed one."""
    inner = kind.expressions
    match kind.this:
        case exp.DType.DECIMAL:
            precision, scale = ([int(part.name) for part in inner] + [10, 0][len(inner) :])[:2]
            return pa.decimal128(precision, scale)
        case exp.DType.ARRAY:
            return pa.list_(built_type(inner[0]))
        case exp.DType.MAP:
            return pa.map_(built_type(inner[0]), built_type(inner[1]))
        case exp.DType.STRUCT:
            return pa.struct([(part.name, built_type(part.args["kind"])) for part in inner])
        case known if known in _PLAIN:
            return _PLAIN[known]
        case _:
            raise NeedsSpark(f"Values of type {kind.sql('spark')} can only be read with Spark.")


def common_type(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of values that come from several expressions, such as the branches of a CASE."""
    known = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind)))
    if not known:
        return pa.null()
    if len(known) == 1:
        return known[0]
    if not all(is_number(kind) for kind in known):
        raise NeedsSpark(f"Only Spark knows the common type of {' and '.join(map(str, known))}.")
    if any(pa.types.is_floating(kind) for kind in known):
        return pa.float64()
    if any(pa.types.is_decimal(kind) for kind in known):
        pairs = [digits(kind) for kind in known]
        scale = max(scale for _, scale in pairs)
        return bounded(max(precision - s for precision, s in pairs) + scale, scale)
    return max(known, key=lambda kind: kind.bit_width)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def digits(kind: pa.DataType) -> tuple[int, int]:
    """Precision and scale that an exact number has among decimals."""
    return (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (_DIGITS[kind], 0)


def bounded(precision: int, scale: int) -> pa.DataType:
    """The decimal that Spark takes for so many digits: a long one loses some behind the point."""
    if precision <= MOST_DIGITS:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, 6)))
