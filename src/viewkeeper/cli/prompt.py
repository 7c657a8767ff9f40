"""The interactive prompt: several lines until `;`, history over sessions, errors that do not end it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from viewkeeper.cli.output import console, print_error
from viewkeeper.cli.sql import run
from viewkeeper.errors import ViewkeeperError
from viewkeeper.sql.header import is_complete, split_statements

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse

LEAVE = frozenset({"exit", "quit", r"\q"})
HELP = "End a statement with ; and Enter. Leave with quit, exit or Ctrl-D; Ctrl-C drops what is typed."


def interact(wh: Warehouse, limit: int) -> None:
    """Reads and runs statements until the user leaves."""
    console().print(f"[dim]{HELP}[/]")
    session = prompt_session()
    while True:
        try:
            text = session.prompt("viewkeeper> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if leaves(text):
            return
        run_all(wh, text, limit)


def run_all(wh: Warehouse, text: str, limit: int) -> None:
    """Runs the statements of `text` up to the first that fails."""
    try:
        for statement in split_statements(text):
            run(wh, statement, limit, as_json=False)
    except ViewkeeperError as error:
        print_error(error, as_json=False)
    except KeyboardInterrupt:
        console().print("[dim]interrupted[/]")


def leaves(text: str) -> bool:
    return text.strip().rstrip(";").strip().lower() in LEAVE


def prompt_session() -> PromptSession[str]:
    return PromptSession(
        history=FileHistory(str(history_file())),
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=lambda width, _line, _wrapped: "... ".rjust(width),
    )


def history_file() -> Path:
    """Where shells' users expect state: $XDG_STATE_HOME or ~/.local/state."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = state / "viewkeeper"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "history"


def _keys() -> KeyBindings:
    """Enter runs a complete statement and otherwise begins a new line."""
    keys = KeyBindings()

    @Condition
    def ready() -> bool:
        from prompt_toolkit.application import get_app

        text = get_app().current_buffer.text
        return is_complete(text) or leaves(text)

    @keys.add("enter", filter=ready)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
