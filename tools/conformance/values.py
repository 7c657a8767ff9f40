"""Values of cases: from JSON to a column's type, and compared as multisets of rows.

Numbers are equal when nine significant digits are: floating-point sums depend on their order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]

DIGITS = 9

_CASTS: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    "decimal": lambda value: Decimal(str(value)),
    "float": float,
    "double": float,
}


def typed_row(row: Sequence[Any], types: Sequence[str]) -> Row:
    return tuple(typed(value, type_) for value, type_ in zip(row, types, strict=True))


def typed(value: Any, type_: str) -> Any:
    """A JSON value as Python's value of a Spark SQL type."""
    if value is None:
        return None
    cast = _CASTS.get(type_.lower().split("(")[0].strip())
    return value if cast is None else cast(value)


def differences(actual: Iterable[Row], expected: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Rows that are missing from `actual`, and rows that it has too many."""
    have, want = list(actual), list(expected)
    common = Counter(map(canonical, have)) & Counter(map(canonical, want))
    extra, missing = _without(have, common), _without(want, common)
    for row in list(missing):
        match = next((other for other in extra if _close(row, other)), None)
        if match is not None:
            missing.remove(row)
            extra.remove(match)
    return missing, extra


def canonical(value: Any) -> Any:
    """A hashable form that equal values share, whatever their Python types."""
    match value:
        case bool():
            return ("bool", value)
        case float() if not math.isfinite(value):
            return ("number", str(value))
        case int() | float() | Decimal():
            return ("number", f"{Decimal(value):.{DIGITS - 1}e}") if value else ("number", "0")
        case datetime():
            return ("time", _naive(value).isoformat())
        case date():
            return ("date", value.isoformat())
        case list() | tuple():
            return tuple(canonical(item) for item in value)
        case dict():
            return tuple((name, canonical(item)) for name, item in sorted(value.items()))
        case _:
            return value


def _naive(value: datetime) -> datetime:
    """Spark's collected timestamps are in local time without a zone; so is this."""
    return value if value.tzinfo is None else value.astimezone().replace(tzinfo=None)


def _without(rows: list[Row], common: Counter[Any]) -> list[Row]:
    taken: Counter[Any] = Counter()
    left = []
    for row in rows:
        key = canonical(row)
        if taken[key] < common[key]:
            taken[key] += 1
        else:
            left.append(row)
    return left


def _close(one: Any, other: Any) -> bool:
    """Equal up to the last digit, where rounding to nine digits falls on both sides of a boundary."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if _is_number(one) and _is_number(other):
        return math.isclose(float(one), float(other), rel_tol=10.0 ** (1 - DIGITS) / 2)
    return bool(canonical(one) == canonical(other))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
