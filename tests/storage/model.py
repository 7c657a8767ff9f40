"""Stored relations and their layers as plain Python values: what merging them has to mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import duckdb

from viewkeeper.algebra.merge.layers import layer_columns
from viewkeeper.algebra.merge.spec import MergeSpec, Operator
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.algebra.schema import Column
from viewkeeper.sql.render import DUCKDB, render

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Group:
    """The state of one group: rows, sum and number of values, minimum with its holders, maximum."""

    rows: int = 0
    total: int | None = None
    values: int = 0
    least: int | None = None
    holders: int = 0
    greatest: int | None = None

    def merged(self, other: Group) -> Group:
        least = _least(self.least, other.least)
        sides = [side for side in (self, other) if side.least is not None and side.least == least]
        return Group(
            self.rows + other.rows,
            self.total if other.total is None else other.total + (self.total or 0),
            self.values + other.values,
            least,
            sum(side.holders for side in sides),
            max((v for v in (self.greatest, other.greatest) if v is not None), default=None),
        )

    @property
    def corrected(self) -> Group:
        """A sum of no values is NULL."""
        return self if self.values > 0 else replace(self, total=None)

    @property
    def row(self) -> Row:
        return (self.rows, self.total, self.values, self.least, self.holders, self.greatest)


def _least(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


STATE = ("__rows", "__sum_x", "__n_x", "__min_x", "__at_min_x", "__max_x")


def spec(key: Sequence[str]) -> MergeSpec:
    """SUM, MIN and MAX of one column x, by `key`."""
    kinds = (
        Operator.ADD,
        Operator.ADD,
        Operator.ADD,
        Operator.MIN,
        Operator.HOLDERS,
        Operator.MAX,
    )
    return MergeSpec(
        tuple(key),
        tuple(zip(STATE, kinds)),
        "__rows" if key else None,
        (("__sum_x", "CASE WHEN __n_x > 0 THEN __sum_x END"), ("total", "__sum_x")),
        (("__at_min_x", "__min_x"),),
    )


def columns(key: Sequence[str]) -> tuple[Column, ...]:
    names = (*key, "total", *STATE)
    return tuple(Column(name, "int" if name in key else "bigint") for name in names)


@dataclass(frozen=True)
class KeyedLayer:
    """Changes of groups by key; `replaces`: they stand in the place of what came before."""

    groups: tuple[tuple[Row, Group], ...]
    replaces: bool = False


def value(main: dict[Row, Group], layers: Iterable[KeyedLayer]) -> Counter[Row]:
    """Main and layers in their order; groups without rows are dead, but not where there is no key."""
    found = dict(main)
    for layer in layers:
        for key, group in layer.groups:
            known = not layer.replaces and key in found
            found[key] = found[key].merged(group) if known else group
    alive = {key: group.corrected for key, group in found.items() if group.rows > 0 or not key}
    return Counter(stored(alive))


def stored(groups: dict[Row, Group]) -> list[Row]:
    return [(*key, group.total, *group.row) for key, group in groups.items()]


def _literals(row: Row) -> str:
    return "(" + ", ".join("NULL" if value is None else str(value) for value in row) + ")"


class Database:
    """A DuckDB connection on which plans over `stored` and `layers` run."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})

    def leaf(self, name: str, fields: Iterable[tuple[str, str]], rows: Sequence[Row]) -> Reference:
        fields = list(fields)
        types = {"string": "varchar"}
        texts = ", ".join(f'"{field}" {types.get(kind, kind)}' for field, kind in fields)
        script = f"CREATE OR REPLACE TABLE {name} ({texts});"
        if rows:
            script += f"INSERT INTO {name} VALUES {', '.join(_literals(row) for row in rows)}"
        self.connection.execute(script)
        return Reference(name, tuple(field for field, _ in fields))

    def keyed(
        self, key: Sequence[str], main: dict[Row, Group], layers: Sequence[KeyedLayer]
    ) -> tuple[Reference, Reference]:
        """The leaves of a keyed relation; rows of a layer carry its place and whether it replaces."""
        own = [(c.name, c.type) for c in columns(key)]
        wanted = layer_columns(spec(key))
        kinds = dict([*own, ("__seq", "bigint"), ("__replaces", "boolean")])
        rows = [
            (*group_key, *group.row, number, layer.replaces)
            for number, layer in enumerate(layers, start=1)
            for group_key, group in layer.groups
        ]
        return (
            self.leaf("stored", own, stored(main)),
            self.leaf("layers", [(name, kinds[name]) for name in wanted], rows),
        )

    def rows(self, plan: Relation) -> Counter[Row]:
        return Counter(self.connection.execute(_text(plan)).fetchall())


@cache
def _text(plan: Relation) -> str:
    return render(plan, DUCKDB)
