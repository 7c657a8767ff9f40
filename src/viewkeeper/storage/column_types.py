"""Types that a column can have in Spark, and not in a Delta table.

time(6), interval day to second, variant, string collate UTF8_LCASE, and what holds one of them
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from viewkeeper.algebra.inner_names import shown
from viewkeeper.algebra.schema import Column
from viewkeeper.errors import Unsupported

_TYPE = re.compile(r"(?:^|[<:,])(time\(|(?:interval|variant|geometry|geography)\b(?!:))|\bstring collate ")
"""A field of a struct may be called like a type: its name is followed by a colon."""


def is_held(kind: str) -> bool:
    """Whether Delta tables can hold a type."""
    return _TYPE.search(kind.lower()) is None


def check_types(columns: Iterable[Column], relation: str) -> None:
    """Raises where a column that users see has a type that Delta tables cannot hold."""
    for column in columns:
        if not is_held(column.type):
            raise not_held(shown(column.name), column.type, shown(relation))


def not_held(column: str, kind: str, relation: str = "") -> Unsupported:
    """The error for a column of such a type."""
    of = f" of {relation}" if relation else ""
    hint = "Cast it to STRING, or to a number."
    if "collate" in kind.lower():
        hint = "Make it a STRING, and write COLLATE in queries, where values are compared."
    return Unsupported(
        f"The column {column}{of} is of type {kind}.",
        "Delta tables cannot hold this type.",
        hint,
        columns=(column,),
    )
