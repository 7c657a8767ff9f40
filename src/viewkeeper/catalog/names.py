"""Which names tables, views and columns may have: those that Spark takes in backticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from viewkeeper.algebra.inner_names import inner_column, inner_relation, shown
from viewkeeper.algebra.schema import Column, ForeignKey, TableSchema
from viewkeeper.errors import InvalidName

LONGEST = 255
"""Spark's catalogs take names of so many characters."""


def checked(name: str, what: str) -> str:
    """The name when it can be one."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST:
        raise InvalidName(
            f"{name!r} cannot be the name of a {what}.",
            f"A name is a text of 1 to {LONGEST} characters that are not all blank.",
            "Choose another name, or rename the column with AS.",
        )
    return name


def checked_predicate(name: str) -> str:
    """The name of a predicate: rules refer to it as it is, so that it must be the same inside."""
    if inner_relation(checked(name, "view")) != name:
        raise InvalidName(
            f"{name!r} cannot be the name of a predicate.",
            "Names of predicates have no two underscores together, and none at their ends.",
            "Choose another name.",
        )
    return name


def checked_columns(names: Iterable[str], where: str) -> None:
    """Names that can be, each once without regard to case."""
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


def inner_schema(schema: TableSchema) -> TableSchema:
    """A schema in the user's names as the engine knows it."""
    return TableSchema(
        inner_relation(schema.name),
        tuple(replace(column, name=inner_column(column.name)) for column in schema.columns),
        tuple(map(inner_column, schema.key)),
        tuple(map(_inner_key, schema.foreign_keys)),
        schema.properties,
    )


def _inner_key(key: ForeignKey) -> ForeignKey:
    columns, referenced = (tuple(map(inner_column, names)) for names in (key.columns, key.referenced))
    return ForeignKey(columns, inner_relation(key.table), referenced)


def shown_schema(schema: TableSchema) -> TableSchema:
    """A schema of the engine in the user's names, for text that the user's frames are read by."""
    return TableSchema(
        shown(schema.name),
        shown_columns(schema.visible),
        tuple(map(shown, schema.key)),
        properties=schema.properties,
    )


def shown_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(replace(column, name=shown(column.name)) for column in columns)
