"""A Spark session at work: its settings, the actions that it takes, and what is kept meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from viewkeeper import limits
from viewkeeper.engine.rows import Held
from viewkeeper.spark.failures import FAILURES, translated
from viewkeeper.spark.session import settings
from viewkeeper.storage.objects import Folder


class Work:
    """What is done in one session for one warehouse: its actions are counted."""

    def __init__(self, spark: SparkSession, folder: Folder) -> None:
        self.spark = spark
        self.folder = folder
        self.limits = limits.LIMITS
        self.actions = 0
        self._lock = threading.RLock()
        self._results: list[str] = []
        self._keeping = 0
        self._netting = 0
        self._settings = ExitStack()
        self._is_set = False
        self._held: dict[tuple[str, ...], Held | None] = {}

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """While this lasts, intermediate results stay: views that are refreshed side by side share them.

        So do the engine's settings: they are set once, with the first plan, and not for every plan.
        """
        with self._lock:
            self._keeping += 1
        try:
            yield
        finally:
            with self._lock:
                self._keeping -= 1
                results = [] if self._keeping else self._results
                if not self._keeping:
                    self._results, self._held, self._is_set = [], {}, False
                    self._settings.close()
            self.folder.delete([path for batch in results for path, _ in self.folder.listed(batch)])

    @contextmanager
    def netting(self) -> Iterator[None]:
        """While this lasts, no expression is evaluated for a row that came and went: what is read is net."""
        with self._lock:
            self._netting += 1
        try:
            yield
        finally:
            with self._lock:
                self._netting -= 1

    @property
    def is_netting(self) -> bool:
        return self._netting > 0

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Actions in here are not counted: those of checks are not a refresh's own."""
        before = self.actions
        try:
            yield
        finally:
            with self._lock:
                self.actions = before

    def settings(self) -> AbstractContextManager[None]:
        """The engine's settings, for a plan; while results are kept, they stay for those that follow."""
        with self._lock:
            if self._keeping and not self._is_set:
                self._settings.enter_context(settings(self.spark))
                self._is_set = True
        return settings(self.spark)

    def rows(self, frame: DataFrame, limit: int) -> list[Row]:
        """At most `limit` rows on the driver; one action."""
        self.count_action()
        with self.settings():
            try:
                return frame.limit(limit).collect()
            except FAILURES as error:
                raise translated(error) from error

    def collected(self, frame: DataFrame, limit: int) -> pa.Table:
        """At most `limit` rows as an Arrow table on the driver; one action."""
        return self.fetched(frame.limit(limit))

    def fetched(self, frame: DataFrame) -> pa.Table:
        """All rows as an Arrow table on the driver; one action."""
        self.count_action()
        with self.settings():
            try:
                table = frame.toArrow()
            except FAILURES as error:
                raise translated(error) from error
        return pa.table(table.columns, names=table.column_names)

    def count_action(self) -> None:
        with self._lock:
            self.actions += 1
