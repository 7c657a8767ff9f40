"""What commands print: tables for people, JSON for machines, errors without tracebacks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from viewkeeper.errors import ViewkeeperError
from viewkeeper.plain import plain, told

WIDTH = 160
"""Of what goes to a file or a pipe, which have none; `COLUMNS` says otherwise."""


def console() -> Console:
    """Made anew for each use, so that it writes to whatever stdout is now."""
    return _wide(Console(highlight=False))


def stderr() -> Console:
    return _wide(Console(stderr=True, highlight=False))


def _wide(found: Console) -> Console:
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = WIDTH
    return found


def print_json(value: Any) -> None:
    print(json.dumps(value, default=plain, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table whose numbers are aligned to the right; NULL is shown, and differs from an empty text."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for position, name in enumerate(columns):
        numeric = all(_is_number(row[position]) for row in rows) and bool(rows)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    if title:
        console().print(escape(title))
    console().print(table)


def print_records(records: Sequence[Mapping[str, Any]], empty: str, title: str | None = None) -> None:
    """Records of equal shape as a table, or the sentence `empty`."""
    if not records:
        console().print(escape(empty))
        return
    names = list(records[0])
    headings = [name.replace("_", " ") for name in names]
    print_table(headings, [[record.get(name) for name in names] for record in records], title)


def print_error(error: ViewkeeperError, as_json: bool) -> None:
    if as_json:
        print_json({"error": told(error)})
        return
    out = stderr()
    out.print(f"[bold red]error:[/] {escape(error.what)}", soft_wrap=True)
    for part in (error.detail, error.hint):
        if part:
            out.print(f"  {escape(part)}", soft_wrap=True)


def cell(value: Any) -> str:
    """A value as rich markup."""
    match value:
        case None:
            return "[dim]NULL[/]"
        case bool():
            return str(value).lower()
        case float():
            return escape(f"{value:.6g}")
        case {"code": _, "sentence": sentence}:
            return escape(str(sentence))
        case dict() | list() | tuple():
            return escape(json.dumps(value, default=plain, ensure_ascii=False))
        case _:
            return escape(str(value))


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))
