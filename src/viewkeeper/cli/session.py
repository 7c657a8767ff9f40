"""Opens the warehouse for one command, and turns errors into messages and exit codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from viewkeeper.cli.output import print_error
from viewkeeper.cli.progress import bars
from viewkeeper.errors import ConflictError, ViewkeeperError

if TYPE_CHECKING:
    from viewkeeper.inspect.status import Inspected
    from viewkeeper.warehouse import Warehouse

FAILED = 1
DIFFERENT = 3
CONFLICT = 4


def open_warehouse(path: str) -> Warehouse:
    """Imported late, so that a mistake in the usage is told at once."""
    import viewkeeper

    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    return viewkeeper.open(path)


def open_log(path: str) -> Inspected:
    """The warehouse as its log tells of it: nothing of Spark is imported, and none is started."""
    from viewkeeper.inspect.status import Inspected
    from viewkeeper.reading import opened

    return Inspected(opened(path))


@contextmanager
def inspected(path: str, as_json: bool) -> Iterator[Inspected]:
    """The log of the warehouse at `path`."""
    with errors_shown(as_json):
        yield open_log(path)


@contextmanager
def opened(path: str, as_json: bool) -> Iterator[Warehouse]:
    """The warehouse at `path`, with progress bars, closed at the end."""
    with errors_shown(as_json), bars(visible=not as_json) as listener:
        warehouse = open_warehouse(path)
        try:
            if listener is not None:
                warehouse.on_progress = listener
            yield warehouse
        finally:
            warehouse.close()


@contextmanager
def errors_shown(as_json: bool) -> Iterator[None]:
    """Errors of Viewkeeper become a message and an exit code; others are bugs and keep their traceback."""
    try:
        yield
    except ViewkeeperError as error:
        print_error(error, as_json)
        raise typer.Exit(CONFLICT if isinstance(error, ConflictError) else FAILED) from error
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
