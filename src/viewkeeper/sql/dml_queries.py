"""DML as queries: which rows a statement deletes and which it inserts.

    UPDATE t SET a = e WHERE c    deletes  SELECT * FROM t WHERE c
                                  inserts  SELECT …, e AS a, … FROM t WHERE c

Each query gives full rows, with the table's columns in order, at the state before the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from viewkeeper.algebra.schema import TableSchema
from viewkeeper.catalog.names import shown_schema
from viewkeeper.errors import InvalidSQL, NotDeterministic, UnknownColumn
from viewkeeper.sql.aggregate_calls import is_random
from viewkeeper.sql.known_relations import KnownRelations, did_you_mean
from viewkeeper.sql.merge import merge_queries
from viewkeeper.sql.parse import parse_one
from viewkeeper.sql.select_parts import identifier
from viewkeeper.sql.statements import Delete, Insert, Merge, Update


@dataclass(frozen=True)
class ChangeQueries:
    """`deletes` and `inserts` are Spark SQL in the user's names; None where there is nothing of the kind."""

    table: str
    deletes: str | None
    inserts: str | None


def change_queries(statement: Insert | Delete | Update | Merge, catalog: KnownRelations) -> ChangeQueries:
    schema = shown_schema(catalog.schema(statement.table))
    match statement:
        case Insert():
            return ChangeQueries(schema.name, None, _inserted(statement, schema))
        case Delete():
            return ChangeQueries(schema.name, _selected(schema, statement.alias, statement.where), None)
        case Update():
            return _updated(statement, schema)
        case Merge():
            for clause in statement.clauses:
                _check_names(schema, tuple(name for name, _ in clause.assignments))
            return ChangeQueries(schema.name, *merge_queries(statement, schema))
        case _:
            assert_never(statement)


def quoted(name: str) -> str:
    return identifier(name).sql(dialect="spark")


def _source(schema: TableSchema, alias: str | None) -> str:
    return f"{quoted(schema.name)} AS {quoted(alias or schema.name)}"


def _selected(schema: TableSchema, alias: str | None, where: str | None) -> str:
    columns = ", ".join(f"{quoted(alias or schema.name)}.{quoted(c.name)}" for c in schema.columns)
    return f"SELECT {columns} FROM {_source(schema, alias)}" + _where(where)


def _where(condition: str | None) -> str:
    return f" WHERE {condition}" if condition else ""


def _updated(statement: Update, schema: TableSchema) -> ChangeQueries:
    """Old rows out, new rows in; the expressions see the old values."""
    _check_names(schema, tuple(name for name, _ in statement.assignments))
    if statement.where is not None:
        check_repeatable(statement.where)
    new = {name.lower(): value for name, value in statement.assignments}
    alias = quoted(statement.alias or schema.name)
    items = [
        f"{new.get(c.name.lower(), f'{alias}.{quoted(c.name)}')} AS {quoted(c.name)}" for c in schema.columns
    ]
    inserts = f"SELECT {', '.join(items)} FROM {_source(schema, statement.alias)}" + _where(statement.where)
    return ChangeQueries(schema.name, _selected(schema, statement.alias, statement.where), inserts)


def _inserted(statement: Insert, schema: TableSchema) -> str:
    if statement.by_name:
        return statement.query
    names = _check_names(schema, statement.columns) or tuple(c.name for c in schema.columns)
    _check_width(statement, schema, names)
    given = {name.lower() for name in names}
    listed = ", ".join(quoted(name) for name in names)
    items = []
    for c in schema.columns:
        missing = f"CAST(NULL AS {c.type}) AS {quoted(c.name)}"
        items.append(f"source.{quoted(c.name)}" if c.name.lower() in given else missing)
    return f"SELECT {', '.join(items)} FROM ({statement.query}) AS source({listed})"


def _check_width(statement: Insert, schema: TableSchema, names: tuple[str, ...]) -> None:
    """The query has as many columns as it must, as far as the text shows it."""
    from sqlglot import exp

    tree = parse_one(statement.query)
    if isinstance(tree, exp.Values):
        widths = {len(r.expressions) if isinstance(r, exp.Tuple) else 1 for r in tree.expressions}
    elif isinstance(tree, exp.Query) and not tree.is_star:
        widths = {len(tree.selects)}
    else:
        return
    if widths != {len(names)}:
        wide = " and ".join(str(width) for width in sorted(widths))
        raise InvalidSQL(
            f"INSERT INTO {schema.name} gives {wide} values for {len(names)} columns.",
            f"The columns are {', '.join(names)}.",
            "Give one value for each column, or list the columns after the table's name.",
            table=schema.name,
        )


def _check_names(schema: TableSchema, names: tuple[str, ...]) -> tuple[str, ...]:
    known = {c.name.lower(): c.name for c in schema.columns}
    seen: set[str] = set()
    for name in names:
        if name.lower() not in known:
            raise UnknownColumn(
                f"The table {schema.name} has no column {name}.",
                hint=did_you_mean(name, known.values()),
                table=schema.name,
                columns=(name,),
            )
        if name.lower() in seen:
            raise InvalidSQL(f"The column {name} is given twice.", table=schema.name, columns=(name,))
        seen.add(name.lower())
    return tuple(known[name.lower()] for name in names)


def check_repeatable(condition: str) -> None:
    """A condition that is evaluated twice must not throw dice."""
    for node in parse_one(condition).walk():
        if is_random(node):
            raise NotDeterministic(
                f"{node.sql(dialect='spark')} picks rows by chance.",
                hint="Store the rows to change in a table first.",
            )
