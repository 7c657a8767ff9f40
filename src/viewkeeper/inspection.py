"""Looking at a warehouse: status and history of views, and how they would be refreshed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.batches import batch_of, inputs_seen, last_details, storage_of
from viewkeeper.catalog import Catalog, ViewDefinition
from viewkeeper.definitions import view_named
from viewkeeper.draft import Draft
from viewkeeper.errors import CannotMaintain, NotFound
from viewkeeper.fresh import with_fresh_keys
from viewkeeper.lattices import Deltas, planned
from viewkeeper.maintenance.strategy import TableChange
from viewkeeper.materialization import Anew
from viewkeeper.planning.explain import Explanation, explanation
from viewkeeper.planning.planner import choose
from viewkeeper.planning.shared_work import SharedWork
from viewkeeper.refresh import families, lattice_members, stale_views, with_ancestors
from viewkeeper.refresh_family import plan_family
from viewkeeper.refresh_view import Refresh, learned
from viewkeeper.spark.feed import change_feed
from viewkeeper.spark.session import DataFrame
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import RelationState
from viewkeeper.verification import one_of_several
from viewkeeper.views import as_written, compiled, over_base_tables
from viewkeeper.workspace import Workspace


@dataclass(frozen=True)
class Status:
    """One table or view: where it stands and how large it is; `note` says what its text leaves open."""

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


def status(work: Workspace) -> list[Status]:
    """Every table, then every view."""
    entry = work.log.latest()
    stale = set(stale_views(work, entry))
    tables = [_table_status(entry, name) for name in entry.catalog.tables]
    return tables + [_view_status(work, entry, view, view.name in stale) for view in entry.catalog.in_order()]


def _table_status(entry: Entry, name: str) -> Status:
    state = entry.relations[name]
    return _status(name, "table", entry.version, False, 0, 0, state)


def _view_status(work: Workspace, entry: Entry, view: ViewDefinition, stale: bool) -> Status:
    state = entry.relations[view.name]
    note = one_of_several(view)
    if view.position is None:
        return replace(_status(view.name, "view", None, True, 0, 0, state), note=note)
    batch = batch_of(Draft(entry, ""), view, inputs_seen(work.log, view))
    rows = sum(change.rows for change in batch.changes.values()) if batch else 0
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


def history(work: Workspace, name: str) -> list[HistoryEntry]:
    """The commits that concerned a view, oldest first, with what each did to it."""
    view = view_named(work.log.latest().catalog, name).name
    found = []
    for version in work.log.versions():
        entry = work.log.entry(version)
        report = entry.report_on(view)
        if report or entry.operation.endswith(f"view {shown(view)}"):
            found.append(HistoryEntry(version, entry.written, entry.operation, report or {}))
    return found


def explain(work: Workspace, view: str) -> Explanation:
    """How a view would be refreshed now; where nothing is pending, if all its inputs changed.

    Given a query instead of a name: how a view of it would be maintained. Nothing is created.
    """
    entry = work.log.latest()
    draft = Draft(entry, "explain")
    definition = _defined(entry.catalog, view)
    old = inputs_seen(work.log, definition)
    pending = batch_of(draft, definition, old)
    if pending is not None:
        pending = with_fresh_keys(work.engine, draft, old, pending)
    if pending is None or not pending.changes:
        all_changed = {table: TableChange(1, only_inserts=False) for table in definition.tables}
        pending = replace(storage_of(draft, definition, {}), changes=all_changed)
    known = learned(last_details(entry, work.log, definition.name))
    compiled_view = compiled(definition, entry.catalog)
    views = [view for view in entry.catalog.in_order() if view.settings == definition.settings]
    batches = {view.name: batch_of(draft, view, inputs_seen(work.log, view)) for view in views}
    deltas = planned(work, draft, lattice_members(work, draft, views, None, batches))
    edge = deltas.edges.get(definition.name)
    common = _in_common(work, draft, definition.name, deltas)
    batch = pending if edge is None else deltas.by(edge, pending)
    if common is not None and definition.name in deltas.passes:
        batch = deltas.batch(definition.name, pending)
    choice = choose(compiled_view, batch, _lenient(definition.policy), known)
    explained = explanation(compiled_view, batch, choice, _last_report(work, definition), edge, common)
    return replace(explained, note=one_of_several(definition))


def _in_common(work: Workspace, draft: Draft, name: str, deltas: Deltas) -> SharedWork | None:
    """What the view would share if all stale views were refreshed now, as far as that is known before: not of
    one that waits for others."""
    order = with_ancestors(draft, stale_views(work, draft.base))
    first = families(order, deltas.parent).get(frozenset(), [])
    if name not in [view.name for view in first]:
        return None
    try:
        family = plan_family(Refresh(work, draft, None, {}, deltas, Anew()), first)
    except CannotMaintain:
        return None
    return family.shared.work if name in family.shared.work.scripts else None


def _defined(catalog: Catalog, view: str) -> ViewDefinition:
    """The view of this name, or a view of this query that nobody has created."""
    if len(view.split()) < 2:
        return view_named(catalog, view)
    return over_base_tables(as_written(ViewDefinition("query", view, (), ()), catalog), catalog)


def _last_report(work: Workspace, definition: ViewDefinition) -> Mapping[str, Any] | None:
    """The report of the last refresh that did something to a view, among the versions that are retained."""
    if definition.published is None:
        return None
    for entry in reversed(history(work, shown(definition.name))):
        if entry.report and entry.report["strategy"] != "none":
            return entry.report
    return None


def _lenient(policy: str) -> str:
    """To explain a view that `strict` cannot maintain is not to refresh it."""
    return "incremental" if policy == "strict" else policy


def changes(work: Workspace, name: str, since: int, until: int | None) -> DataFrame:
    """The net changes of a table or view between two retained versions, with old and new values."""
    last = work.log.latest() if until is None else work.log.entry(until)
    known = last.catalog.schema(name).name
    first = work.log.entry(since)
    if known not in first.relations:
        raise NotFound(
            f"{known} did not exist in version {since}.",
            hint="Ask for changes since a later version.",
            table=known,
        )
    return change_feed(work.reader, first.relations[known], last.relations[known])
