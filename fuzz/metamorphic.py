"""Laws that need no oracle: cases that must lead to the same rows as another.

split       a transaction is committed change by change, each with a refresh of its own
strategies  the same views, kept by id-diffs, by tuple-diffs, or as the planner chooses
inverse     all changes, then their inverses, last first: the rows of the start
inlined     a view over a view, and the same with the text of the other in its place
permuted    the tables have their columns in another order
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from fuzz.case import Case, Step, View
from fuzz.model import Change, Model
from fuzz.schemas import Table

REFRESH: Step = {"do": "refresh", "views": [], "policy": "incremental"}


def split(case: Case, rng: Random) -> Case:
    """Every change in a transaction of its own, refreshed at random moments."""
    steps: list[Step] = []
    for step in case.steps:
        if step["do"] != "transaction":
            steps.append(step)
            continue
        for change in step["changes"]:
            steps.append({**step, "changes": [change]})
            steps += [REFRESH] if rng.random() < 0.5 else []
    return replace(case, steps=tuple(steps))


def strategies(case: Case, rng: Random) -> Case:
    """The same views kept in other ways."""
    asked = ("auto", "id-diffs", "tuple-diffs")
    views = (replace(v, strategy=rng.choice([s for s in asked if s != v.strategy])) for v in case.views)
    return replace(case, views=tuple(views))


def inverse(case: Case, rng: Random) -> Case:
    """A case whose changes are all taken back; it ends with the rows that it began with."""
    model, changes = Model.of(case), []
    for step in case.steps:
        before = {name: list(rows) for name, rows in model.rows.items()}
        model.apply(step)
        changes += [_back(model.tables[name], rows, model.rows[name]) for name, rows in before.items()]
    back = [change for pair in reversed(changes) for change in pair if change["rows"]]
    undone: Step = {"do": "transaction", "how": "frame", "changes": back}
    return replace(case, steps=(*case.steps, undone, REFRESH) if back else (*case.steps, REFRESH))


def _back(table: Table, before: list[tuple[str, ...]], after: list[tuple[str, ...]]) -> tuple[Change, Change]:
    """What makes the old rows of a table from its new ones."""
    gone, come = list(before), []
    for row in after:
        if row in gone:
            gone.remove(row)
        else:
            come.append(row)
    return (
        {"kind": "delete", "table": table.name, "rows": come},
        {"kind": "insert", "table": table.name, "rows": gone},
    )


def inlined(case: Case, rng: Random) -> Case:
    """Views that read base tables only: what they read of other views stands in their own text."""
    texts: dict[str, str] = {}
    views: list[View] = []
    for view in case.views:
        text = view.text
        for name, inner in texts.items():
            text = re.sub(rf"\b(FROM|JOIN) {name}\b(?= \w)", rf"\1 ({_escaped(inner)})", text)
        if view.language == "sql" and not view.equations:
            texts[view.name] = text
        views.append(replace(view, text=text, query=None))
    return replace(case, views=tuple(views))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def permuted(case: Case, rng: Random) -> Case:
    """Columns of every table in reverse order: views name them, so nothing else changes."""
    tables = tuple(replace(table, columns=table.columns[::-1]) for table in case.tables)
    rows = {name: tuple(row[::-1] for row in found) for name, found in case.rows.items()}
    return replace(case, tables=tables, rows=rows, steps=tuple(_permuted_step(s) for s in case.steps))


def _permuted_step(step: Step) -> Step:
    if "changes" in step:
        return {**step, "changes": [c if "columns" in c else _permuted_rows(c) for c in step["changes"]]}
    return _permuted_rows(step) if "rows" in step else step


def _permuted_rows(step: Step) -> Step:
    return {**step, "rows": [tuple(row)[::-1] for row in step["rows"]]}


LAWS: dict[str, Callable[[Case, Random], Case]] = {
    "split": split,
    "strategies": strategies,
    "inverse": inverse,
    "inlined": inlined,
    "permuted": permuted,
}
