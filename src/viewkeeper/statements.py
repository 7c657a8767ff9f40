"""Running SQL statements: each parsed form goes to the operation that does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, assert_never

from viewkeeper.advise.workload import QueryLog
from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.answers import answered
from viewkeeper.catalog.freshness import SCHEDULE, TARGET_LAG
from viewkeeper.catalog.names import shown_columns
from viewkeeper.collected import PendingChange
from viewkeeper.ddl import definitions
from viewkeeper.ddl.following import by_use
from viewkeeper.ddl.freshness import set_freshness
from viewkeeper.errors import AlreadyExists
from viewkeeper.inspect.describe import described
from viewkeeper.spark.frames import slot
from viewkeeper.spark.session import DataFrame
from viewkeeper.sql.dml_queries import change_queries
from viewkeeper.sql.fallible import may_fail
from viewkeeper.sql.splice import spliced, tables_read
from viewkeeper.sql.statements import (
    AlterView,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    DropTable,
    DropView,
    ExplainView,
    Follows,
    Insert,
    Merge,
    Query,
    RefreshViews,
    SetFreshness,
    Update,
    parse_statement,
)
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import RelationState
from viewkeeper.transactions import commit_changes
from viewkeeper.workspace import Workspace

if TYPE_CHECKING:
    from viewkeeper.warehouse import Warehouse


@dataclass(frozen=True)
class StatementResult:
    """What a statement that is no query did."""

    message: str
    version: int
    details: Any = None

    def __str__(self) -> str:
        return self.message


def run(
    warehouse: Warehouse, work: Workspace, text: str, *, use_views: bool = True, stale: bool = False
) -> DataFrame | StatementResult:
    """Parses one statement and runs it. Queries may be answered from views, if allowed from stale ones."""
    statement = parse_statement(text)
    match statement:
        case Query():
            entry = work.log.latest()
            frame = query(work, statement.sql, entry)
            if work.logs_queries:
                QueryLog(work.log.folder).note(statement.sql)
            return answered(work, statement.sql, entry, frame, stale) if use_views else frame
        case CreateTable():
            return _create_table(work, statement)
        case CreateView():
            return _create_view(work, statement)
        case AlterView():
            version = definitions.alter_view(work, statement.name, statement.query)
            return StatementResult(f"Altered view {statement.name}.", version)
        case SetFreshness():
            version = set_freshness(work, statement.name, statement.properties)
            return StatementResult(f"Altered view {statement.name}.", version)
        case DropTable():
            version = definitions.drop(work, statement.name, statement.cascade, statement.if_exists, "table")
            return StatementResult(f"Dropped table {statement.name}.", version)
        case DropView():
            version = definitions.drop(work, statement.name, statement.cascade, statement.if_exists, "view")
            return StatementResult(f"Dropped view {statement.name}.", version)
        case Describe():
            return described(work, statement.name)
        case RefreshViews():
            report = warehouse.refresh(*statement.names, policy="full" if statement.full else None)
            done = ", ".join(f"{entry.view} ({entry.strategy})" for entry in report) or "nothing"
            return StatementResult(f"Refreshed {done}.", report.version, report)
        case ExplainView():
            explanation = warehouse.explain(statement.name)
            return StatementResult(str(explanation), warehouse.version, explanation)
        case Insert() | Delete() | Update() | Merge():
            return _change(work, statement)
        case _:
            assert_never(statement)


def query(work: Workspace, sql: str, entry: Entry) -> DataFrame:
    """Any Spark SQL over the tables and views of one committed state."""
    schemas = {name: entry.catalog.schema(name) for name in tables_read(sql)}
    states = {name: entry.relations[schema.name] for name, schema in schemas.items()}
    columns = (column for schema in schemas.values() for column in shown_columns(schema.columns))
    settled = any(state.has_gone_rows for state in states.values()) and may_fail(sql, columns)
    frames = {name: work.reader.visible(state, settled) for name, state in states.items()}
    return work.engine.text(spliced(sql, slot), frames)


def _create_table(work: Workspace, statement: CreateTable) -> StatementResult:
    name = statement.schema.name
    if statement.follows is not None:
        return _follow(work, statement, statement.follows)
    schema: TableSchema | str = statement.schema
    if statement.cluster_by:
        clustering = ("viewkeeper.cluster_by", ", ".join(map(inner_column, statement.cluster_by)))
        schema = replace(statement.schema, properties=(*statement.schema.properties, clustering))
    rows = None if statement.query is None else query(work, statement.query, work.log.latest())
    if rows is not None and not statement.schema.columns:
        schema = name
    try:
        version = definitions.create_table(work, schema, rows)
    except AlreadyExists:
        if not statement.if_not_exists:
            raise
        return StatementResult(f"Table {name} exists.", work.log.latest().version)
    return StatementResult(f"Created table {name}.", version)


def _follow(work: Workspace, statement: CreateTable, follows: Follows) -> StatementResult:
    name, latest = statement.schema.name, work.log.latest()
    if statement.if_not_exists and latest.catalog.spelled(name):
        return StatementResult(f"Table {name} exists.", latest.version)
    storage, read = by_use(follows.format, dict(follows.options))
    given = follows.location, follows.format, storage, follows.enforced, None, read
    version = definitions.follow(work, statement.schema, *given)
    return StatementResult(f"Following {name}.", version)


def _create_view(work: Workspace, statement: CreateView) -> StatementResult:
    name, properties = statement.name, dict(statement.properties)
    known = work.log.latest().catalog.spelled(name)
    if known and statement.if_not_exists:
        return StatementResult(f"View {name} exists.", work.log.latest().version)
    if known and statement.or_replace:
        fresh = tuple(pair for pair in statement.properties if pair[0] in (TARGET_LAG, SCHEDULE))
        version = definitions.alter_view(work, name, statement.query, fresh)
        return StatementResult(f"Replaced view {name}.", version)
    version = definitions.create_views(
        work,
        {name: statement.query},
        properties.get("viewkeeper.refresh", "deferred"),
        properties.get("viewkeeper.policy", "auto"),
        properties.get("viewkeeper.populate", "true").lower() == "true",
        statement.properties,
    )
    return StatementResult(f"Created view {name}.", version)


def _change(work: Workspace, statement: Insert | Delete | Update | Merge) -> StatementResult:
    """DML as a transaction whose rows are queries over the state that it changes."""
    entry = work.log.latest()
    catalog = entry.catalog
    queries = change_queries(statement, catalog)
    table = definitions.table_named(catalog, queries.table).name
    changes, updates = [], _updates(statement, catalog.tables[table])
    for kind, sql in (("delete", queries.deletes), ("insert", queries.inserts)):
        if sql is not None:
            rows, number = _rows_of(work, sql), _number(statement, entry.relations[table])
            changes.append(PendingChange(kind, table, rows, updates=updates, number=number))  # type: ignore[arg-type]
    before = work.log.latest().version
    version = commit_changes(work, changes)
    return StatementResult(
        f"Changed {table}." if version != before else f"Nothing to change in {table}.", version
    )


def _number(statement: Insert | Delete | Update | Merge, state: RelationState) -> int | None:
    """How many rows a statement deletes, or inserts, at most, where that is known."""
    match statement:
        case Insert():
            return statement.rows
        case Delete() | Update():
            return state.stored_rows
        case Merge():
            return None


def _updates(statement: Insert | Delete | Update | Merge, schema: TableSchema) -> tuple[str, ...] | None:
    """The columns that an UPDATE sets, where the rows keep their keys."""
    if not isinstance(statement, Update) or not schema.key:
        return None
    names = {schema.column(inner_column(name)).name for name, _ in statement.assignments}
    return None if names & {schema.column(name).name for name in schema.key} else tuple(sorted(names))


def _rows_of(work: Workspace, sql: str) -> Any:
    return lambda entry: query(work, sql, entry)


__all__ = ["StatementResult", "query", "run"]
