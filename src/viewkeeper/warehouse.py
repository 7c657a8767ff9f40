"""The public object: a warehouse of tables and materialized views. Each method is a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from types import TracebackType
from typing import Any

from viewkeeper import housekeeping, ingestion, notebook, statements
from viewkeeper import published as publications
from viewkeeper.advise.advice import Advice
from viewkeeper.advise.advisor import advise
from viewkeeper.advise.workload import Workload
from viewkeeper.algebra.schema import TableSchema
from viewkeeper.answers import QueryExplanation, explain_query
from viewkeeper.catalog.catalog import view_named
from viewkeeper.catalog.freshness import asked as fresh
from viewkeeper.collected import Transaction
from viewkeeper.ddl import definitions, programs
from viewkeeper.ddl.following import columns_listed
from viewkeeper.inspect import status as inspection
from viewkeeper.inspect.lattices import drawn
from viewkeeper.inspect.status import HistoryEntry, Status
from viewkeeper.inspect.verification import Verification, verify
from viewkeeper.maintenance.lattice.draw import Drawing
from viewkeeper.opening import opened
from viewkeeper.planning.explanation import Explanation
from viewkeeper.planning.planner import checked_policy
from viewkeeper.published import PublishedCheck
from viewkeeper.publishing.options import PUBLISH, VECTORS
from viewkeeper.refresh.explain import explain
from viewkeeper.refresh.life import propagate, refresh
from viewkeeper.refresh.measure import measured
from viewkeeper.refresh.state import Request
from viewkeeper.report import Report
from viewkeeper.spark.change_rows import Reading
from viewkeeper.spark.feed import change_feed
from viewkeeper.spark.session import DataFrame, SparkSession, StreamingQuery
from viewkeeper.spark.start import is_started, started
from viewkeeper.storage.clocks import instant_of
from viewkeeper.storage.commits import states_between
from viewkeeper.transactions import commit_changes
from viewkeeper.views import MAX_ITERATIONS, STRATEGY, checked_share
from viewkeeper.workspace import ProgressEvent

RETENTION = timedelta(days=7)
"""How long deletions are remembered, unless told otherwise."""


class Warehouse:
    """Tables, and views that are kept equal to their queries. Made by `viewkeeper.open`."""

    def __init__(
        self,
        path: str,
        spark: SparkSession | None = None,
        log_queries: bool = False,
        storage_options: Mapping[str, str] | None = None,
        publish: bool = False,
    ) -> None:
        self._owns_spark = spark is None and not is_started()
        self.spark = spark or started()
        self._work = opened(path, self.spark, log_queries, storage_options, publish)
        self.path = self._work.log.folder.url
        self._work.on_progress = notebook.listener()

    @property
    def version(self) -> int:
        """The newest committed version."""
        return self._work.log.latest().version

    @property
    def on_progress(self) -> Callable[[ProgressEvent], None] | None:
        return self._work.on_progress

    @on_progress.setter
    def on_progress(self, listener: Callable[[ProgressEvent], None] | None) -> None:
        self._work.on_progress = listener

    def sql(self, text: str, *, use_views: bool = True, allow_stale: bool = False) -> Any:
        """Runs one statement; a query gives a DataFrame, anything else says what it did.

        A query that groups base tables is answered from a view that derives it, if that is up to date or
        `allow_stale`; `use_views=False` reads just what the query names.
        """
        return statements.run(self, self._work, text, use_views=use_views, stale=allow_stale)

    def create_table(
        self, name: str | TableSchema, rows: Any = None, key: Sequence[str] = (), *, check: bool = True
    ) -> int:
        """A table filled from a DataFrame, Arrow, pandas, rows, or a CSV or Parquet path."""
        return definitions.create_table(self._work, name, rows, key, check)

    def follow(
        self,
        name: str,
        path: str = "",
        *,
        format: str = "delta",
        key: Sequence[str] = (),
        storage_options: Mapping[str, str] | None = None,
        enforced: bool = True,
        version: int | None = None,
        schema: str = "",
        options: Mapping[str, str] | None = None,
    ) -> int:
        """A table that others own and change; `refresh` finds out what. `enforced`: the key is checked.

        `format="catalog"`: `path` is the name of a table in the session's catalog, by default the same name.
        Of a folder of files (`format` parquet, csv or json), `schema` lists the columns like CREATE TABLE,
        and `options` say how Spark reads the files.
        """
        table = TableSchema(name, columns_listed(schema), tuple(key))
        given = storage_options, enforced, version, options
        return definitions.follow(self._work, table, str(path), format, *given)

    def create_view(
        self,
        name: str,
        query: str,
        *,
        refresh: str = "deferred",
        policy: str = "auto",
        strategy: str = "auto",
        populate: bool = True,
        publish: bool = False,
        target_lag: str | None = None,
        schedule: str | None = None,
    ) -> int:
        """A materialized view of a Spark SQL query; `publish`: also as a Delta table for other readers.

        `viewkeeper serve` keeps it as fresh as `target_lag` ("1 minute", "downstream") or `schedule`
        ("0 6 * * *", "every 2 hours") ask for.
        """
        return self.create_views(
            {name: query},
            refresh=refresh,
            policy=policy,
            strategy=strategy,
            populate=populate,
            publish=publish,
            target_lag=target_lag,
            schedule=schedule,
        )

    def create_views(
        self,
        queries: Mapping[str, str],
        *,
        refresh: str = "deferred",
        policy: str = "auto",
        strategy: str = "auto",
        populate: bool = True,
        publish: bool = False,
        target_lag: str | None = None,
        schedule: str | None = None,
    ) -> int:
        """Materialized views by their names, in one commit: filled together, and free to read each other."""
        asked = [] if strategy == "auto" else [(STRATEGY, strategy)]
        asked += [(PUBLISH, "true")] if publish else []
        asked += fresh(target_lag, schedule)
        return definitions.create_views(self._work, queries, refresh, policy, populate, asked)

    def alter_view(self, name: str, query: str) -> int:
        """Gives a view another query."""
        return definitions.alter_view(self._work, name, query)

    def datalog(self, text: str, *, max_iterations: int | None = None) -> int:
        """One materialized view per predicate that the rules of the text derive."""
        limit = [] if max_iterations is None else [(MAX_ITERATIONS, str(max_iterations))]
        return programs.create_program(self._work, text, limit)

    def add_rule(self, text: str) -> int:
        """Adds rules to the Datalog program of the warehouse; its views are maintained."""
        return programs.add_rules(self._work, text)

    def drop_rule(self, text: str) -> int:
        """Drops rules, written as they were defined; the views are maintained."""
        return programs.drop_rules(self._work, text)

    def drop(self, name: str, *, cascade: bool = False) -> int:
        """Drops a table or view; `cascade` drops the views that read it too."""
        return definitions.drop(self._work, name, cascade)

    def transaction(self) -> Transaction:
        """Changes to several tables that are applied together when the block ends."""
        return Transaction(self._table_name, lambda changes: commit_changes(self._work, changes))

    def apply_changes(
        self,
        name: str,
        rows: Any,
        *,
        order: str | Sequence[str] = (),
        delete: str | None = None,
        envelope: str | None = None,
        retention: timedelta | None = RETENTION,
    ) -> int:
        """Applies changes of keyed rows, in whatever order they come: the last of each key counts.

        `order`: the columns that say which change is later. `delete`: the condition for a deletion.
        `envelope="debezium"`: the rows are messages with Debezium's JSON in `value`. `retention`: how long a
        deletion is remembered, for changes before it that come after it.
        """
        reading = Reading(_names(order), delete, envelope, _seconds(retention))
        return ingestion.apply_changes(self._work, rows, name, reading)

    def ingest(
        self,
        stream: DataFrame,
        name: str,
        mode: str = "append",
        *,
        order: str | Sequence[str] = (),
        delete: str | None = None,
        envelope: str | None = None,
        retention: timedelta | None = RETENTION,
        checkpoint: str | None = None,
        refresh: bool = False,
        trigger: Mapping[str, Any] | None = None,
    ) -> StreamingQuery:
        """Starts a query that applies a stream to a table: each micro-batch in one commit, exactly once.

        `mode`: "append", "upsert" by primary key, or "cdc": changes as by `apply_changes`. `refresh`: the
        views over the table after each batch. `trigger`: as `DataStreamWriter.trigger` takes it.
        """
        reading = Reading(_names(order), delete, envelope, _seconds(retention))
        return ingestion.ingest(self._work, stream, name, mode, reading, checkpoint, refresh, trigger)

    def refresh(
        self,
        *views: str,
        policy: str | None = None,
        use_lattice: bool = True,
        check: float | None = None,
        at: Mapping[str, int] | None = None,
        as_of: datetime | date | str | None = None,
    ) -> Report:
        """Brings the named views, or every stale one, up to date in one commit.

        `use_lattice=False`: each view from the base tables, none from another. `check`: which share of each
        changed view is compared with Spark's answer to its text before the commit, from 0 to 1. Followed
        tables are brought to their newest versions first, or to those that `at` names. Views that read the
        clock see one instant: `as_of`, or now.
        """
        catalog = self._work.log.latest().catalog
        checked_policy(policy or "auto")
        names = tuple(view_named(catalog, view).name for view in views)
        share = None if check is None else checked_share(check)
        known = tuple((catalog.spelled(table) or table, version) for table, version in (at or {}).items())
        instant = None if as_of is None else instant_of(as_of, self._work.engine.zone)
        return refresh(
            self._work, Request(names or None, policy, use_lattice, share, at=known, as_of=instant)
        )

    def propagate(self, *views: str, use_lattice: bool = True) -> Report:
        """Computes the summary-deltas of the named views, or of every stale one, for the next refresh.

        What readers see does not change; `refresh` then only takes them over.
        """
        catalog = self._work.log.latest().catalog
        names = tuple(view_named(catalog, view).name for view in views)
        return propagate(self._work, Request(names or None, use_lattice=use_lattice))

    def table(self, name: str, version: int | None = None) -> DataFrame:
        """The rows of a table or view as last published, or at an earlier version."""
        log = self._work.log
        entry = log.latest() if version is None else log.entry(version)
        return self._work.reader.declared(entry.relations[entry.catalog.schema(name).name])

    def changes(self, name: str, since: int, until: int | None = None) -> DataFrame:
        """The rows of a table or view that were inserted, deleted and updated between two versions."""
        before, after, _ = states_between(self._work.log, name, since, until)
        return change_feed(self._work.reader, before, after)

    def status(self) -> list[Status]:
        """Where every table and view stands."""
        return inspection.status(self._work.log)

    def history(self, view: str) -> list[HistoryEntry]:
        """What each commit did to a view."""
        return inspection.history(self._work.log, view)

    def verify(self, view: str, *, deep: bool = False, measure: bool = False) -> Verification:
        """Whether a view has the columns and rows that Spark answers to its text, at the state that it shows.

        `deep`: with the texts of the views that it reads, not their stored rows. `measure`: also run every
        strategy that could refresh it, and time them beside the one chosen.
        """
        named = view_named(self._work.log.latest().catalog, view)
        found = verify(self._work, named, deep)
        return replace(found, measured=measured(self._work, view)) if measure else found

    def publish(
        self,
        name: str,
        to: str | None = None,
        *,
        mode: str = VECTORS,
        cdf: bool = False,
        partition_by: Sequence[str] = (),
        cluster_by: Sequence[str] = (),
    ) -> str:
        """Keeps a plain Delta table equal to a table or view, for readers that know nothing of Viewkeeper.

        Returns its address: `published/NAME` in the warehouse, or `to`. `mode`: rows that go are marked by
        deletion vectors ("merge-on-read"), or their files are written anew ("copy-on-write"). `cdf`: with a
        change data feed.
        """
        how = {"mode": mode, "cdf": cdf, "partition_by": partition_by, "cluster_by": cluster_by}
        return publications.publish(self._work, name, to, **how)

    @property
    def published(self) -> dict[str, str]:
        """The addresses of the Delta tables of what is published, by name."""
        return publications.places(self._work)

    def unpublish(self, name: str) -> int:
        """Publishes a table or view no longer, and removes its Delta table."""
        return publications.unpublish(self._work, name)

    def verify_published(self, name: str) -> PublishedCheck:
        """Whether the Delta table of a table or view has the rows of the version that it shows."""
        return publications.verify_published(self._work, name)

    def explain(self, view: str) -> Explanation:
        """How a view is maintained, and what each way costs; given SQL, how a view of it would be."""
        return explain(self._work, view)

    def explain_query(self, sql: str, *, allow_stale: bool = False) -> QueryExplanation:
        """Which view answers a query, or why none does."""
        return explain_query(self._work, sql, stale=allow_stale)

    def lattice(self) -> Drawing:
        """Which views derive which: print it, or draw it with `to_svg` or `to_mermaid`."""
        return drawn(self._work.log.latest())

    def advise(
        self,
        workload: Workload | None = None,
        budget: int | None = None,
        *,
        most: int | None = None,
        refreshes: float = 1.0,
    ) -> Advice:
        """Which summaries to add, extend, keep and drop for a workload: texts of queries, or how often each
        is asked between so many `refreshes`; without one, the queries that were logged.

        `budget`: the rows that all summaries together may store. `most`: how many may be chosen.
        """
        return advise(self._work, workload, budget, most, refreshes)

    def extend_views(self) -> int:
        """Gives summaries the hidden columns that let more views derive from them, and fills those anew."""
        return definitions.extend_views(self._work)

    def compact(self, *names: str) -> int:
        """Folds the layers of the named relations, or of all, into their mains."""
        return housekeeping.compact(self._work, names)

    def vacuum(self, keep: int = 20) -> int:
        """Removes old versions, and the files that no kept version needs."""
        return housekeeping.vacuum(self._work, keep)

    def close(self) -> None:
        """Commits nothing any more, and ends the Spark session when it was started here."""
        self._work.log.close()
        if self._owns_spark:
            self.spark.stop()

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _table_name(self, name: str) -> str:
        return definitions.table_named(self._work.log.latest().catalog, name).name


def _names(order: str | Sequence[str]) -> tuple[str, ...]:
    return (order,) if isinstance(order, str) else tuple(order)


def _seconds(retention: timedelta | None) -> int | None:
    return None if retention is None else int(retention.total_seconds())
