"""What says that a table or view is published, where, and how: its properties.

viewkeeper.publish                'true'
viewkeeper.publish.to             a folder, or an address; published/NAME in the warehouse by default
viewkeeper.publish.mode           'merge-on-read' (deletion vectors, the default) or 'copy-on-write'
viewkeeper.publish.cdf            'true': a change data feed
viewkeeper.publish.partition_by   columns, separated by commas
viewkeeper.publish.cluster_by     columns, separated by commas; those of CLUSTER BY by default
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import InvalidOption, UnknownColumn, Unsupported
from viewkeeper.publishing.layout import Layout
from viewkeeper.storage.objects import Folder

PUBLISH = "viewkeeper.publish"
PLACE = "viewkeeper.publish.to"
MODE = "viewkeeper.publish.mode"
FEED = "viewkeeper.publish.cdf"
PARTITION = "viewkeeper.publish.partition_by"
CLUSTER = "viewkeeper.publish.cluster_by"
_CLUSTERED = "viewkeeper.cluster_by"
_OWN = (PUBLISH, PLACE, MODE, FEED, PARTITION, CLUSTER)

VECTORS, COPY_ON_WRITE = "merge-on-read", "copy-on-write"
_MODES = (VECTORS, COPY_ON_WRITE)
_FLAG = ("true", "false")

_OF_PARTITIONS = ("tinyint", "smallint", "int", "bigint", "boolean", "date", "string")
_ORDERED = (*_OF_PARTITIONS, "float", "double", "decimal", "timestamp", "timestamp_ntz")

_NOT_IN_DELTA = re.compile(r"[ ,;{}()\n\t=]")

Properties = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Publication:
    """A relation that is published: where, and how."""

    relation: str
    place: str
    layout: Layout

    def home(self, warehouse: Folder) -> tuple[Folder, str]:
        """The folder of the table, and its path there."""
        return (warehouse.beside(self.place), "") if self.place else (warehouse, f"published/{self.relation}")


def publication(relation: str, properties: Properties) -> Publication | None:
    """What the properties of a relation say of its publication; None where it is not published."""
    known = dict(properties)
    if known.get(PUBLISH, "false").lower() != "true":
        return None
    cluster = known.get(CLUSTER, known.get(_CLUSTERED, ""))
    has_feed = known.get(FEED, "false").lower() == "true"
    vectors = known.get(MODE, VECTORS).lower() == VECTORS
    layout = Layout(vectors, has_feed, _names(known.get(PARTITION, "")), _names(cluster))
    return Publication(relation, known.get(PLACE, ""), layout)


def _names(text: str) -> tuple[str, ...]:
    return tuple(shown(name.strip()) for name in text.split(",") if name.strip())


def publications(catalog: Catalog) -> list[Publication]:
    """Everything that is published."""
    tables = (publication(one.name, one.properties) for one in catalog.tables.values())
    views = (publication(one.name, one.properties) for one in catalog.views.values())
    found = (*tables, *views)
    return [one for one in found if one is not None]


def properties_of(
    place: str | None,
    mode: str = VECTORS,
    cdf: bool = False,
    partition_by: Iterable[str] = (),
    cluster_by: Iterable[str] = (),
) -> dict[str, str]:
    """The properties that say how a relation is published."""
    lists = {PARTITION: ", ".join(partition_by), CLUSTER: ", ".join(cluster_by)}
    given = {PLACE: place or "", FEED: "true" if cdf else "", **lists}
    return {PUBLISH: "true", MODE: mode, **{name: value for name, value in given.items() if value}}


def with_publication(properties: Properties, chosen: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The properties of a relation that is published from now on."""
    checked_publication(chosen.items())
    return (*without_publication(properties), *chosen.items())


def without_publication(properties: Properties) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in properties if key not in _OWN)


def checked_publication(properties: Properties) -> None:
    """Refuses values that the properties cannot have."""
    known = dict(properties)
    for name, values in ((PUBLISH, _FLAG), (MODE, _MODES), (FEED, _FLAG)):
        if name in known and known[name].lower() not in values:
            raise InvalidOption(
                f"{name} cannot be {known[name]!r}.", hint=f"It is one of {', '.join(values)}."
            )


def checked_layout(relation: str, layout: Layout, columns: Sequence[Column]) -> None:
    """Refuses columns by which a table cannot be divided or ordered, and names of none."""
    types = {shown(column.name): column.type for column in columns}
    asked = ((PARTITION, layout.partition, _OF_PARTITIONS), (CLUSTER, layout.cluster, _ORDERED))
    for option, name, kinds in ((option, name, kinds) for option, names, kinds in asked for name in names):
        if name not in types:
            raise UnknownColumn(
                f"{option} of {shown(relation)} names the column {name}, which it does not have.",
                hint=f"It has {', '.join(types)}.",
                table=relation,
                columns=[name],
            )
        if types[name].split("(")[0] not in kinds:
            raise Unsupported(
                f"{option} of {shown(relation)} names {name}, which is {types[name]}.",
                hint=f"It can be of the types {', '.join(kinds)}.",
                table=relation,
                columns=[name],
            )
    if layout.partition and not set(types) - set(layout.partition):
        raise Unsupported(f"{PARTITION} of {shown(relation)} names all columns.", hint="Leave one out.")


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
