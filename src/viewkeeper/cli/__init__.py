"""The command line: what a warehouse offers, from a shell.

One module per group of commands; `app.py` registers them. Exit codes, for scripts:

    0  done
    1  an error of Viewkeeper: the message is on stderr (with --json: an object on stdout)
    2  wrong usage of the command line
    3  `verify` found a view that differs from its recomputation
    4  another writer was first: try again
"""

from viewkeeper.cli.app import app, main

__all__ = ["app", "main"]
