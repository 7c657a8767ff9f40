"""SQL statements of the warehouse as data: what was asked for, not yet done.

CREATE TABLE | CREATE MATERIALIZED VIEW | ALTER MATERIALIZED VIEW … AS | SET | UNSET
DROP | REFRESH | EXPLAIN | INSERT | DELETE | UPDATE | MERGE | any query
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from sqlglot import exp

from viewkeeper.algebra.schema import TableSchema
from viewkeeper.errors import InvalidSQL, Unsupported
from viewkeeper.sql.freshness import taken
from viewkeeper.sql.header import Header, split_statements, tokens_of
from viewkeeper.sql.parse import parse_one


@dataclass(frozen=True)
class Follows:
    """The table that others own of which a new one is a view: its format, where it is, what opens its
    storage, and whether keys are checked."""

    format: str
    location: str
    options: tuple[tuple[str, str], ...] = ()
    enforced: bool = True


@dataclass(frozen=True)
class CreateTable:
    """With a query and no columns, the query gives them; so does the table that it follows."""

    schema: TableSchema
    if_not_exists: bool = False
    query: str | None = None
    cluster_by: tuple[str, ...] = ()
    follows: Follows | None = None


@dataclass(frozen=True)
class CreateView:
    name: str
    query: str
    or_replace: bool = False
    if_not_exists: bool = False
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AlterView:
    name: str
    query: str


@dataclass(frozen=True)
class SetFreshness:
    """How fresh a view is to be from now on; no properties: as fresh as somebody asks for."""

    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class DropTable:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class DropView:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class Describe:
    name: str


@dataclass(frozen=True)
class RefreshViews:
    """No names: every view that is stale."""

    names: tuple[str, ...] = ()
    full: bool = False


@dataclass(frozen=True)
class ExplainView:
    name: str


@dataclass(frozen=True)
class Insert:
    """`columns` is empty when the query gives them all, in order; `rows` is the number of VALUES."""

    table: str
    columns: tuple[str, ...]
    query: str
    by_name: bool = False
    rows: int | None = None


@dataclass(frozen=True)
class Delete:
    table: str
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True)
class Update:
    table: str
    assignments: tuple[tuple[str, str], ...]
    where: str | None = None
    alias: str | None = None


@dataclass(frozen=True)
class MergeClause:
    """One WHEN: `when` is `matched`, `not matched` or `not matched by source`; the action is `update`,
    `insert` or `delete`. No assignments means every column of the source (`*`)."""

    when: str
    condition: str | None
    action: str
    assignments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Merge:
    table: str
    alias: str | None
    source: str
    source_alias: str | None
    on: str
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True)
class Query:
    sql: str


Statement: TypeAlias = (
    CreateTable
    | CreateView
    | AlterView
    | SetFreshness
    | DropTable
    | DropView
    | RefreshViews
    | Describe
    | ExplainView
    | Insert
    | Delete
    | Update
    | Merge
    | Query
)


def parse_statement(sql: str) -> Statement:
    """One statement of SQL."""
    header = Header(sql)
    if not header.word:
        raise InvalidSQL("There is no statement here.", hint="Write a query or a command.")
    view = _view_statement(header)
    if view is not None:
        return view
    from viewkeeper.sql import dml, tables

    tree = parse_one(without_enforced(sql))
    match tree:
        case exp.Query() | exp.Values():
            return Query(header.rest())
        case exp.Create(kind="TABLE"):
            return tables.create_table(tree, sql)
        case exp.Create(kind="VIEW"):
            raise Unsupported("Views without rows are not kept here.", hint="Write CREATE MATERIALIZED VIEW.")
        case exp.Describe(this=exp.Table(db="")):
            return Describe(tree.this.name)
        case exp.Drop(kind="TABLE"):
            return DropTable(_only_name(tree), bool(tree.args.get("exists")), bool(tree.args.get("cascade")))
        case exp.Insert():
            return dml.insert(tree, sql)
        case exp.Delete():
            return dml.delete(tree)
        case exp.Update():
            return dml.update(tree)
        case exp.Merge():
            return dml.merge(tree)
        case exp.TruncateTable():
            return Delete(tree.expressions[0].name)
        case _:
            first = sql.strip().split(None, 1)[0].upper()
            raise Unsupported(
                f"{first} is not a statement of Viewkeeper.",
                sql.strip()[:200],
                "CREATE, ALTER, DROP, REFRESH, EXPLAIN, DESCRIBE, INSERT, UPDATE, DELETE and MERGE are.",
            )


def without_enforced(sql: str) -> str:
    """The text without ENFORCED, which is what keys are unless NOT stands before it."""
    tokens = tokens_of(sql)
    kept = sql
    for before, token in reversed(list(pairwise(tokens))):
        if token.text.upper() == "ENFORCED" and before.text == ")":
            kept = kept[: token.start] + kept[token.end + 1 :]
    return kept


def _only_name(tree: exp.Drop) -> str:
    tables = tree.args.get("tables") or [tree.this]
    if len(tables) != 1 or tables[0].db:
        raise Unsupported("DROP takes one plain name.", tree.sql(dialect="spark"))
    return str(tables[0].name)


def _view_statement(header: Header) -> Statement | None:
    """The statements that only Viewkeeper has."""
    if header.take("REFRESH"):
        return _refresh(header)
    if header.word == "EXPLAIN":
        return _explain(Header(header.sql[header.tokens[0].end + 1 :]))
    if header.take("ALTER"):
        return _alter(header)
    if header.take("DROP", "MATERIALIZED", "VIEW") or header.take("DROP", "VIEW"):
        return _drop_view(header)
    if header.take("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"):
        return _create_view(header, or_replace=True)
    if header.take("CREATE", "MATERIALIZED", "VIEW"):
        return _create_view(header, or_replace=False)
    return None


def _create_view(header: Header, or_replace: bool) -> CreateView:
    if_not_exists = header.take("IF", "NOT", "EXISTS")
    name = header.name()
    properties: tuple[tuple[str, str], ...] = ()
    while found := taken(header) or (_properties(header) if header.take("TBLPROPERTIES") else ()):
        properties += found
    header.expect("AS")
    return CreateView(name, _query(header), or_replace, if_not_exists, properties)


def _query(header: Header) -> str:
    query = header.rest()
    if not query:
        raise header.wrong("a query")
    return query


def _properties(header: Header) -> tuple[tuple[str, str], ...]:
    header.expect("(")
    found: list[tuple[str, str]] = []
    while not header.take(")"):
        key = header.text()
        header.expect("=")
        found.append((key, header.text()))
        if not header.take(",") and header.word != ")":
            raise header.wrong(", or )")
    return tuple(found)


def _alter(header: Header) -> AlterView | SetFreshness:
    if not (header.take("MATERIALIZED", "VIEW") or header.take("VIEW")):
        raise Unsupported("Only views can be altered.", hint="ALTER MATERIALIZED VIEW v AS SELECT …")
    name = header.name()
    if header.take("SET"):
        properties = taken(header)
        if not properties:
            raise header.wrong("TARGET_LAG or SCHEDULE")
        header.end()
        return SetFreshness(name, properties)
    if header.take("UNSET") or header.take("DROP"):
        if not (header.take("TARGET_LAG") or header.take("SCHEDULE")):
            raise header.wrong("TARGET_LAG or SCHEDULE")
        header.end()
        return SetFreshness(name)
    header.expect("AS")
    return AlterView(name, _query(header))


def _drop_view(header: Header) -> DropView:
    if_exists = header.take("IF", "EXISTS")
    name = header.name()
    cascade = header.take("CASCADE")
    header.take("RESTRICT")
    header.end()
    return DropView(name, if_exists, cascade)


def _refresh(header: Header) -> RefreshViews:
    if not (header.take("MATERIALIZED", "VIEW") or header.take("MATERIALIZED", "VIEWS")):
        raise header.wrong("MATERIALIZED VIEW")
    names: list[str] = []
    while header.word and header.word != "FULL":
        names.append(header.name())
        if not header.take(","):
            break
    full = header.take("FULL")
    header.end()
    return RefreshViews(tuple(names), full)


def _explain(header: Header) -> ExplainView:
    if not (header.take("MATERIALIZED", "VIEW") or header.take("VIEW")):
        raise Unsupported("EXPLAIN takes a materialized view.", hint="EXPLAIN MATERIALIZED VIEW v")
    name = header.name()
    header.end()
    return ExplainView(name)


__all__ = ["Statement", "parse_statement", "split_statements"]
