"""`viewkeeper serve`: views that keep themselves fresh, and a page to watch them on."""

from __future__ import annotations

import os
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Annotated

import typer

from viewkeeper.cli.options import DEFAULT_WAREHOUSE, WarehousePath
from viewkeeper.cli.session import errors_shown, open_warehouse
from viewkeeper.cli.via import TOKEN
from viewkeeper.errors import InvalidOption, NotFound

Host = Annotated[str, typer.Option(help="The address to listen on; others than this machine see it then.")]
Port = Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)]
Poll = Annotated[float, typer.Option(help="Seconds between two looks at the warehouse.", min=0.1)]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="A file with the token that changes need; else VIEWKEEPER_TOKEN.", dir_okay=False),
]
AllowHost = Annotated[list[str] | None, typer.Option(help="Another name that the service is asked by.")]
OnlyShow = Annotated[bool, typer.Option("--only-show", help="Refresh nothing by itself.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
GraceSeconds = Annotated[
    float, typer.Option(help="When it is told to end, a refresh that runs may finish in so long.", min=0)
]
QuerySeconds = Annotated[float, typer.Option(help="A query may take so long.", min=1)]


def serve(
    warehouse: WarehousePath = DEFAULT_WAREHOUSE,
    host: Host = "127.0.0.1",
    port: Port = 8084,
    poll: Poll = 2.0,
    token_file: TokenFile = None,
    allow_host: AllowHost = None,
    only_show: OnlyShow = False,
    query_seconds: QuerySeconds = 60.0,
    grace_seconds: GraceSeconds = 30.0,
    open: Open = False,
) -> None:
    """Keep views as fresh as they ask to be, and show them on a page and by HTTP."""
    with errors_shown(as_json=False):
        if find_spec("starlette") is None or find_spec("uvicorn") is None:
            raise NotFound("The service is not installed.", hint="pip install 'viewkeeper[serve]'")
        from viewkeeper.serve.guard import access, is_loopback
        from viewkeeper.serve.logs import configure
        from viewkeeper.serve.server import serve as run

        token = given_token(token_file)
        configure()
        with open_warehouse(warehouse) as wh:
            shown = "127.0.0.1" if is_loopback(host) or host in ("", "0.0.0.0") else host
            changes = "with its token" if token else "no: it is read-only without a token"
            print(f"Viewkeeper: http://{shown}:{port}  (changes: {changes})", file=sys.stderr, flush=True)
            if open:
                Timer(1.0, webbrowser.open, (f"http://{shown}:{port}",)).start()
            allowed = access(host, allow_host or (), token)
            run(wh.path, wh.spark, allowed, host, port, poll, not only_show, query_seconds, grace_seconds)


def given_token(file: Path | None) -> str:
    """The token of a file, or of the environment: none stands where other users of the machine see it."""
    if file is None:
        return os.environ.get(TOKEN, "").strip()
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotFound(f"The token file {file} cannot be read.", str(error)) from error
    if len(token) < 16:
        raise InvalidOption(
            f"The token in {file} is too short.", hint="Make one: openssl rand -hex 16 > token"
        )
    return token
