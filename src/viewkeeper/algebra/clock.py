"""The clock as a relation: one row that shows what time it is, and changes as any other row does.

    σ_{day ≥ current_date() − 7}(R)   =   π_R(R ⋈_{day ≥ today − 7} clock)

There is one such relation for each thing that a view can read off the clock: the date in a time zone, the
moment, and the local time in a zone. A view that only reads the date is not changed by an hour that passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.expressions import Scalar
from viewkeeper.algebra.relations import Bound, Scan
from viewkeeper.algebra.schema import Column, TableSchema

PREFIX = "__clock_"
SHOWS, ZONE = "viewkeeper.clock", "viewkeeper.zone"
"""The properties of a clock's relation."""

DATE, TIMESTAMP, LOCAL = "date", "timestamp", "timestamp_ntz"
"""What a clock shows, by the types of it."""

COLUMN = "shown"


@dataclass(frozen=True, order=True)
class Clock:
    """What a clock shows, in which time zone; of a moment the zone does not matter."""

    shows: str
    zone: str = ""

    @property
    def relation(self) -> str:
        """The name of its relation, which no user can give."""
        zone = re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", self.zone)
        return f"{PREFIX}{self.shows}{'_' if zone else ''}{zone}"

    @property
    def schema(self) -> TableSchema:
        column = Column(COLUMN, self.shows, nullable=False)
        return TableSchema(self.relation, (column,), properties=((SHOWS, self.shows), (ZONE, self.zone)))

    def scan(self, name: str) -> Scan:
        """The relation, its one column under a name."""
        return Scan(self.relation, (Bound(name, self.schema.columns[0]),))

    @staticmethod
    def of(schema: TableSchema) -> Clock | None:
        """The clock that a relation is; None where it is a table."""
        shows = schema.property(SHOWS) if is_clock(schema.name) else None
        return None if shows is None else Clock(shows, schema.property(ZONE) or "")


def clock_of(kind: str, zone: str) -> Clock:
    """The clock that shows something in a time zone."""
    return Clock(kind, "" if kind == TIMESTAMP else zone)


def is_clock(relation: str) -> bool:
    return relation.startswith(PREFIX)


def literal_of(shows: str, text: str) -> Scalar:
    """What a clock shows, as a constant."""
    kind = "timestamp_ltz" if shows == TIMESTAMP else shows
    return exp.cast(exp.Literal.string(text), exp.DataType.build(kind, dialect="spark"))
