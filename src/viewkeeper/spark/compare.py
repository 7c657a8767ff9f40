"""Comparing two DataFrames as bags, both ways, with a tolerance for sums of floating point.

One action: the rows of both are added up with signs, floats by their first digits. What is left over is
fetched, and rows that differ by rounding alone are paired: digits at the edge of rounding differ though the
numbers hardly do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import copysign, isfinite
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, StructField

from viewkeeper.algebra.schema import COUNT
from viewkeeper.spark.canonical_values import Floats, canonical, has_floats, shown
from viewkeeper.spark.engine import SparkEngine

RELATIVE = 1e-9
"""Floats that come from sums are equal if they differ by no more than this share of the larger one."""

MOMENTS = 1e-5
"""The same for variances, correlations and the like: of values near 10⁹ that differ by tenths, computing with
doubles leaves five or six digits to Spark's answer, and to ours."""

SINGLE = 3e-7
"""The same for numbers of single precision."""

ABSOLUTE = 1e-15
"""Or by this share of the largest number of their column: sums that cancel leave a rest of no meaning."""

REST = 1e-12
"""Numbers as small as this, or as this share of their column, may be such rests: nothing can be said of
them."""

SHOWN = 20

PAIRED = 10_000
"""So many rows that differ in their digits are paired by the driver; more are called different."""

ROUNDED = Floats(rounded=True)

RowValues = dict[str, Any]


@dataclass(frozen=True)
class RowDifference:
    """The rows that only one side has, with how many more copies it has.

    `tolerance` is the relative one that was used, the largest where columns have several, and None where
    floats had to be equal to the last bit.
    `only_rests`: the rows differ by nothing but numbers that may be rounding or may be wrong.
    """

    only_left: tuple[RowValues, ...]
    only_right: tuple[RowValues, ...]
    tolerance: float | None
    only_rests: bool = False

    def __bool__(self) -> bool:
        return bool(self.only_left or self.only_right)


def compare(
    engine: SparkEngine,
    left: DataFrame,
    right: DataFrame,
    limit: int = SHOWN,
    floats: Floats = ROUNDED,
    unordered: Collection[int] = (),
    only_left: bool = False,
) -> RowDifference:
    """Bag difference both ways as one Spark action where nothing differs; columns meet by position.

    `unordered`: the places of arrays that are compared as bags; `only_left`:
    the right side may have more rows.
    """
    names, fields = left.columns, left.schema.fields
    close = {
        f.name: _relative(f.dataType, floats) for f in fields if floats.rounded and has_floats(f.dataType)
    }
    sides = ((left, 1), (right, -1))
    mine, theirs = (_signed(frame, fields, floats, unordered, sign) for frame, sign in sides)
    keys = [f"k{number}" for number in range(len(names))]
    counted = mine.unionAll(theirs).groupBy(*keys).agg(F.sum("n").alias("n"), *map(_first, (1, -1)))
    others = [F.col(key) for key, name in zip(keys, names, strict=True) if name not in close]
    key = F.xxhash64(F.lit(0), *others).alias("key")
    different = counted.where("n > 0" if only_left else "n != 0").select("n", "mine", "theirs", key)
    found = engine.rows(different, PAIRED if close else limit)
    extra = [_only(names, row, 1) for row in found if row.n > 0]
    missing = [_only(names, row, -1) for row in found if row.n < 0]
    if close and extra and missing and len(found) < PAIRED:
        return _paired(engine, left, extra, missing, close, limit, floats.signed_zeros)
    return _difference(extra, missing, close, limit)


def _signed(
    frame: DataFrame, fields: Sequence[StructField], floats: Floats, unordered: Collection[int], sign: int
) -> DataFrame:
    """Each row in canonical form, as it is to be shown, and with a sign; in the types of the left side."""
    numbered = frame.toDF(*(f"c{number}" for number in range(len(fields))))
    keys, values = [], []
    for number, (field, own) in enumerate(zip(fields, frame.schema.fields, strict=True)):
        value = F.col(f"c{number}")
        value = value if own.dataType == field.dataType else value.cast(field.dataType)
        keys.append(canonical(value, field.dataType, floats, number in unordered).alias(f"k{number}"))
        values.append(shown(value, field.dataType).alias(f"c{number}"))
    return numbered.select(*keys, F.struct(*values).alias("row"), F.lit(sign).cast("bigint").alias("n"))


def _first(sign: int) -> Expression:
    """Some row of one side."""
    row = F.first(F.when(F.col("n") == sign, F.col("row")), ignorenulls=True)
    return row.alias("mine" if sign > 0 else "theirs")


@dataclass(frozen=True)
class _Only:
    """A row that one side has more copies of; `key` stands for what must be equal for another to be close."""

    values: RowValues
    key: int
    copies: int


