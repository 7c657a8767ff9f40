"""The list of commands."""

from __future__ import annotations

import typer

from viewkeeper.cli import (
    advise,
    bench,
    datalog,
    demo,
    manage,
    publishing,
    serve,
    show,
    sql,
    upkeep,
    views,
)
from viewkeeper.cli.spark_options import with_spark_options

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
    manage.create,
    manage.drop,
    manage.changes,
    manage.vacuum,
    upkeep.verify,
    upkeep.compact,
    upkeep.extend,
    advise.advise,
    publishing.publish,
    publishing.unpublish,
    serve.serve,
    demo.demo,
    bench.bench,
)

for command in COMMANDS:
    app.command()(with_spark_options(command))


def main() -> None:
    app()
