"""Followed tables are brought to their newest versions, all in one draft, before anything is computed from
them.

    log(draft) = log(base) ∪ {files(new) − files(old)}        for each table that others have changed

No row is read for it but where keys are checked, and nothing is copied: the log of a followed table names
parts of its own files. Where what changed cannot be found out, views over the table are computed anew, with
the reason.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from viewkeeper.ddl.following import as_recorded, is_enforced, is_followed
from viewkeeper.ddl.redefinition import redefine_readers
from viewkeeper.errors import InvalidOption, MissingFile, StorageError
from viewkeeper.refresh.net import net_files
from viewkeeper.refresh.state import RefreshState
from viewkeeper.report import FollowedReport
from viewkeeper.side_by_side import workers
from viewkeeper.spark.stage import check_followed, check_loaded
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.formats import Observed
from viewkeeper.storage.following.known import format_of, recorded
from viewkeeper.storage.following.state import SourceField
from viewkeeper.storage.relation import DataFile, Layer, RelationState
from viewkeeper.workspace import Workspace

AT_ONCE = 8
"""The logs of so many tables are read at the same time."""


def follow(state: RefreshState) -> RefreshState:
    """Adds nothing to what is known of views; the draft has the newest states of followed tables."""
    draft, asked = state.draft, dict(state.request.at)
    _must_be_followed(draft, asked)
    names = [name for name in _wanted(state) if is_followed(draft.catalog.tables[name])]
    with workers(len(names), AT_ONCE) as pool:
        found = list(pool.map(lambda name: _observed(draft.relations[name], asked.get(name)), names))
    before = dict(draft.relations)
    for name, observed in zip(names, found, strict=True):
        if replace(recorded(draft.relations[name]), how="") != observed.followed:
            draft.followed[name] = _brought(state.work, draft, name, observed)
    _check(state.work, draft, before)
    return state


def follow_rows(state: RefreshState) -> RefreshState:
    """The same where views stay what they are; where new columns change some, nothing is followed."""
    draft = state.draft
    before = draft.copied()
    follow(state)
    if draft.catalog.views != before.catalog.views:
        draft.go_back(before)
        draft.followed.clear()
    return state


def _must_be_followed(draft: Draft, asked: dict[str, int]) -> None:
    for name in asked:
        if name not in draft.catalog.tables or not is_followed(draft.catalog.tables[name]):
            known = [n for n, table in draft.catalog.tables.items() if is_followed(table)]
            raise InvalidOption(
                f"{name} is no followed table, so it cannot be brought to a version.",
                f"Followed tables: {', '.join(known) or 'none'}.",
            )


def _wanted(state: RefreshState) -> list[str]:
    """The tables below the views that are asked for; all where none are named."""
    catalog, names = state.draft.catalog, state.request.names
    if names is None:
        return list(catalog.tables)
    below = set(dict(state.request.at)).union(*(catalog.base_tables(catalog.views[name]) for name in names))
    return [name for name in catalog.tables if name in below]


def _observed(state: RelationState, version: int | None) -> Observed:
    known = recorded(state)
    form = format_of(known.format)
    if version is None:
        version = form.newest(known.address, known.options, known)
    return form.observed(known.address, known.options, version, known)


def _brought(work: Workspace, draft: Draft, name: str, observed: Observed) -> FollowedReport:
    """Records a version in the draft, with what changed since the one that was recorded before."""
    started, old = time.perf_counter(), draft.relations[name]
    schema, new = as_recorded(draft.catalog.tables[name], observed)
    draft.catalog = draft.catalog.with_table(schema)
    files, how = _changes(old, new, draft.version)
    new = replace(new, folder=old.folder, followed=replace(recorded(new), how=how))
    if files is None:
        new = replace(new, complete_since=draft.version)
    else:
        layers = (Layer(draft.version, files),) if files else ()
        new = replace(new, log=(*old.log, *layers), complete_since=old.complete_since)
    draft.put(name, new)
    if old.columns != new.columns:
        redefine_readers(work, draft, name, is_anew=files is None)
    versions = recorded(old).version, recorded(new).version
    rows = new.main_rows if files is None else sum(file.rows for file in files)
    return FollowedReport(name, *versions, how, rows, 0, time.perf_counter() - started)


def _changes(old: RelationState, new: RelationState, number: int) -> tuple[tuple[DataFile, ...] | None, str]:
    """What came and went between two states, and how that was found; None, and why, where it cannot be."""
    before, after = recorded(old), recorded(new)
    if before.identity != after.identity:
        return None, f"{before.address} is another table now: it was replaced or made anew."
    if (changed := _other_values(old, new)) is not None:
        return None, f"The column {changed} is not what it was."
    try:
        found = format_of(after.format).difference(before, after, number)
    except StorageError as error:
        return None, " ".join(part for part in (error.what, error.detail) if part)
    return found.files, found.how


def _other_values(old: RelationState, new: RelationState) -> str | None:
    """A column that rows of files which nobody touched show otherwise now: of another type, or another's."""

    def shown_by(state: RelationState) -> dict[str, tuple[str, bool, SourceField]]:
        fields = {field.name: field for field in recorded(state).fields}
        return {c.name: (c.type, c.nullable, replace(fields[c.name], is_cast=False)) for c in state.columns}

    before, after = shown_by(old), shown_by(new)
    return next((name for name in before if name in after and before[name] != after[name]), None)


def _check(work: Workspace, draft: Draft, before: dict[str, RelationState]) -> None:
    """Checks keys that are declared to be checked, over what changed; of a table that is another one, all."""
    changed: dict[str, Layer] = {}
    for name in draft.followed:
        schema, new = draft.catalog.tables[name], draft.relations[name]
        is_asked = is_enforced(schema) and (schema.key or schema.foreign_keys)
        if not (is_asked or _is_referred_to(draft, name)):
            continue
        layers = [layer for layer in new.log if layer.commit == draft.version]
        if new.complete_since == draft.version:
            check_loaded(work.engine, draft, schema, new)
        elif layers:
            changed[name] = layers[0]
    try:
        files = {name: net_files(work, draft, draft.relations[name], one) for name, one in changed.items()}
        if files:
            check_followed(work.engine, draft, _in_the_new_form(draft, before), files)
    except MissingFile:  # of the states before: VACUUM has taken it
        _check_whole(work, draft, changed)


def _check_whole(work: Workspace, draft: Draft, changed: Collection[str]) -> None:
    """Checks all rows of tables that have changed, and of those that refer to them."""
    for name, schema in draft.catalog.tables.items():
        if name in changed or any(key.table in changed for key in schema.foreign_keys):
            check_loaded(work.engine, draft, schema, draft.relations[name])


def _is_referred_to(draft: Draft, name: str) -> bool:
    return any(key.table == name for table in draft.catalog.tables.values() for key in table.foreign_keys)


def _in_the_new_form(draft: Draft, before: dict[str, RelationState]) -> dict[str, RelationState]:
    """Followed tables as they were, with the columns that they have now."""
    found = dict(before)
    for name in draft.followed:
        old, new = recorded(before[name]), draft.relations[name]
        own = replace(old, fields=recorded(new).fields)
        found[name] = replace(before[name], columns=new.columns, followed=own)
    return found
