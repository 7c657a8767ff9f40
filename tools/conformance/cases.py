"""Cases, and ways to choose some of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.conformance.values import Row, typed_row


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    def create_statement(self) -> str:
        parts = [f"`{name}` {type_}" for name, type_ in self.columns]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(f'`{name}`' for name in self.key)})")
        return f"CREATE TABLE `{self.name}` ({', '.join(parts)})"

    def rows(self, values: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        """Rows as a transaction takes them."""
        types = [type_ for _, type_ in self.columns]
        return [dict(zip((name for name, _ in self.columns), typed_row(row, types))) for row in values]


@dataclass(frozen=True)
class Change:
    table: str
    insert: tuple[Sequence[Any], ...]
    delete: tuple[Sequence[Any], ...]


@dataclass(frozen=True)
class Case:
    id: str
    tags: tuple[str, ...]
    tables: tuple[Table, ...]
    initial: dict[str, list[Sequence[Any]]]
    helper_views: tuple[tuple[str, str], ...]
    view: str
    sql: str
    steps: tuple[tuple[Change, ...], ...]
    expected: tuple[tuple[Row, ...], ...]
    spark_can_recompute: bool

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


def load(path: Path) -> list[Case]:
    with path.open(encoding="utf-8") as lines:
        return [parse(json.loads(line)) for line in lines if line.strip()]


def parse(raw: dict[str, Any]) -> Case:
    types = [type_ for _, type_ in raw["view"]["columns"]]
    return Case(
        id=raw["id"],
        tags=tuple(raw["tags"]),
        tables=tuple(_table(name, described) for name, described in raw["tables"].items()),
        initial=raw["initial"],
        helper_views=tuple((view["name"], view["sql"]) for view in raw["helper_views"]),
        view=raw["view"]["name"],
        sql=raw["view"]["sql"],
        steps=tuple(_step(step) for step in raw["steps"]),
        expected=tuple(tuple(typed_row(row, types) for row in rows) for rows in raw["expected"]),
        spark_can_recompute=raw.get("spark_recompute", True),
    )


def _table(name: str, described: dict[str, Any]) -> Table:
    return Table(name, tuple((c, t) for c, t in described["columns"]), tuple(described["primary_key"]))


def _step(step: dict[str, Any]) -> tuple[Change, ...]:
    return tuple(
        Change(table, tuple(change.get("insert", ())), tuple(change.get("delete", ())))
        for table, change in step.items()
    )


def choose(
    cases: Sequence[Case], only: str | None = None, limit: int | None = None, spread: int | None = None
) -> list[Case]:
    """The cases of a tag (or an id that starts so), then an even spread or the first ones."""
    chosen = [case for case in cases if only is None or only in case.tags or case.id.startswith(only)]
    if spread is not None:
        chosen = spread_over_tags(chosen, spread)
    return chosen if limit is None else chosen[:limit]


def spread_over_tags(cases: Sequence[Case], count: int) -> list[Case]:
    """Cases one after the other whose tags the earlier ones cover least; short cases before long ones."""
    covered: Counter[str] = Counter()
    left, chosen = list(cases), list[Case]()
    while left and len(chosen) < count:
        best = max(left, key=lambda case: _novelty(case, covered))
        left.remove(best)
        chosen.append(best)
        covered.update(best.tags)
    return sorted(chosen, key=lambda case: case.id)


def _novelty(case: Case, covered: Counter[str]) -> float:
    return sum(1 / (1 + covered[tag]) ** 2 for tag in case.tags) - len(case.steps) / 10
