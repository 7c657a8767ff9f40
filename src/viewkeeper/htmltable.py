"""Records as a table of HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any


def html_table(records: Iterable[Mapping[str, Any]], empty: str, after: str = "") -> str:
    """Records of equal shape, numbers to the right; or the sentence `empty`. `after` is a last line."""
    rows = list(records)
    if not rows:
        return f"<p>{html.escape(empty)}</p>"
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows)
    last = f"<p>{html.escape(after)}</p>" if after else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{last}"


def _cell(value: Any) -> str:
    match value:
        case bool() | str() | None:
            return f"<td>{html.escape('' if value is None else str(value))}</td>"
        case float():
            return f'<td style="text-align:right">{value:.3g}</td>'
        case int():
            return f'<td style="text-align:right">{value:,}</td>'
        case _:
            return f"<td>{html.escape(str(value))}</td>"
