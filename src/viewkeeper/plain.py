"""Values and errors as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

from viewkeeper.errors import ViewkeeperError


def plain(value: Any) -> Any:
    """What JSON lacks, as JSON has it: numbers stay exact as text."""
    match value:
        case date() | datetime():
            return value.isoformat()
        case set() | frozenset():
            return sorted(value, key=str)
        case bytes() | bytearray():
            return value.hex()
        case _:
            return str(value)


def finite(value: Any) -> Any:
    """The same value without the numbers that JSON lacks: NaN and the infinities are texts."""
    match value:
        case float():
            return value if isfinite(value) else str(value)
        case Mapping():
            return {str(key): finite(one) for key, one in value.items()}
        case list() | tuple():
            return [finite(one) for one in value]
        case _:
            return value


def told(error: ViewkeeperError) -> dict[str, Any]:
    """An error with all that it says."""
    fields = {
        "type": type(error).__name__,
        "message": error.what,
        "detail": error.detail,
        "hint": error.hint,
        "code": error.code,
        "view": error.view,
        "table": error.table,
        "columns": list(error.columns),
        "rows": list(error.rows),
    }
    return {name: value for name, value in fields.items() if value or name in ("type", "message")}
