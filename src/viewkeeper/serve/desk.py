"""The warehouse as a service has it: sessions for each kind of work, which do not see each other's settings.

Refreshes have the session that was given, explanations and verifications one of their own each, and queries
from outside one that takes no paths. What the log alone can tell is read without Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.inspect.lattices import drawn
from viewkeeper.plain import finite
from viewkeeper.planning.explanation import Explanation
from viewkeeper.serve.chronicle import Chronicle
from viewkeeper.serve.jobs import Job, Jobs
from viewkeeper.spark.service import FOR_STRANGERS, beside, interrupt, own_functions, release, rows_in_time
from viewkeeper.spark.session import SparkSession
from viewkeeper.sql.selects import checked_select
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.objects import Folder
from viewkeeper.warehouse import Warehouse
from viewkeeper.workspace import ProgressEvent

Tell = Callable[[ProgressEvent], None]


class Desk:
    """What is asked of one warehouse, and who does it."""

    def __init__(self, path: str, spark: SparkSession, query_seconds: float = 60.0) -> None:
        self.query_seconds = query_seconds
        self.refreshing = Warehouse(path, spark)
        self.verifying, self.explaining = (Warehouse(path, beside(spark)) for _ in range(2))
        self.reading = Warehouse(path, beside(spark, FOR_STRANGERS))
        self.log = WarehouseLog(Folder(path))
        self.chronicle = Chronicle(self.log)
        self.jobs = Jobs()
        self._explained = threading.Lock()

    @property
    def entry(self) -> Entry:
        return self.log.latest()

    @cached_property
    def functions(self) -> frozenset[str]:
        return own_functions(self.reading.spark)

    def refresh(self, views: tuple[str, ...], policy: str | None, by: str) -> Job:
        """A refresh that is done when its turn comes; no views: all that are stale."""
        run = Job("refresh", views, by)
        self.jobs.start(run, lambda tell: self.refreshed(views, policy, tell))
        return run

    def refreshed(self, views: tuple[str, ...], policy: str | None, tell: Tell) -> Mapping[str, Any]:
        self.refreshing.on_progress = tell
        try:
            return finite(self.refreshing.refresh(*views, policy=policy).to_dict())  # type: ignore[no-any-return]
        finally:
            self.refreshing.on_progress = None

    def verify(self, view: str, by: str) -> Job:
        """A comparison of a view with its text."""
        run = Job("verify", (view,), by)
        self.jobs.start(run, lambda tell: self._verified(view, tell))
        return run

    def _verified(self, view: str, tell: Tell) -> Mapping[str, Any]:
        self.verifying.on_progress = tell
        return finite(self.verifying.verify(view).to_dict())  # type: ignore[no-any-return]

    def explain(self, view: str) -> Explanation:
        with self._explained:
            return self.explaining.explain(view)

    def query(self, sql: str, limit: int) -> dict[str, Any]:
        """The first rows of a query from outside, and which view answered it."""
        text = checked_select(sql, self.entry.catalog, self.functions)
        told = self.reading.explain_query(text).to_dict()
        columns, rows, more = rows_in_time(self.reading.sql(text), limit, self.query_seconds)
        return {"columns": columns, "rows": finite(rows), "truncated": more, "answered": told}

    def rows(self, name: str, limit: int) -> dict[str, Any]:
        """Some rows of a table or view, at one version."""
        schema = self.entry.catalog.schema(name)
        frame = self.reading.table(shown(schema.name))
        columns, rows, more = rows_in_time(frame, limit, self.query_seconds)
        return {"columns": columns, "rows": finite(rows), "truncated": more}

    def lattice(self, entry: Entry) -> dict[str, Any]:
        return drawn(entry).to_dict()

    def end(self, grace: float | None = None) -> None:
        """Nothing begins any more. What runs has so many seconds; then it is given up and commits nothing."""
        self.jobs.end(grace)
        self.refreshing.close()
        self.jobs.give_up()

    def leave(self) -> None:
        """Has Spark end what it still does for this desk, and the sessions that were made for it."""
        interrupt(self.refreshing.spark)
        for one in (self.verifying, self.explaining, self.reading):
            interrupt(one.spark)
            release(one.spark)
