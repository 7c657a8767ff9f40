"""Looking at a warehouse: status and history of tables and views, from its log alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition, view_named
from viewkeeper.errors import ViewkeeperError
from viewkeeper.inspect.left_open import one_of_several
from viewkeeper.seen import changes_of, stale_views
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.known import versions_behind
from viewkeeper.storage.relation import RelationState

if TYPE_CHECKING:
    from viewkeeper.maintenance.lattice.draw import Drawing


@dataclass(frozen=True)
class Inspected:
    """A warehouse as its log tells of it: what needs no Spark."""

    log: WarehouseLog

    def status(self) -> list[Status]:
        return status(self.log)

    def history(self, view: str) -> list[HistoryEntry]:
        return history(self.log, view)

    def lattice(self) -> Drawing:
        from viewkeeper.inspect.lattices import drawn

        return drawn(self.log.latest())


@dataclass(frozen=True)
class Status:
    """One table or view: where it stands and how large it is.

    `note` says what the text of a view leaves open, and what a followed table follows. `versions_behind`: so
    many versions of a followed table are not recorded yet.
    """

    name: str
    kind: str
    version: int | None
    stale: bool
    commits_behind: int
    rows_behind: int
    main_rows: int
    layers: int
    layer_rows: int
    note: str = ""
    versions_behind: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class HistoryEntry:
    """One commit in which a view was refreshed or defined."""

    version: int
    written: str
    operation: str
    report: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def status(log: WarehouseLog) -> list[Status]:
    """Every table, then every view."""
    entry = log.latest()
    order = entry.catalog.in_order()
    tables = {name: _table_status(entry, name) for name in entry.catalog.tables}
    behind = {name for name, table in tables.items() if table.versions_behind}
    stale = set(stale_views(log, Draft(entry, "")))
    stale |= {view.name for view in order if entry.catalog.base_tables(view) & behind}
    return [*tables.values(), *(_view_status(log, entry, view, view.name in stale) for view in order)]


def _table_status(entry: Entry, name: str) -> Status:
    """Of a followed table, also how many versions it has that are not recorded."""
    state = entry.relations[name]
    found = _status(name, "table", entry.version, False, 0, 0, state)
    if state.followed is None:
        return found
    place = f"follows {state.followed.format} {state.followed.address} at version {state.followed.version}"
    try:
        behind = versions_behind(state)
    except ViewkeeperError as error:
        return replace(found, kind="followed", note=f"{place}; {error.what}")
    return replace(found, kind="followed", note=place, versions_behind=behind)


def _view_status(log: WarehouseLog, entry: Entry, view: ViewDefinition, stale: bool) -> Status:
    state = entry.relations[view.name]
    note = one_of_several(view)
    if view.position is None:
        return replace(_status(view.name, "view", None, True, 0, 0, state), note=note)
    changes = changes_of(log, Draft(entry, ""), view) or {}
    rows = sum(change.rows for change in changes.values())
    behind = _commits_behind(entry, view)
    return replace(_status(view.name, "view", view.position, stale, behind, rows, state), note=note)


def _commits_behind(entry: Entry, view: ViewDefinition) -> int:
    commits = {
        layer.commit
        for name in entry.catalog.base_tables(view)
        for layer in entry.relations[name].log
        if view.position is not None and layer.commit > view.position
    }
    return len(commits)


def _status(
    name: str, kind: str, version: int | None, stale: bool, commits: int, rows: int, state: RelationState
) -> Status:
    layers = (len(state.overlay), state.overlay_rows)
    return Status(shown(name), kind, version, stale, commits, rows, state.main_rows, *layers)


def history(log: WarehouseLog, name: str) -> list[HistoryEntry]:
    """The commits that concerned a view, oldest first, with what each did to it."""
    view = view_named(log.latest().catalog, name).name
    found = []
    for version in log.versions():
        entry = log.entry(version)
        report = entry.report_on(view)
        if report or entry.operation.endswith(f"view {shown(view)}"):
            found.append(HistoryEntry(version, entry.written, entry.operation, report or {}))
    return found
