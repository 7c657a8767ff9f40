"""How a view would be refreshed now: the stages of a refresh up to the scripts, of which none is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import Catalog, ViewDefinition, view_named
from viewkeeper.inspect.left_open import one_of_several
from viewkeeper.inspect.status import history
from viewkeeper.maintenance.strategy import Batch
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.explanation import Explanation, explanation
from viewkeeper.refresh.batches import batches, is_read, last_details, stored_of
from viewkeeper.refresh.choose import chosen
from viewkeeper.refresh.follow import follow
from viewkeeper.refresh.lattice import lattice
from viewkeeper.refresh.life import PLANNED
from viewkeeper.refresh.net import forget, net
from viewkeeper.refresh.run import execution_of
from viewkeeper.refresh.stale import stale
from viewkeeper.refresh.state import RefreshState, Request, Stage, through
from viewkeeper.refresh.take_over import take_over
from viewkeeper.refresh.task import Task
from viewkeeper.refresh.tick import tick
from viewkeeper.refresh.together import by_settings, families
from viewkeeper.seen import stale_views
from viewkeeper.storage.commits import WarehouseLog
from viewkeeper.storage.draft import Draft
from viewkeeper.views import as_written, compiled, over_base_tables, why_no_value_counts
from viewkeeper.workspace import Workspace

LENIENT = Request(is_lenient=True)
"""To explain a view that `strict` cannot maintain is not to refresh it."""

BEGUN: tuple[Stage, ...] = (follow, tick, stale, take_over, net, batches)
STAGES = (*BEGUN, lattice, *PLANNED)
"""Without asking which changes matter: that takes an action."""


def explain(work: Workspace, view: str) -> Explanation:
    """How a view would be refreshed now; where nothing is pending, if all its inputs changed.

    Given a query instead of a name: how a view of it would be maintained. Nothing is created.
    """
    draft = Draft(work.log.latest(), "explain")
    try:
        return _explained(through(BEGUN, RefreshState(work, draft, LENIENT)), view)
    finally:
        forget(work, draft)


def explain_settled(log: WarehouseLog, view: str) -> Explanation | None:
    """The same of a view that is up to date, as the log tells, without Spark. None where Spark must be asked:
    for a query, for what is pending, and for inputs that change by themselves."""
    draft = Draft(log.latest(), "explain")
    if _is_query(view):
        return None
    definition = view_named(draft.catalog, view)
    below = (draft.relations[name] for name in draft.catalog.base_tables(definition))
    changes_alone = any(state.followed is not None or state.clock is not None for state in below)
    if changes_alone or definition.name in stale_views(log, draft):
        return None
    return _if_all_changed(log, draft, definition)


def _explained(state: RefreshState, view: str) -> Explanation:
    definition = _defined(state.draft.catalog, view)
    name = definition.name
    is_pending = definition.position is not None and name in state.tasks and state.tasks[name].batch.changes
    if is_pending:
        told = _as_planned(_planned(state, name), definition)
    else:
        told = _if_all_changed(state.work.log, state.draft, definition)
    return replace(told, files=state.work.engine.access.told)


def _as_planned(state: RefreshState, definition: ViewDefinition) -> Explanation:
    """What is pending, and how its plans would be run."""
    work, name = state.work, definition.name
    task, common = state.tasks[name], state.shared.work
    assert task.choice is not None
    with work.under(definition), work.engine.keeping():
        told = explanation(
            task.view,
            task.batch,
            task.choice,
            _last_report(work.log, definition),
            state.derivations.edges.get(name),
            common if name in common.scripts else None,
            execution_of(state, task, task.choice.taken).physical,
        )
    return _noted(told, task)


def _noted(told: Explanation, task: Task) -> Explanation:
    notes = one_of_several(task.definition), why_no_value_counts(task.definition, task.view)
    return replace(told, note="; ".join(filter(None, notes)))


def _planned(state: RefreshState, name: str) -> RefreshState:
    """What is planned for a view and for those that it shares work with; parents in the lattice are expected
    to hand their summary-deltas on."""

    def has_it(views: Iterable[ViewDefinition]) -> bool:
        return any(view.name == name for view in views)

    turn = next(filter(has_it, by_settings(state.views)))
    known = lattice(state.of(turn))
    expected = replace(known.derivations, done=dict.fromkeys(known.derivations.members), finished={})
    known = replace(known, derivations=expected)
    return through(PLANNED, known.of(next(filter(has_it, families(turn, known.derivations.parent).values()))))


def _if_all_changed(log: WarehouseLog, draft: Draft, definition: ViewDefinition) -> Explanation:
    """The view alone, as if it were filled and each of its inputs had changed."""
    changes = {table: TableChange(1, only_inserts=False) for table in definition.tables}
    batch = Batch(changes, stored_of(draft, definition, {}), is_read=is_read(draft, definition))
    filled = replace(definition, position=draft.position)
    earlier = last_details(draft.base, log, definition.name)
    task = Task(filled, compiled(definition, draft.catalog), {}, earlier, batch)
    task = chosen(task, LENIENT.policy_of(definition))
    assert task.choice is not None
    return _noted(explanation(task.view, task.batch, task.choice, _last_report(log, definition)), task)


def _defined(catalog: Catalog, view: str) -> ViewDefinition:
    """The view of this name, or a view of this query that nobody has created."""
    if not _is_query(view):
        return view_named(catalog, view)
    return over_base_tables(as_written(ViewDefinition("query", view, (), ()), catalog), catalog)


def _is_query(view: str) -> bool:
    return len(view.split()) > 1


def _last_report(log: WarehouseLog, definition: ViewDefinition) -> Mapping[str, Any] | None:
    """The report of the last refresh that did something to a view, among the versions that are retained."""
    if definition.published is None:
        return None
    reports = (entry.report for entry in reversed(history(log, shown(definition.name))))
    return next((report for report in reports if report and report["strategy"] != "none"), None)
