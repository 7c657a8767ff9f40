"""Looking at a warehouse: status and history of tables and views, from its log alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from viewkeeper.algebra.clock import Clock
from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition, view_named
from viewkeeper.catalog.freshness import target_of
from viewkeeper.errors import NotFound, ViewkeeperError
from viewkeeper.htmltable import html_table
from viewkeeper.inspect.left_open import one_of_several
from viewkeeper.seen import changes_of, stale_views, unseen_commits
from viewkeeper.storage.clocks import next_change
from viewkeeper.storage.clocks import shown as shown_by
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.failures import failures, last_failures
from viewkeeper.storage.following.known import versions_behind
from viewkeeper.storage.relation import RelationState

if TYPE_CHECKING:
    from viewkeeper.maintenance.lattice.draw import Drawing
    from viewkeeper.planning.explanation import Explanation


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

    def explain(self, view: str) -> Explanation | None:
        """How a view that is up to date is maintained; None where Spark must be asked."""
        from viewkeeper.refresh.explain import explain_settled

        return explain_settled(self.log, view)


@dataclass(frozen=True)
class Status:
    """One table or view: where it stands and how large it is.

    `note` says what the text of a view leaves open, and what a followed table follows. `versions_behind`: so
    many versions of a followed table are not recorded yet. `target` is how fresh a view asks to be, and
    `seconds_behind` how old the oldest change is that it does not show; None where that is not known.
    `failing` is why it could not be refreshed when it was last tried. `stale_from`: when a view that reads
    the clock becomes stale by that alone, or became so.
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
    target: str = ""
    seconds_behind: float | None = 0.0
    failing: str = ""
    stale_from: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Standings(list[Status]):
    """Where everything stands; a table in notebooks."""

    def _repr_html_(self) -> str:
        return html_table((one.to_dict() for one in self), "The warehouse is empty.")


@dataclass(frozen=True)
class HistoryEntry:
    """One commit in which a view was refreshed or defined, or a refresh that failed and the version that it
    left as it was."""

    version: int
    written: str
    operation: str
    report: Mapping[str, Any] = field(default_factory=dict)
    failure: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def status(log: WarehouseLog, now: datetime | None = None, entry: Entry | None = None) -> list[Status]:
    """Every table, then every view, of the newest entry unless one is given; ages are those of a moment,
    which is now unless it is given."""
    entry, now = entry or log.latest(), now or datetime.now(UTC)
    failing = pending_failures(log, entry)
    order = entry.catalog.in_order()
    tables = {name: _table_status(entry, name) for name in entry.catalog.own_tables}
    behind = {name for name, table in tables.items() if table.versions_behind}
    changes = {shown(view.name): clock_changes(entry, view, now) for view in order}
    stale = set(stale_views(log, Draft(entry, "")))
    stale |= {view.name for view in order if entry.catalog.base_tables(view) & behind}
    found = (_view_status(log, entry, view, view.name in stale, now) for view in order)
    timed = (_with_change(one, changes[one.name], now) for one in found)
    views = (replace(one, failing=failing.get(one.name, "")) for one in timed)
    return Standings([*tables.values(), *views])


def clock_changes(entry: Entry, view: ViewDefinition, now: datetime) -> datetime | None:
    """When a clock below a view shows something else than it did; None where there is none."""
    found = (Clock.of(entry.catalog.tables[name]) for name in entry.catalog.base_tables(view))
    clocks = [clock for clock in found if clock is not None]
    return min((next_change(c, shown_by(entry.relations[c.relation]), now) for c in clocks), default=None)


def _with_change(found: Status, at: datetime | None, now: datetime) -> Status:
    if at is None:
        return found
    told = replace(found, stale=found.stale or at <= now, stale_from=at.isoformat(timespec="seconds"))
    if at > now or found.seconds_behind is None:
        return told
    age = round((now - at).total_seconds(), 1)
    return replace(told, seconds_behind=max(found.seconds_behind, age))


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


def _view_status(log: WarehouseLog, entry: Entry, view: ViewDefinition, stale: bool, now: datetime) -> Status:
    state = entry.relations[view.name]
    note, target = one_of_several(view), target_of(view.properties)
    if view.position is None:
        empty = _status(view.name, "view", None, True, 0, 0, state)
        return replace(empty, note=note, target=target, seconds_behind=None)
    changes = changes_of(log, Draft(entry, ""), view) or {}
    rows = sum(change.rows for change in changes.values())
    behind = len(unseen_commits(entry, view))
    since = behind_since(log, entry, view) if stale else now
    age = None if since is None else round(max((now - since).total_seconds(), 0.0), 1)
    found = _status(view.name, "view", view.position, stale, behind, rows, state)
    return replace(found, note=note, target=target, seconds_behind=age)


def behind_since(log: WarehouseLog, entry: Entry, view: ViewDefinition) -> datetime | None:
    """When the oldest change was committed that a view does not show; None where that is not known."""
    unseen = unseen_commits(entry, view)
    if view.position is None or not unseen:
        return None
    return written_at(log, min(unseen))


def written_at(log: WarehouseLog, version: int) -> datetime | None:
    """When a version was committed; None where it is forgotten."""
    try:
        return datetime.fromisoformat(log.entry(version).written)
    except (NotFound, ValueError):
        return None


def pending_failures(log: WarehouseLog, entry: Entry) -> dict[str, str]:
    """Why views could not be refreshed, of those that were not refreshed since; by the user's names."""
    found = {}
    for name, failure in last_failures(log.folder).items():
        known = entry.catalog.spelled(name)
        view = entry.catalog.views.get(known) if known else None
        done = written_at(log, view.published) if view is not None and view.published else None
        if view is not None and (done is None or failure.at > done):
            found[shown(view.name)] = failure.what
    return found


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
    failed = (
        HistoryEntry(one.version, one.written, "refresh failed", failure=one.what)
        for one in failures(log.folder)
        if shown(view) in one.views
    )
    return sorted((*found, *failed), key=lambda one: one.written)
