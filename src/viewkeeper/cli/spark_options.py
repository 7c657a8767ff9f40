"""`--master`, `--remote` and `--conf`, which every command takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

PANEL = "Spark"

Master = Annotated[
    str | None, typer.Option(help="Where Spark runs: local[4], spark://…, yarn.", rich_help_panel=PANEL)
]
Remote = Annotated[
    str | None, typer.Option(help="A Spark Connect server: sc://host:15002.", rich_help_panel=PANEL)
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be repeated.", rich_help_panel=PANEL),
]

_OPTIONS = {"master": Master, "remote": Remote, "conf": Conf}


def with_spark_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options; the session that it starts is as they say."""

    @functools.wraps(command)
    def run(
        *args: Any,
        master: str | None = None,
        remote: str | None = None,
        conf: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        ask_for(master, remote, conf or [])
        command(*args, **kwargs)

    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    return run


def ask_for(master: str | None, remote: str | None, conf: list[str]) -> None:
    """Notes what sessions are to be like; Spark is imported only where something is asked for."""
    if master and remote:
        raise typer.BadParameter("--master and --remote contradict each other")
    pairs = [one.partition("=") for one in conf]
    wrong = [name for name, sign, _ in pairs if not (name.startswith("spark.") and sign)]
    if wrong:
        raise typer.BadParameter(f"--conf takes spark.NAME=VALUE, not {wrong[0]!r}")
    if master or remote or conf:
        from viewkeeper.spark.start import Wanted, want

        want(Wanted(master, remote, {name: value for name, _, value in pairs}))
