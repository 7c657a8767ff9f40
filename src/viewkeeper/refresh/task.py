"""One view of a refresh: stage after stage adds what it finds out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.maintenance.lattice.summary import Summary
from viewkeeper.maintenance.steps import Script
from viewkeeper.maintenance.strategy import Batch, View
from viewkeeper.planning.planner import Choice
from viewkeeper.report import Checked, ViewReport
from viewkeeper.storage.relation import RelationState


@dataclass(frozen=True)
class Task:
    """A view, and what is known of its refresh.

    `old` are its inputs as it last read them, `earlier` is what its last refresh told, `batch` is for its
    strategies. `choice` is the way that is taken; there is none where nothing is to be done. `script` is that
    of the choice, without what is shared. `seconds` are those that were spent on the view.
    """

    definition: ViewDefinition
    view: View
    old: Mapping[str, RelationState]
    earlier: Mapping[str, Any]
    batch: Batch
    rows_dropped: int = 0
    choice: Choice | None = None
    script: Script = ()
    seconds: float = 0.0
    report: ViewReport | None = None
    checked: Checked | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_first(self) -> bool:
        """Whether the view was never filled."""
        return self.definition.position is None

    @property
    def is_redefined(self) -> bool:
        """Whether the rows of the view are those of an earlier definition."""
        return self.view.before is not None

    @property
    def is_idle(self) -> bool:
        return not (self.is_first or self.is_redefined or self.batch.changes)

    @property
    def is_changed(self) -> bool:
        """Whether the view got other rows."""
        return self.report is not None and self.report.strategy != "none"

    @property
    def summary(self) -> Summary:
        """The view as a generalized cube view, of one that is."""
        assert isinstance(self.view.summary, Summary)
        return self.view.summary
