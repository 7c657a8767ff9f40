"""Random rows and random batches of changes, from a seed; and the tables that they lead to."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]


def _some(rng: random.Random, *values: Any) -> Any:
    """One of the values, or, now and then, NULL."""
    return None if rng.random() < 0.15 else rng.choice(values)


def _row(rng: random.Random, table: str) -> Row:
    if table == "sales":
        price, day = Decimal(rng.randrange(1, 9)) / 2, date(2024, rng.randrange(1, 4), 1)
        weight = _some(rng, 0.0, 0.25, 1.5, -0.5, *(["nan"] if rng.random() < 0.2 else []))
        return (
            _some(rng, 1, 2, 3, 4),
            _some(rng, "a", "b", "c"),
            _some(rng, 0, 1, 2, 3, 4),
            _some(rng, price),
            _some(rng, day),
            float("nan") if weight == "nan" else weight,
        )
    if table == "items":
        return (_some(rng, "a", "b", "c", "d"), _some(rng, "x", "y"), _some(rng, Decimal(1), Decimal("2.5")))
    return (_some(rng, 1, 2, 3), _some(rng, 1, 2, 3, 5), _some(rng, 1, 2, 5, 10))


@dataclass
class Batch:
    """What one transaction does."""

    inserts: dict[str, list[Row]] = field(default_factory=dict)
    deletes: dict[str, list[Row]] = field(default_factory=dict)


@dataclass
class Stream:
    """The tables as plain lists of rows, and the batches that change them."""

    rng: random.Random
    tables: dict[str, list[Row]] = field(default_factory=dict)

    def start(self) -> Batch:
        rows = {"sales": 14, "items": 5, "moves": 8}
        batch = Batch({name: [_row(self.rng, name) for _ in range(n)] for name, n in rows.items()})
        batch.inserts["stores"] = [self._store(number) for number in (1, 2, 3)]
        self.tables = {name: list(rows) for name, rows in batch.inserts.items()}
        return batch

    def batch(self) -> Batch:
        """A few tables change: only inserts, only deletes, both, or everything goes."""
        names = self.rng.sample(sorted(self.tables), self.rng.choice((1, 1, 2, 4)))
        kind = self.rng.choice(("insert", "delete", "both", "both", "both"))
        batch = Batch()
        for name in names:
            if kind != "insert":
                self._delete(batch, name)
            if kind != "delete":
                self._insert(batch, name)
        return batch

    def _delete(self, batch: Batch, name: str) -> None:
        rows = self.tables[name]
        number = len(rows) if self.rng.random() < 0.08 else min(len(rows), self.rng.randrange(1, 4))
        chosen = self.rng.sample(range(len(rows)), number)
        if chosen:
            batch.deletes[name] = [rows[index] for index in chosen]
        self.tables[name] = [row for index, row in enumerate(rows) if index not in chosen]

    def _insert(self, batch: Batch, name: str) -> None:
        number = self.rng.randrange(1, 4)
        if name == "stores":
            free = [key for key in range(1, 7) if key not in {row[0] for row in self.tables[name]}]
            new = [self._store(key) for key in self.rng.sample(free, min(number, len(free)))]
        else:
            new = [_row(self.rng, name) for _ in range(number)]
        if new:
            batch.inserts[name] = new
        self.tables[name] += new

    def _store(self, key: int) -> Row:
        return (key, _some(self.rng, "u", "v", "w"), _some(self.rng, "n", "s"))
