"""Progress in notebooks: one line below the cell while long work lasts, and nothing elsewhere."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from viewkeeper.workspace import ProgressEvent


def listener() -> Callable[[ProgressEvent], None] | None:
    """Who shows progress below the cell that runs; None where there is no notebook."""
    asked = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = asked() if asked is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    display = import_module("IPython.display")
    lines: dict[Any, Any] = {}

    def listen(event: ProgressEvent) -> None:
        cell = getattr(shell, "execution_count", 0)
        shown = display.HTML(line(event))
        if cell in lines:
            lines[cell].update(shown)
        else:
            lines.clear()
            lines[cell] = display.display(shown, display_id=True)

    return listen


def line(event: ProgressEvent) -> str:
    """Where the work stands, as HTML."""
    words = html.escape(f"{event.stage} {event.detail}".strip())
    if not event.total:
        return f"<div>{words}</div>"
    return f'<div><progress value="{event.done}" max="{event.total}"></progress> {words}</div>'
