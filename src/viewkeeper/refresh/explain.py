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
from viewkeeper.planning.explanation import Explanation, explanation, unbound
from viewkeeper.refresh.batches import batches, is_read, last_details, stored_of
from viewkeeper.refresh.choose import choose
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


def _explained(state: RefreshState, view: str) -> Explanation:
    work = state.work
    definition = _defined(state.draft.catalog, view)
    name = definition.name
    is_pending = definition.position is not None and name in state.tasks and state.tasks[name].batch.changes
    state = _planned(state, name) if is_pending else _if_all_changed(state, definition)
    task, common = state.tasks[name], state.shared.work
    assert task.choice is not None
    lower = execution_of(state, task, task.choice.taken).physical if is_pending else unbound
    with work.under(definition), work.engine.keeping():
        explained = explanation(
            task.view,
            task.batch,
            task.choice,
            _last_report(work, definition),
            state.derivations.edges.get(name),
            common if name in common.scripts else None,
            lower,
        )
    notes = one_of_several(definition), why_no_value_counts(definition, task.view)
    return replace(explained, note="; ".join(filter(None, notes)), files=work.engine.access.told)


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


def _if_all_changed(state: RefreshState, definition: ViewDefinition) -> RefreshState:
    """The view alone, as if it were filled and each of its inputs had changed."""
    draft = state.draft
    changes = {table: TableChange(1, only_inserts=False) for table in definition.tables}
    task = Task(
        replace(definition, position=draft.position),
        compiled(definition, draft.catalog),
        {},
        last_details(draft.base, state.work.log, definition.name),
        Batch(changes, stored_of(draft, definition, {}), is_read=is_read(draft, definition)),
    )
    return choose(RefreshState(state.work, draft, LENIENT).with_tasks([task]))


def _defined(catalog: Catalog, view: str) -> ViewDefinition:
    """The view of this name, or a view of this query that nobody has created."""
    if len(view.split()) < 2:
        return view_named(catalog, view)
    return over_base_tables(as_written(ViewDefinition("query", view, (), ()), catalog), catalog)


def _last_report(work: Workspace, definition: ViewDefinition) -> Mapping[str, Any] | None:
    """The report of the last refresh that did something to a view, among the versions that are retained."""
    if definition.published is None:
        return None
    reports = (entry.report for entry in reversed(history(work.log, shown(definition.name))))
    return next((report for report in reports if report and report["strategy"] != "none"), None)
