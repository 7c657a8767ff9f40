"""Which names tables, views and columns may have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from viewkeeper.algebra.schema import HIDDEN_PREFIX
from viewkeeper.errors import InvalidName

RESERVED = ("__delta", "__old", "__counted", "__met", "__lost")
"""In Δ-scripts these endings name states and results of the relation before them."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked(name: str, what: str) -> str:
    """The name when it is a plain identifier that is not reserved."""
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise InvalidName(
            f"{name!r} cannot be the name of a {what}.",
            "Names are letters, digits and underscores, and do not start with a digit.",
            "Choose another name, or rename the column with AS.",
        )
    if name.startswith(HIDDEN_PREFIX) or len(name) > 200:
        raise InvalidName(
            f"{name!r} cannot be the name of a {what}.",
            f"Names that start with {HIDDEN_PREFIX} are Viewkeeper's own, and 200 characters are the most.",
            "Choose another name.",
        )
    return name


def checked_relation(name: str, what: str) -> str:
    """The name of a table or view: one that no Δ-script gives to something else."""
    checked(name, what)
    if name.lower().endswith(RESERVED):
        raise InvalidName(
            f"{name!r} cannot be the name of a {what}.",
            f"Names that end with {', '.join(RESERVED)} are Viewkeeper's own.",
            "Choose another name.",
        )
    return name


def checked_columns(names: Iterable[str], where: str) -> None:
    """Plain names, each once without regard to case."""
    seen: dict[str, str] = {}
    for name in names:
        checked(name, "column")
        if name.lower() in seen:
            raise InvalidName(
                f"{where} has two columns named {name}.",
                hint="Rename one of them with AS.",
                columns=[name],
            )
        seen[name.lower()] = name
