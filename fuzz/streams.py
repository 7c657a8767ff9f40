"""Random streams of changes: what happens to a warehouse between two looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from fuzz.case import Case, Step
from fuzz.model import Change, Model
from fuzz.query import Select, smaller
from fuzz.recursion import changed_rules
from fuzz.schemas import Row, Table, random_value
from fuzz.values import NULL, is_listable

POLICIES = ("auto", "incremental", "incremental", "incremental", "strict", "strict", "full")
EQUAL = ("integer", "date", "boolean")
"""Families whose texts are equal where their values are: conditions of statements are decided by the text."""


def first_rows(rng: Random, tables: tuple[Table, ...], scale: int = 1) -> dict[str, tuple[Row, ...]]:
    model = Model(tables, {})
    for table in tables:
        number = 0 if rng.random() < 0.07 else scale * rng.choice((1, 4, 8, 8, 12, 12, 16))
        model.apply(
            {
                "do": "transaction",
                "changes": [_insert(rng, model, table, number)],
            }
        )
    return {name: tuple(rows) for name, rows in model.rows.items()}


def random_steps(rng: Random, case: Case, rounds: int, scale: int = 1) -> tuple[Step, ...]:
    """Rounds of changes, each with a refresh of everything at its end."""
    model, steps = Model.of(case), []
    programs = {view.name: view for view in case.views if view.language == "datalog"}
    for _ in range(rounds):
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            step = _change(rng, model, scale)
            model.apply(step)
            steps.append(step)
        steps += _between(rng, case, model)
        for name in programs:
            if rng.random() < 0.4:
                step, programs[name] = changed_rules(rng, programs[name])
                steps.append(step)
        steps.append(_refresh(rng, case, []))
        steps += _afterwards(rng, case)
        steps += _redefined(rng, case, model)
    return tuple(steps)


def _refresh(rng: Random, case: Case, names: list[str]) -> Step:
    """A refresh; now and then it checks itself, uses no lattice, comes from a session with other settings, or
    from another process."""
    step: Step = {"do": "refresh", "views": names, "policy": rng.choice(POLICIES)}
    if rng.random() < 0.08:
        step["check"] = rng.choice((1.0, 0.5))
    if rng.random() < 0.1:
        step["use_lattice"] = False
    if rng.random() < 0.1:
        step["settings"] = [rng.choice(OTHER_SETTINGS)]
    elif rng.random() < 0.02 and case.choice == "maintain":
        step["elsewhere"] = True
    return step


OTHER_SETTINGS = (
    ("spark.sql.session.timeZone", "America/New_York"),
    ("spark.sql.session.timeZone", "Asia/Kolkata"),
    ("spark.sql.ansi.enabled", "false"),
    ("spark.sql.ansi.enabled", "false"),
    ("spark.sql.caseSensitive", "true"),
    ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
)
"""Settings that change what a text means: a view keeps those that it was defined under."""


def _redefined(rng: Random, case: Case, model: Model) -> list[Step]:
    """A view gets the text of another, or its own with a part less; or a table is dropped with all above it
    and made again."""
    plain = [view for view in case.views if not view.equations and not re.search(r"\bv\d+", view.text)]
    if plain and rng.random() < 0.08:
        target, text = rng.choice(plain).name, rng.choice(plain).text
        return [{"do": "alter", "view": target, "text": text}]
    less = [(view.name, query) for view in case.views for query in _same_columns(view.query)]
    if less and rng.random() < 0.12:
        target, query = rng.choice(less)
        return [{"do": "alter", "view": target, "text": str(query)}]
    childless = [table for table in model.tables.values() if not _has_children(model, table)]
    if rng.random() < 0.08:
        table = rng.choice(childless)
        empty = Model(model.tables.values(), {**model.rows, table.name: []})
        step = {"do": "recreate", "table": table.name, "rows": _insert(rng, empty, table, 8)["rows"]}
        model.apply(step)
        return [step]
    return []


def _same_columns(query: Any) -> Iterator[Select]:
    """Queries with a condition less, or without DISTINCT: those who read the view need not change."""
    if isinstance(query, Select):
        for less in smaller(query):
            kept = isinstance(less, Select) and less.items == query.items and less.source == query.source
            if kept and less.group == query.group and less.limit == query.limit:
                yield less


def _between(rng: Random, case: Case, model: Model) -> list[Step]:
    """What may happen while views are stale."""
    found: list[Step] = []
    if rng.random() < 0.15:
        found.append({"do": "propagate"})
        if rng.random() < 0.5:
            found.append(_change(rng, model))
            model.apply(found[-1])
    names = [name for view in case.views for name in view.predicates]
    if rng.random() < 0.2 and names:
        chosen = rng.sample(names, min(len(names), 3))
        found.append(_refresh(rng, case, chosen))
        found.append(_change(rng, model))
        model.apply(found[-1])
    return found


def _afterwards(rng: Random, case: Case) -> list[Step]:
    names = [("compact", 0.12), ("vacuum", 0.05), ("reopen", 0.12)]
    found: list[Step] = [{"do": name} for name, chance in names if rng.random() < chance]
    views = [name for view in case.views for name in view.predicates]
    if views and rng.random() < 0.3:
        found.append({"do": "look", "views": rng.sample(views, min(len(views), 3))})
    return found


def _change(rng: Random, model: Model, scale: int = 1) -> Step:
    """A transaction, or a statement where some table takes one."""
    if rng.random() < 0.25:
        statement = _statement(rng, model)
        if statement is not None:
            return statement
    after, changes = model.copy(), []
    for name in rng.sample(sorted(model.tables), rng.choice((1, 1, 2, len(model.tables)))):
        for change in _changes(rng, after, after.tables[name], scale):
            after.apply({"do": "transaction", "changes": [change]})
            changes.append(change)
    listable = all(is_listable(c.type) for t in model.tables.values() for c in t.columns)
    return {
        "do": "transaction",
        "how": rng.choice(("list", "frame")) if listable else "frame",
        "changes": changes,
    }


def _changes(rng: Random, model: Model, table: Table, scale: int = 1) -> list[Change]:
    kind = rng.choice(("insert", "delete", "both", "both", "update", "again", "all"))
    found: list[Change] = []
    if kind in ("delete", "both", "all"):
        found.append(_delete(rng, model, table, whole=kind == "all" and rng.random() < 0.5))
    elif kind == "update" and table.key:
        found.append(_update(rng, model, table))
    elif kind == "again":
        gone = _delete(rng, model, table, whole=False)
        found += [gone, {**gone, "kind": "insert"}]
    found = [change for change in found if change["rows"]]
    after = model.copy()
    after.apply({"do": "transaction", "changes": found})
    if kind in ("insert", "both", "update"):
        found.append(_insert(rng, after, table, scale * rng.choice((1, 1, 2, 4))))
    return [change for change in found if change["rows"]]


def _insert(rng: Random, model: Model, table: Table, number: int) -> Change:
    """New rows, some of them copies of rows that are there; keys that are free, references that hold."""
    known, rows = list(model.rows[table.name]), []
    keys = {table.key_of(row) for row in known}
    for _ in range(number):
        row = _row(rng, model, table)
        if not table.key and known and rng.random() < 0.3:
            row = rng.choice(known)
        if table.key and table.key_of(row) in keys:
            continue
        keys.add(table.key_of(row))
        rows.append(row)
    return {"kind": "insert", "table": table.name, "rows": rows}


def _row(rng: Random, model: Model, table: Table) -> Row:
    row = [random_value(rng, column) for column in table.columns]
    if table.reference:
        name, parent = table.reference
        targets = [known[0] for known in model.rows[parent]]
        column = table.columns[table.position(name)]
        fallback = [NULL] if column.nullable else []
        row[table.position(name)] = rng.choice(targets + fallback or [NULL])
    return tuple(row)


def _referenced(model: Model, table: Table) -> set[str]:
    """Keys of a table that rows of others refer to."""
    found = set()
    for child in model.tables.values():
        if child.reference and child.reference[1] == table.name:
            found |= {row[child.position(child.reference[0])] for row in model.rows[child.name]}
    return found


def _delete(rng: Random, model: Model, table: Table, whole: bool) -> Change:
    needed = _referenced(model, table)
    free = [row for row in model.rows[table.name] if not table.key or row[0] not in needed]
    number = len(free) if whole else min(len(free), rng.choice((1, 1, 2, 3)))
    return {"kind": "delete", "table": table.name, "rows": rng.sample(free, number)}


def _update(rng: Random, model: Model, table: Table) -> Change:
    """Rows named by their keys get other values in some columns."""
    rows = model.rows[table.name]
    others = [c for c in table.columns if c.name not in table.key]
    changed = rng.sample(others, rng.choice((1, 1, min(2, len(others)))))
    chosen = rng.sample(rows, min(len(rows), rng.choice((1, 1, 2))))
    given = []
    for row in chosen:
        new = _row(rng, model, table)
        given.append((*table.key_of(row), *(new[table.position(c.name)] for c in changed)))
    columns = [*table.key, *(c.name for c in changed)]
    return {"kind": "update", "table": table.name, "columns": columns, "rows": given}


def _statement(rng: Random, model: Model) -> Step | None:
    """A DELETE, UPDATE, MERGE or INSERT in SQL on a table that no other refers to."""
    tables = [t for t in model.tables.values() if not _has_children(model, t)]
    table = rng.choice(tables)
    kind = rng.choice(("delete", "update", "merge", "insert"))
    step: Step = {"do": "sql", "statement": kind, "table": table.name}
    if kind in ("insert", "merge"):
        if kind == "merge" and not table.key:
            return None
        rows = _insert(
            rng,
            Model(model.tables.values(), {**model.rows, table.name: []}) if kind == "merge" else model,
            table,
            3,
        )["rows"]
        return {**step, "rows": rows} if rows else None
    columns = [c for c in table.columns if c.family in EQUAL and c.name not in table.key]
    if not columns:
        return None
    column = rng.choice(columns)
    step["where"] = [column.name, random_value(rng, column)]
    if kind == "update":
        settable = [
            c
            for c in table.columns
            if c.name not in table.key and (not table.reference or c.name != table.reference[0])
        ]
        if not settable:
            return None
        target = rng.choice(settable)
        step["set"] = {target.name: random_value(rng, target)}
    return step


def _has_children(model: Model, table: Table) -> bool:
    return any(t.reference and t.reference[1] == table.name for t in model.tables.values())
