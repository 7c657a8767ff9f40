"""What all nodes of the algebra share, and what they refuse when they are built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property

from viewkeeper.algebra.expressions import Scalar, columns_of


class MalformedPlan(ValueError):
    """A node was built that makes no sense: a bug of whoever built it, not of the user."""


class Node:
    """What all nodes share: a hash computed once, so that shared subtrees compare quickly."""

    columns: tuple[str, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *(getattr(self, field.name) for field in fields(self))))  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or hash(self) != hash(other):
            return False
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self))  # type: ignore[arg-type]


def unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise MalformedPlan(f"{what}: the column {name!r} occurs twice")
        seen.add(name.lower())


def known(expr: Scalar, names: Iterable[str], what: str) -> None:
    unknown = columns_of(expr) - set(names)
    if unknown:
        raise MalformedPlan(f"{what}: {expr.sql()} uses {sorted(unknown)}, which its input lacks")


def same_width(inputs: Iterable[Node], what: str) -> None:
    if len({len(relation.columns) for relation in inputs}) > 1:
        raise MalformedPlan(f"{what}: its inputs have different numbers of columns")
