"""What every operation of a warehouse works with: its log, its Spark engine, and who listens."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from viewkeeper.catalog.catalog import Settings, ViewDefinition
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.meaning import settings_of, under
from viewkeeper.spark.read import Reader
from viewkeeper.storage.commits import WarehouseLog


@dataclass(frozen=True)
class ProgressEvent:
    """Where long work stands; given to a warehouse's `on_progress`."""

    stage: str
    detail: str
    done: int
    total: int


@dataclass
class Workspace:
    """One open warehouse."""

    log: WarehouseLog
    engine: SparkEngine
    on_progress: Callable[[ProgressEvent], None] | None = field(default=None)
    defaults: tuple[tuple[str, str], ...] = ()
    """Properties of new views that say nothing else."""
    answers: dict[Hashable, bool] = field(default_factory=dict)
    """What was found out about states of relations, which never change."""
    logs_queries: bool = False
    """Whether queries are counted, for advice on summaries (`advise/`)."""

    @property
    def settings(self) -> Settings:
        """What the session's settings say about the meaning of a query."""
        return settings_of(self.engine.spark)

    def under(self, view: ViewDefinition) -> AbstractContextManager[None]:
        """The session with the settings of a view, while something of it is worked on."""
        return under(self.engine.spark, view.settings)

    @property
    def reader(self) -> Reader:
        return Reader(self.engine)

    def progress(self, stage: str, detail: str, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(ProgressEvent(stage, detail, done, total))
