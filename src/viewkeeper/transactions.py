"""Committing changes: the tables' layers, and the views that are refreshed with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewkeeper.collected import PendingChange
from viewkeeper.refresh.life import refresh_views
from viewkeeper.spark.stage import StagedTransaction
from viewkeeper.spark.stored_relations import fold
from viewkeeper.storage.commits import Applied, Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class MicroBatch:
    """One batch of a stream into a table; the batches of a stream come in the order of their numbers."""

    stream: str
    number: int
    table: str

    def is_applied(self, entry: Entry) -> bool:
        applied = entry.streams.get(self.stream)
        return applied is not None and self.number <= applied.batch


def commit_changes(work: Workspace, changes: Sequence[PendingChange], batch: MicroBatch | None = None) -> int:
    """Applies all changes as one commit, or none; returns the version in which they are visible."""
    return commit(work, lambda draft: StagedTransaction(work.engine, draft).apply(changes), batch)


def commit(work: Workspace, stage: Callable[[Draft], None], batch: MicroBatch | None = None) -> int:
    """Commits what is staged in a draft, on the newest entry, whoever else commits; a batch that is applied
    already is not applied again."""

    def build(base: Entry) -> Draft | None:
        if batch is not None and batch.is_applied(base):
            return None
        draft = Draft(base, "transaction")
        stage(draft)
        changed = draft.changed_relations()
        if not changed:
            return None
        if batch is not None:
            draft.streams[batch.stream] = Applied(batch.table, batch.number)
        _refresh_on_commit(work, draft, changed)
        for name in changed:
            fold(work.engine, draft, name)
        return draft

    return publish(work.log, build).version


def _refresh_on_commit(work: Workspace, draft: Draft, changed: Sequence[str]) -> None:
    """Views that ask for it change in the same commit as the tables that they read."""
    names = [
        view.name
        for view in draft.catalog.in_order()
        if view.refresh == "on_commit" and draft.catalog.base_tables(view) & set(changed)
    ]
    if names:
        refresh_views(work, draft, names)
