"""Committing changes: the tables' layers, and the views that are refreshed with them."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.collected import PendingChange
from viewkeeper.refresh.life import refresh_views
from viewkeeper.spark.stage import StagedTransaction
from viewkeeper.spark.stored_relations import fold
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish
from viewkeeper.workspace import Workspace


def commit_changes(work: Workspace, changes: Sequence[PendingChange]) -> int:
    """Applies all changes as one commit, or none; returns the version in which they are visible."""

    def build(base: Entry) -> Draft | None:
        draft = Draft(base, "transaction")
        StagedTransaction(work.engine, draft).apply(changes)
        changed = draft.changed_relations()
        if not changed:
            return None
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
