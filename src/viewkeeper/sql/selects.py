"""Queries of strangers: a SELECT over what a warehouse has, and nothing that leaves it.

Refused are other statements, tables by path or with a qualifier, functions that read files or call Java,
functions that Spark does not have of itself, `TRANSFORM … USING`, which runs a command, and `${…}`, which
Spark replaces by its settings and by the variables of its environment.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from viewkeeper.catalog.catalog import Catalog
from viewkeeper.errors import InvalidSQL, Unsupported
from viewkeeper.sql.dialect import ViewkeeperSpark
from viewkeeper.sql.header import split_statements, tokens_of
from viewkeeper.sql.splice import tables_read
from viewkeeper.sql.statements import Query, parse_statement

LEAVING = re.compile(
    r"(try_)?(java_method|reflect)|.*read_.*|.*_files?|cloud_files|input_file_.*|load_.*"
    r"|(from|to|schema_of)_(xml|avro|protobuf)|xpath.*|(http|ai|vector)_.*|secret|try_secret"
    r"|python_.*|remote_query|session_window_config|current_(user|catalog|database|schema)|user|session_user"
    r"|identifier|version|java_.*|jvm_.*|sql_keywords|event_log|get_.*_files|sleep|raise_error|assert_true|range"
)
"""Functions that read files or settings, that call code, or that tell of the machine; `range` makes rows
without end."""

_CODE = re.compile(
    r"\b(?:(?:try_)?reflect|java_method)\s*`?\s*(?:/\*.*?\*/\s*)*\(|\busing\b(?!\s*\()", re.I | re.S
)
"""Looked for in the whole text, whatever the parser makes of it: Java by its name, and a USING that is no
list of columns."""


def checked_select(sql: str, catalog: Catalog, functions: Collection[str]) -> str:
    """The one query that a text is; refuses whatever could leave the warehouse.

    `functions` are the names, in lower case, of those that Spark has of itself.
    """
    if "${" in sql:
        raise _refused("it has ${…}, which Spark would replace", "Write the value itself.")
    if _CODE.search(sql):
        raise _refused("it calls code outside of Spark's SQL", "Leave out reflect, and USING without a list.")
    statements = split_statements(sql)
    if len(statements) != 1:
        raise InvalidSQL(f"There are {len(statements)} statements here.", hint="Ask one query at a time.")
    [text] = statements
    if not isinstance(parse_statement(text), Query):
        raise _refused("it is not a query", "Ask with SELECT, WITH, VALUES or FROM.")
    tree = _parsed(text)
    _check_tables(tree)
    _check_functions(tree, text, functions)
    for name in tables_read(text):
        catalog.schema(name)
    return text


def _parsed(sql: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(sql, dialect=ViewkeeperSpark)
    except SqlglotError as error:
        raise InvalidSQL("This SQL cannot be parsed.", str(error)) from error


def _check_tables(tree: exp.Expr) -> None:
    """Only plain names: parquet.`/a/path` and catalog.schema.table are none."""
    if not isinstance(tree, exp.Query | exp.Values) or tree.find(exp.Into, exp.Command, exp.Parameter):
        raise _refused("it is not a query", "Ask with SELECT.")
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            raise _refused("it reads from a function", "Read tables and views.")
        if table.args.get("db") is not None or table.args.get("catalog") is not None:
            raise _refused(f"{table.sql('spark')} is not a table or view here", "Names have no qualifier.")


def _check_functions(tree: exp.Expr, sql: str, functions: Collection[str]) -> None:
    """All that is called: what a name stands for before a parenthesis, however it is quoted, and what the
    parser does not know must be Spark's own."""
    tokens = tokens_of(sql)
    called = {one.text.lower() for one, after in pairwise(tokens) if after.text == "("}
    unknown = {str(one.name).lower() for one in tree.find_all(exp.Anonymous)}
    for name in sorted(called | unknown):
        if LEAVING.fullmatch(name):
            raise _refused(f"the function {name} is not for queries from outside", "Leave it out.")
    for name in sorted(unknown - set(functions)):
        raise _refused(f"{name} is not a function of Spark", "Use Spark's own functions.")


def _refused(why: str, hint: str) -> Unsupported:
    return Unsupported(f"This is not run: {why}.", hint=hint)
