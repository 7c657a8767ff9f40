"""Compaction, and removal of what no retained version names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.errors import InvalidOption, NotFound
from viewkeeper.spark.files import RESULTS
from viewkeeper.spark.ordered_changes import memory_name
from viewkeeper.spark.stored_relations import fold
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.delta_log import main_files
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.objects import join
from viewkeeper.storage.publish import publish
from viewkeeper.workspace import Workspace

_DATA = re.compile(r"relations/[^/]+/data/.*")


def compact(work: Workspace, names: Iterable[str]) -> int:
    """Folds the layers of relations into their mains; what they hold does not change."""
    names = tuple(names)

    def build(base: Entry) -> Draft | None:
        draft = Draft(base, "compact")
        for number, name in enumerate(_relations(base, names)):
            work.progress("compact", name, number, len(names))
            view = _view_of(base, name)
            with nullcontext() if view is None else work.under(view):
                fold(work.engine, draft, name, forced=True)
        return draft if draft.changed_relations() else None

    return publish(work.log, build).version


def _view_of(entry: Entry, relation: str) -> ViewDefinition | None:
    """The view that a relation belongs to; None for a table."""
    views = entry.catalog.views.values()
    return next((view for view in views if relation in (view.name, *view.state)), None)


def _relations(entry: Entry, names: tuple[str, ...]) -> list[str]:
    found = []
    for name in names or map(shown, (*entry.catalog.own_tables, *entry.catalog.views)):
        known = entry.catalog.spelled(name)
        if known is None:
            raise NotFound(f"There is no table or view named {name}.", table=name)
        view = entry.catalog.views.get(known)
        found += [known, *(view.state if view else ())]
        found += [memory for memory in (memory_name(known),) if memory in entry.relations]
    return found


def vacuum(work: Workspace, keep: int = 20) -> int:
    """Forgets all but the newest `keep` versions and those that views need; returns files removed."""
    if keep < 1:
        raise InvalidOption(f"keep cannot be {keep}.", hint="Keep at least one version.")
    versions = work.log.versions()
    kept, catalog = versions[-keep:], work.log.latest().catalog
    retained = sorted({*kept, *(catalog.versions_needed() & set(versions))})
    forgotten = [version for version in versions if version not in retained]

    def oldest(relation: str) -> int:
        return min([*kept[:1], *catalog.versions_needed(relation)])

    named = set().union(*(_files(work, work.log.entry(version), oldest) for version in retained))
    work.log.forget(forgotten)
    present = [path for path, _ in work.log.folder.listed("relations")]
    folders = {_folder(path) for path in named}
    garbage = [path for path in present if path not in named and _is_garbage(path, folders)]
    garbage += [path for path, _ in work.log.folder.listed(RESULTS)]
    work.log.folder.delete(garbage)
    return len(garbage)


def _is_garbage(path: str, folders: set[str]) -> bool:
    """Data files, and everything of relations that no retained version has."""
    return bool(_DATA.match(path)) or _folder(path) not in folders


def _folder(path: str) -> str:
    return "/".join(path.split("/")[:2])


def _files(work: Workspace, entry: Entry, oldest: Callable[[str], int]) -> set[str]:
    """What a version is read from, and what changed since the oldest that is retained for a relation."""
    found = set()
    for name, state in entry.relations.items():
        if not state.is_stored:
            continue
        main = main_files(work.log.folder, state.folder, state.main_version)
        layers = [
            file for layer in (*state.overlay, *state.changes_after(oldest(name))) for file in layer.files
        ]
        found |= {join(state.folder, file.path) for file in (*main, *layers)}
        found.add(join(state.folder, "_delta_log"))
    return found
