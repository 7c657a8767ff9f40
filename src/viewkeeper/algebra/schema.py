"""Names and types of stored relations, and the one column that holds signed counts."""

from __future__ import annotations

from dataclasses import dataclass, field

COUNT = "__count"
"""The column that holds the signed multiplicity of a row in a delta or an unconsolidated relation."""

WIDE, WIDE_SUM = "decimal(20, 0)", "decimal(30, 0)"
"""Types with room for every whole number, and for sums of them, whatever they come to on the way."""

HIDDEN_PREFIX = "__"
"""Columns whose names start so are state of the engine; users neither see nor define them."""


UNKNOWN = "unknown"
"""The type of a column of which Spark alone knows it."""


def is_hidden(name: str) -> bool:
    return name.startswith(HIDDEN_PREFIX)


@dataclass(frozen=True)
class Column:
    """A column of a stored relation; `type` is Spark SQL's text for it, such as `decimal(10,2)`.

    `declared` is the type that it was given where Spark computes with strings, such as `char(4)`.
    """

    name: str
    type: str
    nullable: bool = True
    declared: str = ""

    def to_json(self) -> list[str | bool]:
        return [self.name, self.type, self.nullable, *([self.declared] if self.declared else [])]


@dataclass(frozen=True)
class ForeignKey:
    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True)
class TableSchema:
    """What is known of a stored relation before looking at its rows."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    properties: tuple[tuple[str, str], ...] = field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def visible(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not is_hidden(column.name))

    def column(self, name: str) -> Column:
        """The column of this name, compared as Spark does: without regard to case."""
        for column in self.columns:
            if column.name.lower() == name.lower():
                return column
        raise KeyError(name)

    def property(self, name: str, default: str | None = None) -> str | None:
        return dict(self.properties).get(name, default)
