"""The list of commands."""

from __future__ import annotations

import typer

from viewkeeper.cli import bench, datalog, demo, publishing, show, sql, upkeep, views

EXIT_CODES = """Exit codes: 0 done, 1 error, 2 wrong usage, 3 verify found a difference,
4 another writer was first (try again)."""

app = typer.Typer(
    name="viewkeeper",
    help="Materialized views on Apache Spark, kept fresh incrementally.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (
    sql.sql,
    datalog.datalog,
    views.refresh,
    views.status,
    views.history,
    show.show,
    views.explain,
    upkeep.verify,
    upkeep.compact,
    upkeep.extend,
    publishing.publish,
    publishing.unpublish,
    demo.demo,
    bench.bench,
)

for command in COMMANDS:
    app.command()(command)


def main() -> None:
    app()
