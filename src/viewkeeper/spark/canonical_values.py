"""Values in a form that Spark can group by, in which two are equal only if a user can tell no difference.

Spark's own equality is coarser or missing: it takes −0.0 for 0.0, compares collated strings by their
collation, and has none for maps and variants.

    −0.0, NaN                  '-0.0', 'NaN'
    'a' COLLATE UTF8_LCASE     its bytes
    map(b, 2, a, 1)            [(a, 1), (b, 2)]
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

DIGITS = 9
"""Floats that may differ by rounding are grouped by so many significant digits."""

SINGLE_DIGITS = 6


@dataclass(frozen=True)
class Floats:
    """How floats are compared: to the last bit or but for rounding, and whether −0.0 is another value than
    0.0: MIN and MAX give whichever of the two comes first. `moments`: they may be variances and the like,
    which have few digits where values are large and close together."""

    rounded: bool = False
    signed_zeros: bool = True
    moments: bool = False


def canonical(value: Expression, kind: DataType, floats: Floats, unordered: bool = False) -> Expression:
    """The canonical form of a value; `unordered`: an array as a bag."""
    match kind:
        case FloatType() | DoubleType():
            digits = SINGLE_DIGITS if isinstance(kind, FloatType) else DIGITS
            return _significant(value, digits, floats)
        case StringType():
            return value if kind.isUTF8BinaryCollation() else value.cast("binary")
        case ArrayType():
            inner = value
            if not is_plain(kind.elementType):
                inner = F.transform(value, lambda item: canonical(item, kind.elementType, floats))
            return F.array_sort(inner) if unordered else inner
        case StructType() if not is_plain(kind):
            return _struct(value, kind, floats)
        case MapType():
            return F.array_sort(F.transform(F.map_entries(value), lambda entry: _entry(entry, kind, floats)))
        case VariantType():
            typed = F.struct(F.to_json(value).alias("value"), F.schema_of_variant(value).alias("type"))
            return F.when(value.isNotNull(), typed)
        case CalendarIntervalType():
            return value.cast("string")
        case _:
            return value


def _struct(value: Expression, kind: StructType, floats: Floats) -> Expression:
    fields = [
        canonical(value.getField(field.name), field.dataType, floats).alias(f"f{number}")
        for number, field in enumerate(kind.fields)
    ]
    return F.when(value.isNotNull(), F.struct(*fields))


def _entry(entry: Expression, kind: MapType, floats: Floats) -> Expression:
    return F.struct(
        canonical(entry.getField("key"), kind.keyType, floats).alias("key"),
        canonical(entry.getField("value"), kind.valueType, floats).alias("value"),
    )


def is_plain(kind: DataType) -> bool:
    """Whether Spark's own equality of values is as fine as a user's eye."""
    match kind:
        case ArrayType():
            return is_plain(kind.elementType)
        case StructType():
            return all(is_plain(field.dataType) for field in kind.fields)
        case StringType():
            return kind.isUTF8BinaryCollation()
        case _:
            return not isinstance(kind, (FloatType, DoubleType, MapType, VariantType, CalendarIntervalType))


def has_floats(kind: DataType) -> bool:
    """Whether values of a type hold binary floating point, at any depth."""
    match kind:
        case ArrayType():
            return has_floats(kind.elementType)
        case MapType():
            return has_floats(kind.keyType) or has_floats(kind.valueType)
        case StructType():
            return any(has_floats(field.dataType) for field in kind.fields)
        case _:
            return isinstance(kind, (FloatType, DoubleType))


def shown(value: Expression, kind: DataType) -> Expression:
    """The value in a form that reaches Python."""
    if isinstance(kind, VariantType):
        return F.to_json(value)
    is_interval = isinstance(kind, (CalendarIntervalType, YearMonthIntervalType))
    nested = isinstance(kind, (ArrayType, StructType, MapType)) and "interval" in kind.simpleString()
    return value.cast("string") if is_interval or nested else value


def _significant(value: Expression, digits: int, floats: Floats) -> Expression:
    """The value as text, with some significant digits where it may be rounded."""
    whole = value if floats.signed_zeros else F.when(value == 0, F.abs(value)).otherwise(value)
    if not floats.rounded:
        return whole.cast("string")
    wide = whole.cast("double")
    text = F.format_string(f"%.{digits - 1}e", wide)
    as_it_is = (wide == 0) | F.isnan(wide) | (F.abs(wide) == float("inf"))
    return F.when(as_it_is, wide.cast("string")).otherwise(text)
