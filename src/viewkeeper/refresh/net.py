"""Changes of followed tables without what only moved: a file that was written anew holds many rows that it
had.

    net = γ_row,Σcount(files that came ⊎ −files that went), without rows whose counts come to 0

It is made once for all views of a refresh, and gone when that is done: the log keeps naming files of the
table.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.refresh.state import RefreshState
from viewkeeper.seen import inputs_seen
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.objects import join
from viewkeeper.storage.relation import DataFile, Layer, RelationState, layers_between
from viewkeeper.workspace import Workspace


def net(state: RefreshState) -> RefreshState:
    """Adds nothing to what is known of views; the draft knows the net changes that these go through."""
    draft = state.draft
    for view in state.views:
        filled = draft.redefined.get(view.name, view)
        for name, old in inputs_seen(state.work.log, filled).items():
            new = draft.relations.get(name)
            if new is None or new.followed is None or old.folder != new.folder:
                continue
            if new.complete_since <= old.newest:
                for layer in layers_between(old, new):
                    if not layer.only_inserts and state.work.reader.are_there(new, layer.files):
                        net_files(state.work, draft, new, layer)
    return state


def net_files(work: Workspace, draft: Draft, state: RelationState, layer: Layer) -> tuple[DataFile, ...]:
    """The files of a layer's net change, which this refresh removes when it is done."""
    if layer.only_inserts:
        return layer.files
    if layer.files not in draft.net:
        source = work.reader.net_changes(state, layer.files)
        draft.net[layer.files] = work.engine.write(source.frame, state.folder, layer.rows)
        _note(draft, layer, source.rows)
    return draft.net[layer.files]


def _note(draft: Draft, layer: Layer, rows: int) -> None:
    """The rows that were read for it are told with the table, if it changed in this refresh."""
    for name, told in draft.followed.items():
        if layer in draft.relations[name].log:
            draft.followed[name] = replace(told, rows_read=told.rows_read + rows)


def forget(work: Workspace, draft: Draft) -> None:
    """Removes what was netted; it is of no use to another refresh."""
    folders = {name: state.folder for name, state in draft.relations.items() if state.followed is not None}
    paths = {file.path for files in draft.net.values() for file in files if file.part is None}
    work.log.folder.delete([join(folder, path) for folder in folders.values() for path in sorted(paths)])
    draft.net.clear()
