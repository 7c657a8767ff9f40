"""What says that a table or view is published, where, and how: its properties.

viewkeeper.publish         'true'
viewkeeper.publish.to      a folder, or an address; published/NAME in the warehouse by default
viewkeeper.publish.mode    'merge-on-read' (deletion vectors, the default) or 'copy-on-write'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import InvalidOption, Unsupported
from viewkeeper.storage.objects import Folder

PUBLISH = "viewkeeper.publish"
PLACE = "viewkeeper.publish.to"
MODE = "viewkeeper.publish.mode"

VECTORS, COPY_ON_WRITE = "merge-on-read", "copy-on-write"
_MODES = (VECTORS, COPY_ON_WRITE)

_NOT_IN_DELTA = re.compile(r"[ ,;{}()\n\t=]")

Properties = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Publication:
    """A relation that is published: where, and whether with deletion vectors."""

    relation: str
    place: str
    vectors: bool

    def home(self, warehouse: Folder) -> tuple[Folder, str]:
        """The folder of the table, and its path there."""
        return (Folder(self.place), "") if self.place else (warehouse, f"published/{self.relation}")


def publication(relation: str, properties: Properties) -> Publication | None:
    """What the properties of a relation say of its publication; None where it is not published."""
    known = dict(properties)
    if known.get(PUBLISH, "false").lower() != "true":
        return None
    return Publication(relation, known.get(PLACE, ""), known.get(MODE, VECTORS) == VECTORS)


def publications(catalog: Catalog) -> list[Publication]:
    """Everything that is published."""
    tables = (publication(one.name, one.properties) for one in catalog.tables.values())
    views = (publication(one.name, one.properties) for one in catalog.views.values())
    found = (*tables, *views)
    return [one for one in found if one is not None]


def with_publication(properties: Properties, place: str | None, mode: str) -> tuple[tuple[str, str], ...]:
    """The properties of a relation that is published from now on."""
    chosen = {PUBLISH: "true", MODE: mode, **({PLACE: place} if place else {})}
    checked_publication(chosen.items())
    return (*without_publication(properties), *chosen.items())


def without_publication(properties: Properties) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in properties if key not in (PUBLISH, PLACE, MODE))


def checked_publication(properties: Properties) -> None:
    """Refuses values that the properties cannot have."""
    known = dict(properties)
    for name, values in ((PUBLISH, ("true", "false")), (MODE, _MODES)):
        if name in known and known[name].lower() not in values:
            raise InvalidOption(
                f"{name} cannot be {known[name]!r}.", hint=f"It is one of {', '.join(values)}."
            )


def checked_columns(relation: str, columns: Iterable[Column]) -> None:
    """Refuses columns whose names no plain Delta table can have."""
    odd = [shown(column.name) for column in columns if _NOT_IN_DELTA.search(shown(column.name))]
    if odd:
        raise Unsupported(
            f"{shown(relation)} cannot be published: Delta tables have no column named {odd[0]}.",
            "Their names have no blanks, commas, semicolons, braces, parentheses or equals signs.",
            "Give the column another name with AS.",
            table=relation,
            columns=odd,
        )
