"""Publishing a draft: put-if-absent, and what to do when another writer was first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from viewkeeper.errors import ConflictError
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import RelationState

ATTEMPTS = 8


def publish(log: WarehouseLog, build: Callable[[Entry], Draft | None]) -> Entry:
    """Builds a draft on the newest entry and commits it; builds anew when it lost the race.

    `build` may return None: there is nothing to publish.
    """
    for _ in range(ATTEMPTS):
        base = log.latest()
        draft = build(base)
        published = base if draft is None else _committed(log, draft)
        if published is not None:
            for follower in log.followers:
                follower(published)
            return published
    raise ConflictError(
        f"Other writers were first {ATTEMPTS} times in a row.",
        "Nothing was applied.",
        "Try again, or let fewer writers work at the same time.",
    )


def _committed(log: WarehouseLog, draft: Draft) -> Entry | None:
    """The entry when it could be committed, on top of others where they do not touch it."""
    for _ in range(ATTEMPTS):
        entry = draft.entry()
        if log.commit(entry):
            return log.entry(entry.version)
        newer = rebased(draft, log.latest())
        if newer is None:
            return None
        draft = newer
    return None


def rebased(draft: Draft, newest: Entry) -> Draft | None:
    """The same refresh on top of a newer entry: only if that entry left alone what it wrote.

    A refresh writes views only, so changes of base tables do not disturb it: its views keep the
    position that they were computed for. Drafts that change tables are built anew instead.
    """
    written = set(draft.changed_relations())
    tables = set(draft.base.catalog.tables) | set(draft.catalog.tables)
    moved = {n for n, s in newest.relations.items() if draft.base.relations.get(n) != s}
    same_views = {n: v.sql for n, v in newest.catalog.views.items()} == {
        n: v.sql for n, v in draft.catalog.views.items()
    }
    drops = draft.base.catalog.tables.keys() - draft.catalog.tables.keys()
    if written & tables or written & moved or drops or not same_views or _redefines(draft):
        return None
    result = Draft(newest, draft.operation, report=draft.report)
    for name in written:
        result.put(name, _renumbered(draft.relations[name], draft.version, result.version))
    for name in draft.base.relations.keys() - draft.relations.keys():
        result.relations.pop(name, None)
    for view in draft.catalog.views.values():
        if view.published == draft.version:
            options = newest.catalog.views[view.name].properties
            result.put_view(replace(view, published=result.version, properties=options))
        elif view.propagated != draft.base.catalog.views[view.name].propagated:
            result.put_view(replace(newest.catalog.views[view.name], propagated=view.propagated))
    return result


def _redefines(draft: Draft) -> bool:
    """Whether a draft says something else of tables and views, and not only what they hold."""
    before, after = draft.base.catalog, draft.catalog
    options = {name: view.properties for name, view in before.views.items()}
    changed = any(options.get(name) != view.properties for name, view in after.views.items())
    return changed or before.tables != after.tables


def _renumbered(state: RelationState, before: int, after: int) -> RelationState:
    """The state with the layers of one unpublished commit under its new number."""

    def number(commit: int) -> int:
        return after if commit == before else commit

    return replace(
        state,
        overlay=tuple(replace(layer, commit=number(layer.commit)) for layer in state.overlay),
        log=tuple(replace(layer, commit=number(layer.commit)) for layer in state.log),
        complete_since=number(state.complete_since),
    )
