"""Random tables: columns of all types, with and without keys, NOT NULL and references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from fuzz.values import NULL, family_of, pool, random_kind

Row = tuple[str, ...]

NAMES = ("k", "a", "b", "c", "d", "e")
"""Tables share the names of their columns, so that they can be joined by USING."""


@dataclass(frozen=True)
class Column:
    """A column; its values come from a small pool."""

    name: str
    type: str
    pool: tuple[str, ...] = ()
    nullable: bool = True

    @property
    def family(self) -> str:
        return family_of(self.type)


@dataclass(frozen=True)
class Table:
    """A table; `reference` is the column that refers to the key of another table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    reference: tuple[str, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def position(self, name: str) -> int:
        return self.names.index(name)

    def key_of(self, row: Row) -> Row:
        return tuple(row[self.position(name)] for name in self.key)

    @property
    def ddl(self) -> str:
        parts = [f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in self.columns]
        parts += [f"PRIMARY KEY ({', '.join(self.key)})"] if self.key else []
        if self.reference:
            column, parent = self.reference
            parts.append(f"FOREIGN KEY ({column}) REFERENCES {parent} (k)")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def random_tables(rng: Random) -> tuple[Table, ...]:
    """Two to four tables; the first has a key of one column more often than not."""
    tables: list[Table] = []
    for number in range(rng.choice((2, 3, 3, 4))):
        tables.append(_random_table(rng, f"t{number}", tables, rng.random() < (0.8 if not number else 0.45)))
    return tuple(tables)


def _random_table(rng: Random, name: str, others: list[Table], keyed: bool) -> Table:
    columns = [_random_column(rng, n) for n in NAMES[: rng.choice((3, 4, 5, 6))]]
    reference = None
    if keyed:
        columns[0] = _key_column(rng, "k")
    parents = [t for t in others if len(t.key) == 1]
    if parents and rng.random() < 0.6:
        parent = rng.choice(parents)
        target = parent.columns[0]
        columns[1] = Column("a", target.type, target.pool)
        reference = ("a", parent.name)
    key = ("k",) if keyed else ()
    if keyed and reference is None and rng.random() < 0.25:
        columns[1], key = _key_column(rng, "a"), ("k", "a")
    return Table(name, tuple(columns), key, reference)


def _random_column(rng: Random, name: str) -> Column:
    kind = random_kind(rng)
    return Column(name, kind.type, pool(rng, kind), rng.random() > 0.15)


def _key_column(rng: Random, name: str) -> Column:
    kind = random_kind(rng, key=True)
    values = tuple(str(n) for n in range(1, 13)) if kind.type == "int" else (*kind.plain, *kind.edges)
    return Column(name, kind.type, values, nullable=False)


def scaled(tables: tuple[Table, ...], scale: int) -> tuple[Table, ...]:
    """Tables whose keys can tell so many times more rows apart."""
    values = tuple(str(n) for n in range(1, 12 * scale + 1))
    keys = {t.name for t in tables if t.columns[0].type == "int" and t.key}

    def column(table: Table, c: Column) -> Column:
        refers = table.reference and c.name == table.reference[0] and table.reference[1] in keys
        own = c.type == "int" and c.name in table.key
        return replace(c, pool=values) if own or refers else c

    return tuple(replace(t, columns=tuple(column(t, c) for c in t.columns)) for t in tables)


def random_value(rng: Random, column: Column) -> str:
    return NULL if column.nullable and rng.random() < 0.15 else rng.choice(column.pool)
