"""Small random databases and batches of changes.

Domains are tiny, so that joins meet, groups fill and duplicates occur; every column may be NULL.
Rows come from a fixed pool per table, which keeps generation fast and shrunk failures readable.
"""

from __future__ import annotations

import datetime
import random
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import strategies as st

from viewkeeper.algebra.schema import Column

Row: TypeAlias = tuple[Any, ...]
Bag: TypeAlias = "Counter[Row]"

DOMAINS: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 2, None),
    "string": ("x", "y", None),
    "decimal(8,2)": (Decimal("0.50"), Decimal("1.00"), Decimal("-2.25"), None),
    "date": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None),
    "double": (0.5, -1.0, float("nan"), None),
    "boolean": (True, False, None),
}

TABLES: dict[str, tuple[Column, ...]] = {
    "r": (Column("a", "int"), Column("b", "int"), Column("s", "string")),
    "s": (Column("c", "int"), Column("d", "decimal(8,2)"), Column("e", "date")),
    "t": (Column("k", "int"), Column("f", "double"), Column("g", "boolean")),
}


def _pool(table: str, size: int = 16) -> tuple[Row, ...]:
    dice = random.Random(table)
    return tuple(tuple(dice.choice(DOMAINS[c.type]) for c in TABLES[table]) for _ in range(size))


POOLS = {table: _pool(table) for table in TABLES}


@dataclass(frozen=True)
class Change:
    """One table's part of a batch: signed rows, perhaps several entries for the same row."""

    table: str
    entries: tuple[tuple[Row, int], ...]


@dataclass(frozen=True)
class History:
    """The first state of every table, and what changes in each batch."""

    rows: dict[str, tuple[Row, ...]]
    batches: tuple[tuple[Change, ...], ...] = field(default=())


CHANGED = (("r",), ("s",), ("t",), ("r", "s"), ("s", "t"), ("t", "r"), ("r", "s", "t"))
"""The tables that a batch changes."""


def _change(dice: random.Random, table: str, present: list[Row], size: int) -> Change:
    """Inserts, deletes of rows that are there, updates, and pairs that cancel."""
    entries = [(dice.choice(POOLS[table]), 1) for _ in range(dice.randint(0, size))]
    entries += [(row, -1) for row in dice.sample(present, min(len(present), dice.randint(0, size)))]
    if dice.random() < 0.25:
        noise = dice.choice(POOLS[table])
        entries += [(noise, 1), (noise, -1)]
    if dice.random() < 0.5:
        net: Counter[Row] = Counter()
        for row, count in entries:
            net[row] += count
        entries = [(row, count) for row, count in net.items() if count]
    return Change(table, tuple(entries))


@st.composite
def histories(draw: st.DrawFn, batches: int = 1) -> History:
    """Rows come from a seed, which hypothesis draws: drawn one by one, most databases would be empty."""
    dice = random.Random(draw(st.integers(0, 1_000_000)))
    size = draw(st.sampled_from((6, 5, 4, 3, 2, 1)))
    rows = {table: tuple(dice.choices(POOLS[table], k=dice.choice((0, size, size)))) for table in TABLES}
    now = {table: list(have) for table, have in rows.items()}
    done = []
    for _ in range(draw(st.integers(1, batches))):
        tables = dice.choice(CHANGED)
        batch = tuple(_change(dice, table, now[table], min(size, 3)) for table in tables)
        for change in batch:
            now[change.table] = applied(now[change.table], change.entries)
        done.append(batch)
    return History(rows, tuple(done))


def applied(rows: list[Row], entries: tuple[tuple[Row, int], ...]) -> list[Row]:
    """The rows after the changes; no row is ever deleted that is not there in the end."""
    bag = Counter({key(row): 0 for row in rows})
    original = {key(row): row for row in rows} | {key(row): row for row, _ in entries}
    for row in rows:
        bag[key(row)] += 1
    for row, count in entries:
        bag[key(row)] += count
    assert all(count >= 0 for count in bag.values())
    return [original[k] for k, count in bag.items() for _ in range(count)]


def key(row: Row) -> Row:
    """A row as a value that equals itself, also where it holds NaN."""
    return tuple("NaN" if isinstance(v, float) and v != v else v for v in row)
