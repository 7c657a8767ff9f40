"""What a view goes through: which inputs changed since it last read them, and how all is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.errors import StorageError
from viewkeeper.maintenance.strategy import Batch, Stored
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.publishing.options import publication
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.seen import changes_of, inputs_seen, written_anew
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.known import files_of, recorded
from viewkeeper.storage.relation import RelationState, layers_between
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace


def batches(state: RefreshState) -> RefreshState:
    """Adds what each view goes through; of a view over views, what is known of that by now."""
    known = {name for name, task in state.tasks.items() if state.is_over_tables(task)}
    return state.with_tasks(_task(state, view) for view in state.views if view.name not in known)


def _task(state: RefreshState, definition: ViewDefinition) -> Task:
    """A view's task; where its rows are those of an earlier definition, with what changed for that one."""
    log, draft, view = state.work.log, state.draft, compiled(definition, state.draft.catalog)
    filled = draft.redefined.get(definition.name, definition)
    if filled is not definition:
        view = replace(view, before=compiled(filled, draft.base.catalog))
    old, told = inputs_seen(log, filled), last_details(draft.base, log, definition.name)
    tables = tuple(dict.fromkeys((*filled.tables, *definition.tables)))
    stored = stored_of(draft, replace(definition, tables=tables), old)
    changes = _readable(state.work, draft, old, changes_of(log, draft, filled) or {})
    read = is_read(draft, definition)
    is_told = read or publication(definition.name, definition.properties) is not None
    batch = Batch(changes, stored, is_read=read, is_told=is_told)
    return Task(definition, view, old, told, batch)


def _readable(
    work: Workspace, draft: Draft, old: Mapping[str, RelationState], changes: Mapping[str, TableChange]
) -> Mapping[str, TableChange]:
    """The changes of a view's inputs; where files of a followed table are gone, it counts as written anew."""
    found = dict(changes)
    for name, change in changes.items():
        if draft.relations[name].followed is not None and not change.replaced:
            why = _unreadable(work, old[name], draft.relations[name])
            found[name] = written_anew(draft.relations[name], why) if why else change
    return found


def _unreadable(work: Workspace, old: RelationState, new: RelationState) -> str:
    """Why the changes of a followed table, or its rows before them, cannot be read any more."""
    try:
        before, after = (set(files_of(recorded(state))) for state in (old, new))
    except StorageError as error:
        return str(error)
    changed = [file for layer in layers_between(old, new) for file in layer.files]
    return work.reader.why_gone(new, (*changed, *(before - after)))


def is_read(draft: Draft, definition: ViewDefinition) -> bool:
    """Whether other views go on from the rows of a view; not from those in another form, which are gone."""
    before, now = (of.get(definition.name) for of in (draft.base.relations, draft.relations))
    readers = (view for view in draft.catalog.views.values() if definition.name in view.tables)
    is_kept = before is not None and now is not None and before.folder == now.folder
    return is_kept and any(view.position is not None for view in readers)


def last_details(base: Entry, log: WarehouseLog, name: str) -> Mapping[str, Any]:
    """What the last refresh of a view, or the propagation that is not taken over yet, told."""
    definition = base.catalog.views.get(name)
    if definition is None or definition.published is None:
        return {}
    versions = [definition.published]
    if definition.propagated is not None:
        versions += [version for version in log.versions() if definition.propagated < version <= base.version]
    reports = (log.entry(version).report_on(name) for version in reversed(versions))
    return next((report["details"] for report in reports if report is not None), {})


def _is_looked_up(old: RelationState | None, new: RelationState) -> bool:
    """Whether the changes of an input name rows that are looked up in what is stored."""
    layers = () if old is None else layers_between(old, new)
    return new.merge is not None or any(layer.diff is not None for layer in layers)


def stored_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Stored:
    """How the inputs, now and as they were last read, and the view itself are stored."""
    states = [(name, draft.relations[name]) for name in definition.tables]
    own = {n: draft.relations[n] for n in (*definition.state, definition.name) if n in draft.relations}
    return Stored(
        sizes={name: state.stored_rows for name, state in (*states, *own.items())},
        counted=frozenset(n for n, s in (*states, *old.items()) if s.has_pending_deletes),
        columns={name: state.columns for name, state in own.items()},
        keyed=frozenset(name for name, state in states if _is_looked_up(old.get(name), state)),
        groups={name: state.groups for name, state in own.items() if state.merge is not None},
    )