def _only(names: Sequence[str], row: Any, sign: int) -> _Only:
    values = (row.mine if sign > 0 else row.theirs).asDict(recursive=True).values()
    return _Only(dict(zip(names, values, strict=True)), row.key, sign * row.n)


def _difference(
    extra: Sequence[_Only], missing: Sequence[_Only], floats: Mapping[str, float], limit: int
) -> RowDifference:
    sides = [tuple({**one.values, COUNT: one.copies} for one in side[:limit]) for side in (extra, missing)]
    return RowDifference(sides[0], sides[1], max(floats.values(), default=None))


def _paired(
    engine: SparkEngine,
    frame: DataFrame,
    extra: Sequence[_Only],
    missing: Sequence[_Only],
    floats: Mapping[str, float],
    limit: int,
    signed_zeros: bool,
) -> RowDifference:
    """What is left when rows that are equal but for rounding have found each other."""
    extra, missing = _unmatched(extra, missing, floats, {}, signed_zeros)
    if not extra or not missing:
        return _difference(extra, missing, floats, limit)
    largest = _largest(engine, frame, floats)
    small = {name: ABSOLUTE * largest.get(name, 0.0) for name in floats}
    extra, missing = _unmatched(extra, missing, floats, small, signed_zeros)
    smaller = {name: REST * max(1.0, largest.get(name, 0.0)) for name in floats}
    rests = _unmatched(extra, missing, floats, smaller, signed_zeros)
    only_rests = bool(extra or missing) and not any(rests)
    return replace(_difference(extra, missing, floats, limit), only_rests=only_rests)


def _largest(engine: SparkEngine, frame: DataFrame, floats: Collection[str]) -> Mapping[str, float]:
    """The largest finite number of each column of floats; one action."""
    fields = enumerate(frame.schema.fields)
    plain = {f.name: f"c{n}" for n, f in fields if f.name in floats and not _is_nested(f.dataType)}
    if not plain:
        return {}
    numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    sizes = {name: F.abs(F.col(column).cast("double")) for name, column in plain.items()}
    finite = [F.max(F.when(sizes[name] < float("inf"), sizes[name])).alias(plain[name]) for name in plain]
    [row] = engine.rows(numbered.agg(*finite), 1)
    return {name: row[column] or 0.0 for name, column in plain.items()}


def _is_nested(kind: DataType) -> bool:
    return not isinstance(kind, (FloatType, DoubleType))


def _relative(kind: DataType, floats: Floats) -> float:
    """The relative tolerance of a type: what is rounded to single precision may be a digit of it apart."""
    own = SINGLE if "float" in kind.simpleString() else RELATIVE
    return max(own, MOMENTS) if floats.moments else own


def _unmatched(
    extra: Sequence[_Only],
    missing: Sequence[_Only],
    relative: Mapping[str, float],
    absolute: Mapping[str, float],
    signed_zeros: bool,
) -> tuple[list[_Only], list[_Only]]:
    """The rows without those that are close to one of the other side, copy by copy."""
    left, right = [one.copies for one in extra], [one.copies for one in missing]
    places: dict[int, list[int]] = {}
    for place, one in enumerate(missing):
        places.setdefault(one.key, []).append(place)

    def are_close(one: RowValues, other: RowValues) -> bool:
        return all(
            is_close(one[name], other[name], Tolerance(share, absolute.get(name, 0.0), signed_zeros))
            for name, share in relative.items()
        )

    for mine, one in enumerate(extra):
        for theirs in places.get(one.key, ()):
            copies = min(left[mine], right[theirs])
            if copies and are_close(one.values, missing[theirs].values):
                left[mine] -= copies
                right[theirs] -= copies
    rest = [replace(one, copies=n) for one, n in zip(missing, right, strict=True) if n]
    return [replace(one, copies=n) for one, n in zip(extra, left, strict=True) if n], rest


@dataclass(frozen=True)
class Tolerance:
    """How far two floats may be apart: by a share of the larger, or by an amount."""

    relative: float
    absolute: float
    signed_zeros: bool = True


def is_close(one: Any, other: Any, within: Tolerance) -> bool:
    """Whether two values differ by rounding alone; a zero has the sign that it has."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_close(one[k], other[k], within) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_close(a, b, within) for a, b in pairs)
    if not (isinstance(one, float) and isinstance(other, float)):
        return bool(one == other)
    if not (isfinite(one) and isfinite(other)):
        return one == other or (one != one and other != other)
    if one == other:
        return one != 0 or not within.signed_zeros or copysign(1, one) == copysign(1, other)
    return abs(one - other) <= max(within.relative * max(abs(one), abs(other)), within.absolute)
