"""What the front end must know of the stored relations: their names and columns."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Protocol

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.errors import UnknownTable


class KnownRelations(Protocol):
    """Finds tables and views by name, compared without regard to case."""

    def schema(self, name: str) -> TableSchema:
        """The schema of that relation; raises `UnknownTable`."""
        ...


class StaticCatalog:
    """A catalog that is a fixed set of schemas."""

    def __init__(self, schemas: Iterable[TableSchema]) -> None:
        self.schemas = {shown(schema.name).lower(): schema for schema in schemas}

    def schema(self, name: str) -> TableSchema:
        if name.lower() in self.schemas:
            return self.schemas[name.lower()]
        known = [shown(schema.name) for schema in self.schemas.values()]
        raise UnknownTable(
            f"There is no table or view named {name}.", hint=did_you_mean(name, known), table=name
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the names most like a mistyped one."""
    spelled = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), spelled, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(spelled[found] for found in close)}?"
    some = sorted(spelled.values())[:8]
    return f"Known names: {', '.join(some)}{', …' if len(spelled) > 8 else ''}." if some else ""
