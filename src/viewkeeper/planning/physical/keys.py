"""The values of a column, where they are known and few."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

Value = int | str | date

NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint"})
TYPES = NUMBERS | {"string", "date"}
"""Types whose values can be written down exactly."""


@dataclass(frozen=True)
class Keys:
    """All values that a column has, each once; `type` is the type of the column."""

    values: tuple[Value, ...]
    type: str
    has_null: bool = False

    def __post_init__(self) -> None:
        assert self.type in TYPES
