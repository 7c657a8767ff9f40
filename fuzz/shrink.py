"""Makes a failing case small: fewer views, steps, rows and columns, simpler queries, while it still fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

from fuzz.case import Case, Step, View
from fuzz.compare import with_ancestors
from fuzz.outcome import Failure
from fuzz.query import smaller

Fails = Callable[[Case], bool]


def shrunk(case: Case, failure: Failure, fails: Fails, seconds: float) -> Case:
    """The smallest case found in the time given. Each pass removes one kind of thing; they repeat until
    nothing goes any more."""
    end = monotonic() + seconds
    best = _first_cut(case, failure, fails)
    before = None
    while best != before and monotonic() < end:
        before = best
        for candidates in (
            _fewer_steps,
            _fewer_views,
            _fewer_rows,
            _simpler_views,
            _simpler_steps,
            _fewer_columns,
        ):
            best = _descend(best, candidates, fails, end)
    return best


def _first_cut(case: Case, failure: Failure, fails: Fails) -> Case:
    """Only the view that failed, with those that it reads, up to the step where it did."""
    steps = case.steps[: failure.step + 1]
    alone = with_ancestors(case.views, failure.view) if failure.view else list(case.views)
    for views in (tuple(alone), case.views):
        small = replace(case, views=views, steps=_about(steps, views))
        if fails(small):
            return small
    return case


def _about(steps: tuple[Step, ...], views: tuple[View, ...]) -> tuple[Step, ...]:
    """Steps that name views which are no longer there name those that are left."""
    names = {name for view in views for name in view.predicates}
    kept = []
    for step in steps:
        if step.get("views"):
            chosen = [name for name in step["views"] if name in names]
            if not chosen:
                continue
            step = {**step, "views": chosen}
        kept.append(step)
    return tuple(kept)


def _descend(case: Case, candidates: Callable[[Case], Iterator[Case]], fails: Fails, end: float) -> Case:
    """Takes the first smaller case that fails, again and again."""
    found = True
    while found and monotonic() < end:
        found = False
        for candidate in candidates(case):
            if monotonic() > end:
                break
            if fails(candidate):
                case, found = candidate, True
                break
    return case


def _chunks(length: int) -> Iterator[tuple[int, int]]:
    """Stretches of a list to leave out: halves, quarters, then single elements."""
    size = max(length // 2, 1)
    while length:
        yield from ((start, min(start + size, length)) for start in range(0, length, size))
        if size == 1:
            return
        size //= 2


def _fewer_steps(case: Case) -> Iterator[Case]:
    for start, stop in _chunks(len(case.steps)):
        yield replace(case, steps=case.steps[:start] + case.steps[stop:])


def _fewer_views(case: Case) -> Iterator[Case]:
    for number in reversed(range(len(case.views))):
        views = case.views[:number] + case.views[number + 1 :]
        if views:
            yield replace(case, views=views, steps=_about(case.steps, views))


def _fewer_rows(case: Case) -> Iterator[Case]:
    """Rows that are there from the start, and rows of changes. Later steps may then fail: not so small."""
    for name, rows in case.rows.items():
        for start, stop in _chunks(len(rows)):
            yield replace(case, rows={**case.rows, name: rows[:start] + rows[stop:]})
    for number, step in enumerate(case.steps):
        for less in _smaller_step(step):
            yield replace(case, steps=(*case.steps[:number], less, *case.steps[number + 1 :]))


def _smaller_step(step: Step) -> Iterator[Step]:
    changes = step.get("changes", [])
    for start, stop in _chunks(len(changes)) if len(changes) > 1 else ():
        yield {**step, "changes": changes[:start] + changes[stop:]}
    for number, change in enumerate(changes):
        for start, stop in _chunks(len(change["rows"])) if len(change["rows"]) > 1 else ():
            less = {**change, "rows": change["rows"][:start] + change["rows"][stop:]}
            yield {**step, "changes": [*changes[:number], less, *changes[number + 1 :]]}


def _simpler_views(case: Case) -> Iterator[Case]:
    for number, view in enumerate(case.views):
        for query in smaller(view.query) if view.query is not None and not view.equations else ():
            less = replace(view, text=str(query), query=query)
            yield replace(case, views=(*case.views[:number], less, *case.views[number + 1 :]))


def _simpler_steps(case: Case) -> Iterator[Case]:
    """The plainest options that still fail: no strategy asked for, refreshed later, by default policies, in
    sessions without settings of their own."""
    usual: tuple[dict[str, Any], ...] = ({"choice": "maintain"}, {"settings": ()})
    yield from (less for plain in usual if (less := replace(case, **plain)) != case)
    for number, view in enumerate(case.views):
        options: tuple[dict[str, Any], ...] = (
            {"strategy": "auto"},
            {"refresh": "deferred"},
            {"settings": ()},
        )
        for plain in options:
            less = replace(view, **plain)
            if less != view:
                yield replace(case, views=(*case.views[:number], less, *case.views[number + 1 :]))
    for number, step in enumerate(case.steps):
        for plainer in _plainer(step):
            yield replace(case, steps=(*case.steps[:number], plainer, *case.steps[number + 1 :]))


def _plainer(step: Step) -> Iterator[Step]:
    usual: Step = {"policy": "auto", "how": "frame"} | ({"views": []} if step["do"] == "refresh" else {})
    yield from ({**step, name: value} for name, value in usual.items() if step.get(name, value) != value)
    for name in {"check", "use_lattice", "settings", "elsewhere"} & step.keys():
        yield {key: value for key, value in step.items() if key != name}


def _fewer_columns(case: Case) -> Iterator[Case]:
    """Without a table that no view reads, or a column that neither views nor keys name."""
    texts = " ".join(view.text for view in case.views)
    for table in case.tables:
        if not re.search(rf"\b{table.name}\b", texts) and not any(
            t.reference and t.reference[1] == table.name for t in case.tables
        ):
            yield _without_table(case, table.name)
        for number, column in enumerate(table.columns):
            needed = column.name in table.key or (table.reference and column.name == table.reference[0])
            if not needed and len(table.columns) > 1:
                yield _without_column(case, table.name, number)


def _without_table(case: Case, name: str) -> Case:
    steps = []
    for step in case.steps:
        if step.get("table") == name:
            continue
        if "changes" in step:
            step = {**step, "changes": [c for c in step["changes"] if c["table"] != name]}
        steps.append(step)
    rows = {table: rows for table, rows in case.rows.items() if table != name}
    tables = tuple(table for table in case.tables if table.name != name)
    return replace(case, tables=tables, rows=rows, steps=tuple(steps))


def _without_column(case: Case, name: str, at: int) -> Case:
    """A table without its column number `at`, in its rows and in all steps."""
    table = case.table(name)
    column = table.columns[at].name
    less = replace(table, columns=table.columns[:at] + table.columns[at + 1 :])
    steps = tuple(_step_without(step, name, column, at) for step in case.steps)
    rows = {**case.rows, name: tuple(row[:at] + row[at + 1 :] for row in case.rows.get(name, ()))}
    tables = tuple(less if t is table else t for t in case.tables)
    return replace(case, tables=tables, rows=rows, steps=steps)


def _step_without(step: Step, table: str, column: str, at: int) -> Step:
    if "changes" in step:
        return {
            **step,
            "changes": [
                _change_without(c, column, at) if c["table"] == table else c for c in step["changes"]
            ],
        }
    if step.get("table") == table and "rows" in step:
        return {**step, "rows": [[*row[:at], *row[at + 1 :]] for row in step["rows"]]}
    return step


def _change_without(change: Step, column: str, at: int) -> Step:
    if "columns" in change:
        if column not in change["columns"]:
            return change
        at = change["columns"].index(column)
        columns = [name for name in change["columns"] if name != column]
        return {**change, "columns": columns, "rows": [[*r[:at], *r[at + 1 :]] for r in change["rows"]]}
    return {**change, "rows": [[*row[:at], *row[at + 1 :]] for row in change["rows"]]}
