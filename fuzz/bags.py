"""Rows as bags of values that Python compares as the house does: NaN equals NaN, −0.0 is not 0.0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

Bag = Counter[tuple[Any, ...]]

ROUNDING = 1e-14
"""What sums of a few doubles may be off by, as a part of the largest of them."""


def bag_of(rows: Iterable[Any]) -> Bag:
    return Counter(tuple(plain(value) for value in row) for row in rows)


def plain(value: Any) -> Any:
    """A value that can be hashed and equals only what is the same in Spark."""
    match value:
        case float():
            return ("float", "NaN" if math.isnan(value) else repr(value))
        case Decimal():
            return ("decimal", str(value))
        case bool() | None | int() | str():
            return value
        case bytes() | bytearray():
            return bytes(value)
        case dict():
            return ("map", frozenset((plain(k), plain(v)) for k, v in value.items()))
        case list() | tuple():
            return tuple(plain(item) for item in value)
        case _ if hasattr(value, "toJson"):
            return ("variant", value.toJson())
        case _:
            return str(value)


def same(left: Bag, right: Bag, tolerance: float, scale: float = 0.0) -> bool:
    """Whether two bags are equal; with a tolerance, floats may differ by that much of their own size, or by
    what sums of values as large as `scale` are rounded by."""
    if left == right:
        return True
    if not tolerance or sum(left.values()) != sum(right.values()):
        return False
    return _matched(list((left - right).elements()), list((right - left).elements()), tolerance, scale)


def _matched(left: list[Any], right: list[Any], tolerance: float, scale: float) -> bool:
    """Pairs each row with a near one; rows differ in few floats, so the first that fits is taken."""
    if len(left) != len(right):
        return False
    for row in left:
        found = next((n for n, other in enumerate(right) if near(row, other, tolerance, scale)), None)
        if found is None:
            return False
        del right[found]
    return True


def near(left: Any, right: Any, tolerance: float, scale: float) -> bool:
    if _is_float(left) and _is_float(right):
        a, b = float(left[1]), float(right[1])
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
            return left[1] == right[1]
        return abs(a - b) <= max(tolerance * max(abs(a), abs(b)), ROUNDING * scale)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return all(near(a, b, tolerance, scale) for a, b in zip(left, right))
    return bool(left == right)


def _is_float(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[0] == "float"


def shown(bag: Bag, most: int = 12) -> list[str]:
    """Rows for a person to read, with their counts."""
    lines = [f"{_text(row)} × {count}" if count > 1 else _text(row) for row, count in bag.items()]
    return sorted(lines)[:most]


def _text(value: Any) -> str:
    if _is_float(value):
        return str(value[1])
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("decimal", "variant"):
        return str(value[1])
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(item) for item in value) + ")"
    return repr(value)
