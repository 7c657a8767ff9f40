"""A wrong refresh as a file: the definition, the settings, the rows that matter, and how to repeat it.

Small inputs are written whole. Of large ones those rows are taken that share a value, in a column of the same
name, with the rows that differ; then the script may not show the error, but the rows still tell it.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import DATALOG, ViewDefinition
from viewkeeper.inspect.verification import Verification, in_text
from viewkeeper.seen import inputs_seen
from viewkeeper.spark.frames import columns_of, ddl
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.objects import join
from viewkeeper.workspace import Workspace

ROWS = 1_000
"""So many rows of an input are written."""

REPROS = "repros"
"""The folder of a warehouse that holds such files."""

ENVIRONMENT = "VIEWKEEPER_REPROS"
"""A local folder for them instead."""


def write_repro(
    work: Workspace,
    draft: Draft,
    view: ViewDefinition,
    found: Verification,
    inputs: Mapping[str, DataFrame],
) -> str:
    """Writes the file, and says where."""
    before = inputs_seen(work.log, draft.base.catalog.views.get(view.name, view))
    tables = {}
    for name in view.tables:
        new = _rows(work, inputs[in_text(name)], found)
        old = _rows(work, work.reader.visible(before[name]), found) if name in before else new
        tables[shown(name)] = (ddl(columns_of(inputs[in_text(name)])), _key(draft, name), old, new)
    text = _script(work, view, found, tables)
    file = f"{re.sub(r'[^0-9A-Za-z_]', '_', view.name)}-{draft.version}-{uuid.uuid4().hex[:8]}.py"
    folder = os.environ.get(ENVIRONMENT)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, file).write_text(text, encoding="utf-8")
        return str(Path(folder, file))
    work.log.folder.create(join(REPROS, file), text.encode())
    return work.log.folder.address(join(REPROS, file))


def _key(draft: Draft, name: str) -> list[str]:
    table = draft.catalog.tables.get(name)
    return list(map(shown, table.key)) if table is not None else []


def _rows(work: Workspace, frame: DataFrame, found: Verification) -> list[tuple[Any, ...]]:
    """All rows where they are few, else those that have to do with the rows that differ."""
    rows = work.engine.rows(frame, ROWS + 1)
    if len(rows) > ROWS:
        rows = work.engine.rows(_related(frame, found), ROWS)
    return [tuple(row.asDict(recursive=True).values()) for row in rows]


def _related(frame: DataFrame, found: Verification) -> DataFrame:
    rows: Sequence[Mapping[str, Any]] = (*found.missing, *found.extra)
    for name in frame.columns:
        values = [row[name] for row in rows if isinstance(row.get(name), (int, str))]
        if values:
            return frame.where(frame[name].isin(values))
    return frame


def _script(
    work: Workspace,
    view: ViewDefinition,
    found: Verification,
    tables: Mapping[str, tuple[str, list[str], list[Any], list[Any]]],
) -> str:
    given = "\n".join(
        f"    {name!r}: ({schema!r}, {key!r}, {_lines(old)}, {_lines(new)}),"
        for name, (schema, key, old, new) in tables.items()
    )
    create = "wh.datalog(TEXT)" if view.language == DATALOG else _create(view)
    return _TEMPLATE.format(
        view=shown(view.name),
        settings=dict(view.settings or work.settings),
        text=view.sql,
        tables=given,
        create=create,
        missing=_lines(found.missing),
        extra=_lines(found.extra),
        columns=list(found.columns),
    )


def _create(view: ViewDefinition) -> str:
    strategy = dict(view.properties).get("viewkeeper.strategy", "auto")
    return f"wh.create_view({shown(view.name)!r}, TEXT, policy={view.policy!r}, strategy={strategy!r})"


def _lines(rows: Sequence[Any]) -> str:
    inner = "".join(f"            {row!r},\n" for row in rows)
    return f"[\n{inner}        ]"


def changes(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The rows that went and those that came."""
    before, after = Counter(map(repr, old)), Counter(map(repr, new))
    rows = {repr(row): row for row in (*old, *new)}
    gone, come = before - after, after - before
    return [rows[r] for r in gone.elements()], [rows[r] for r in come.elements()]


_TEMPLATE = '''"""A refresh of {view} gave other rows than Spark's answer to its text. This repeats it."""

import datetime
import tempfile
from decimal import Decimal

import viewkeeper as vk
from viewkeeper.inspect.repro import changes

nan, inf = float("nan"), float("inf")
Row = dict

SETTINGS = {settings!r}

TEXT = {text!r}

# Each table: columns, key, rows before the refresh, rows after.
TABLES = {{
{tables}
}}

# What was found: columns that differ, rows that the view should have, rows that it should not.
COLUMNS = {columns!r}
MISSING = {missing}
EXTRA = {extra}


def repeat(wh):
    for name, value in SETTINGS.items():
        wh.spark.conf.set(name, value)
    for name, (schema, key, old, _) in TABLES.items():
        wh.create_table(name, wh.spark.createDataFrame(old, schema), key)
    {create}
    with wh.transaction() as t:
        for name, (schema, _, old, new) in TABLES.items():
            gone, come = changes(old, new)
            if gone:
                t.delete(name, wh.spark.createDataFrame(gone, schema))
            if come:
                t.insert(name, wh.spark.createDataFrame(come, schema))
    wh.refresh(policy="incremental", check=0)
    return wh.verify({view!r})


if __name__ == "__main__":
    with vk.open(tempfile.mkdtemp()) as warehouse:
        found = repeat(warehouse)
        print(found)
    raise SystemExit(0 if found else 1)
'''
