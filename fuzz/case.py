"""A scenario as plain data: tables, views and steps, to and from JSON that a person can read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fuzz.schemas import Column, Row, Table

Settings = tuple[tuple[str, str], ...]

Step = dict[str, Any]
"""`{"do": "refresh", "views": [], "policy": "auto"}`; `streams` makes them, `run` plays them."""


@dataclass(frozen=True)
class View:
    """A view: its text, how it is kept, and for recursion by UNION the equations that define it.

    `query` is the tree that the text was written from, where it is known: `shrink` works on it.
    """

    name: str
    text: str
    strategy: str = "auto"
    refresh: str = "deferred"
    equations: tuple[tuple[str, str], ...] = ()
    language: str = "sql"
    settings: Settings = ()
    query: Any = None

    @property
    def predicates(self) -> tuple[str, ...]:
        """The relations that it makes: one, or those that a Datalog program derives."""
        return tuple(name for name, _ in self.equations) if self.language == "datalog" else (self.name,)


def mentions(view: View, name: str) -> bool:
    """Whether a view reads a relation, which its text then names."""
    return re.search(rf"\b{name}\b", view.text) is not None


@dataclass(frozen=True)
class Case:
    """What is played: first all tables are made and filled, then the views, then the steps happen.

    `settings` are those of the session. `choice` says how strategies are chosen: "maintain" prefers those
    that maintain, also where tables are small; "cost" is the planner's own choice.
    """

    seed: int
    tables: tuple[Table, ...]
    rows: dict[str, tuple[Row, ...]]
    views: tuple[View, ...]
    steps: tuple[Step, ...]
    settings: Settings = ()
    choice: str = "maintain"

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


def to_json(case: Case, told: dict[str, Any] | None = None) -> str:
    tables = [
        {
            "name": table.name,
            "columns": [[c.name, c.type, c.nullable] for c in table.columns],
            "key": table.key,
            "reference": table.reference,
            "rows": case.rows.get(table.name, ()),
        }
        for table in case.tables
    ]
    views = [_view_json(view) for view in case.views]
    whole: dict[str, Any] = {"seed": case.seed, "settings": case.settings, "choice": case.choice}
    whole |= {"tables": tables, "views": views}
    return _lines({**whole, "steps": case.steps, **(told or {})})


def _view_json(view: View) -> dict[str, Any]:
    optional = {f.name: f.default for f in fields(View) if f.name not in ("name", "text", "query")}
    shown = {name: getattr(view, name) for name, usual in optional.items() if getattr(view, name) != usual}
    return {"name": view.name, "text": view.text, **shown}


def _lines(value: dict[str, Any]) -> str:
    """JSON with one line for each table, view and step, or for each row of a large one."""
    parts = []
    for name, content in value.items():
        text = json.dumps(content, ensure_ascii=False, default=str)
        if isinstance(content, (list, tuple)) and content and len(text) > 90:
            inner = ",\n    ".join(json.dumps(item, ensure_ascii=False, default=str) for item in content)
            text = f"[\n    {inner}\n  ]"
        parts.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def from_json(text: str) -> Case:
    known = json.loads(text)
    tables = tuple(
        Table(
            table["name"],
            tuple(Column(name, kind, (), nullable) for name, kind, nullable in table["columns"]),
            tuple(table["key"]),
            tuple(table["reference"]) if table["reference"] else None,
        )
        for table in known["tables"]
    )
    rows = {table["name"]: tuple(tuple(row) for row in table["rows"]) for table in known["tables"]}
    views = tuple(
        View(**{**view, **{name: _pairs(view.get(name, ())) for name in ("equations", "settings")}})
        for view in known["views"]
    )
    steps, settings = tuple(known["steps"]), _pairs(known.get("settings", ()))
    return Case(known["seed"], tables, rows, views, steps, settings, known.get("choice", "maintain"))


def _pairs(known: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in known)


def read(path: Path) -> Case:
    return from_json(path.read_text())


def without_views(case: Case, names: set[str]) -> Case:
    """The case without some views, which no other may read."""
    return replace(case, views=tuple(view for view in case.views if view.name not in names))
