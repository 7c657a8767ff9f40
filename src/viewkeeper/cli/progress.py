"""A progress bar per stage of a long operation, on stderr and only where a person looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from viewkeeper.cli.output import stderr


class Event(Protocol):
    """What a warehouse tells of its work."""

    @property
    def stage(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


Listener = Callable[[Event], None]


@contextmanager
def bars(visible: bool) -> Iterator[Listener | None]:
    """A listener that draws bars while the context lasts; None where nobody would see them."""
    target = stderr()
    if not visible or not target.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=target, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def listen(event: Event) -> None:
            if event.stage not in tasks:
                tasks[event.stage] = progress.add_task(event.stage, total=event.total)
            text = escape(f"{event.stage} {event.detail}".strip())
            progress.update(tasks[event.stage], description=text, completed=event.done, total=event.total)

        yield listen
