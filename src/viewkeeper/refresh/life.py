"""The life of a refresh: which views it is about, what each goes through, how that is done, and what is told.

Works on a draft that nobody sees before it is published. Where another writer publishes first, all of it is
done again (`storage/publish.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from itertools import count

from viewkeeper.algebra.inner_names import shown
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.ddl.redefinition import without_plan
from viewkeeper.errors import WrongType
from viewkeeper.maintenance.summary_delta.sources import is_merged
from viewkeeper.refresh.batches import batches
from viewkeeper.refresh.check import check
from viewkeeper.refresh.choose import choose
from viewkeeper.refresh.derive import derive
from viewkeeper.refresh.fold import fold
from viewkeeper.refresh.follow import follow, follow_rows
from viewkeeper.refresh.fresh_keys import fresh_keys
from viewkeeper.refresh.lattice import lattice
from viewkeeper.refresh.net import forget, net
from viewkeeper.refresh.relevance import relevance
from viewkeeper.refresh.renew import renew
from viewkeeper.refresh.run import run
from viewkeeper.refresh.share import share
from viewkeeper.refresh.stale import stale
from viewkeeper.refresh.state import RefreshState, Request, Stage, through
from viewkeeper.refresh.strict import strict
from viewkeeper.refresh.take_over import set_aside, take_over
from viewkeeper.refresh.task import Task
from viewkeeper.refresh.tick import has_ticked, tick
from viewkeeper.refresh.together import by_settings, families, side_by_side
from viewkeeper.report import Report, in_users_names
from viewkeeper.seen import stale_views
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.publish import publish
from viewkeeper.views import is_beyond_spark
from viewkeeper.workspace import Workspace

FIRST: tuple[Stage, ...] = (
    follow,  # tables that others own are brought to their newest versions
    tick,  # clocks show one instant, whichever views read them
)
"""Of a refresh that was asked for: views that are made or refreshed with a transaction see what is
recorded."""

BEGUN: tuple[Stage, ...] = (
    stale,  # which views: those asked for, or the stale ones, and the views that they read
    renew,  # views whose state another version stored in another form are emptied
    take_over,  # what `propagate` has computed becomes part of the views
    net,  # changes of followed tables, without rows that only moved from file to file
    batches,  # the inputs that changed since a view last read them, and how all is stored
    strict,  # a strict view that no strategy can maintain fails here, before any work
)
"""Once, for all views."""

COMPARED: tuple[Stage, ...] = (
    relevance,  # changes that cannot matter are left out (blakeley86)
    lattice,  # which views derive which: where summary-deltas and whole states come from (mumick97)
)
"""For all views of the same settings."""

PLANNED: tuple[Stage, ...] = (
    derive,  # what the views that were waited for hand on
    fresh_keys,  # keys that only came or went, which are looked up in the changes
    choose,  # the cheapest script that the policy allows
    share,  # what several scripts do is done once
)
"""For views that wait for the same others, as soon as these are done."""

DONE: tuple[Stage, ...] = (
    fold,  # layers that have grown too many
    check,  # a sample of each view against Spark's answer to its text
)
"""Once, for all views; then the draft is published."""

STAGES = (*FIRST, *BEGUN, *COMPARED, *PLANNED, run, *DONE)
"""All stages; `run` is one view's: its script is executed, and the report on it made."""


def refresh(work: Workspace, request: Request) -> Report:
    """Refreshes the views asked for, or every stale one, as one atomic commit; a share of them is checked."""

    def begin(draft: Draft) -> RefreshState:
        is_all = request.names is None and request.policy == "full"
        names = tuple(draft.catalog.views) if is_all else request.names
        return RefreshState(work, draft, replace(request, names=names))

    def has_news(state: RefreshState) -> bool:
        base = Draft(state.draft.base, "refresh")
        return _has_told(state) or bool(stale_views(work.log, base))

    return _published("refresh", work, request, FIRST, begin, DONE, has_news)


def propagate(work: Workspace, request: Request) -> Report:
    """Computes the summary-deltas of stale views for the next refresh; what readers see stays."""

    def begin(draft: Draft) -> RefreshState:
        behind = through((stale, renew, take_over, batches), RefreshState(work, draft.copied()))
        names = tuple(task.name for task in behind.through_tables() if is_merged(task.view, task.batch))
        asked = names if request.names is None else tuple(n for n in names if n in request.names)
        return RefreshState(work, draft, replace(request, names=asked, policy="incremental"))

    return _published("propagate", work, request, (follow_rows, tick), begin, (set_aside,), _has_told)


def _has_told(state: RefreshState) -> bool:
    """Whether views have changed, or what was read from outside."""
    return bool(state.changed or state.draft.followed or has_ticked(state.draft))


def refresh_views(work: Workspace, draft: Draft, names: Iterable[str]) -> None:
    """Brings the views, and the views that they read, to the draft's state of the base tables."""
    through((tick, computed, *DONE), RefreshState(work, draft, Request(tuple(names))))


def _published(
    operation: str,
    work: Workspace,
    request: Request,
    first: Iterable[Stage],
    begin: Callable[[Draft], RefreshState],
    last: Iterable[Stage],
    has_news: Callable[[RefreshState], bool],
) -> Report:
    """Computes new states of views, does with them what is to be done, and commits; both are timed."""
    before, started = work.engine.actions, time.perf_counter()
    ready = started
    done: RefreshState

    def build(base: Entry) -> Draft | None:
        nonlocal ready, done
        draft = Draft(base, operation)
        try:
            through(first, RefreshState(work, draft, request))
            done = computed(begin(draft))
        finally:
            forget(work, draft)
        ready = time.perf_counter()
        done = through(last, done)
        return done.draft if has_news(done) else None

    entry = publish(work.log, build)
    checked = tuple(task.checked for task in done.tasks.values() if task.checked is not None)
    made_visible = time.perf_counter() - ready - sum(one.seconds for one in checked)
    reports, actions = tuple(map(in_users_names, done.reports)), work.engine.actions - before
    followed = tuple(replace(one, table=shown(one.table)) for one in done.draft.followed.values())
    as_of = done.draft.report.get("as_of")
    return Report(reports, entry.version, actions, ready - started, made_visible, checked, followed, as_of)


def computed(state: RefreshState) -> RefreshState:
    """Appends to the views what changed, or writes them anew, and adds the reports; nothing is folded yet."""
    try:
        return _computed_views(through(BEGUN, state))
    finally:
        forget(state.work, state.draft)


def _computed_views(state: RefreshState) -> RefreshState:
    number, total = count(), len(state.views)

    def started(view: str) -> None:
        state.work.progress("refresh", view, next(number), total)

    done = state
    for views in by_settings(state.views):
        with state.work.under(views[0]):
            done = done.with_tasks(_computed_or_netted(state.of(views), started))
    state.work.progress("refresh", "", total, total)
    state.draft.report["views"] = [report.to_dict() for report in done.reports]
    state.draft.report["followed"] = [asdict(one) for one in state.draft.followed.values()]
    return done


def _computed_or_netted(state: RefreshState, started: Callable[[str], None]) -> Iterable[Task]:
    """What is computed; where a value does not fit an expression, once more without rows that came and went.

    Signed rows are not netted before expressions are evaluated, which may fail for a row that is gone. Sums
    of ID-based diffs may not fit on the way.
    """
    work, before = state.work, state.draft.copied()
    try:
        return _computed(state, started)
    except WrongType:
        state.draft.go_back(before)
        with work.engine.netting(), work.engine.keeping():
            return _computed_or_run_as_text(state, started)


def _computed_or_run_as_text(state: RefreshState, started: Callable[[str], None]) -> Iterable[Task]:
    """What is computed; where that fails, one view after the other.

    A view whose plan meets a value that does not fit, and whose text does not, is run as text from now on:
    Spark chooses in which order conditions are tested, and may leave out what a plan evaluates.
    """
    before = state.draft.copied()
    try:
        return _computed(state, started)
    except WrongType:
        state.draft.go_back(before)
    done = state
    for view in state.views:
        done = done.with_tasks(_one_or_its_text(done.of((view,)), started))
    return done.tasks.values()


def _one_or_its_text(state: RefreshState, started: Callable[[str], None]) -> Iterable[Task]:
    draft, [view] = state.draft, state.views
    before = draft.copied()
    try:
        return _computed(state, started)
    except WrongType as problem:
        is_strict = state.request.policy_of(view) == "strict"
        if is_strict or view.unplanned or is_beyond_spark(view, draft.catalog):
            raise
        draft.go_back(before)
        told = problem.detail.partition("\n")[0]
        without_plan(state.work, draft, view, f"its plan fails where its text does not ({told})")
        as_text = batches(replace(state, views=(draft.catalog.views[view.name],), tasks={}))
        return _computed(as_text, started)


def _computed(state: RefreshState, started: Callable[[str], None]) -> Iterable[Task]:
    """Views of the same settings, refreshed side by side as far as they do not wait for each other."""
    known = through(COMPARED, state)

    def one(family: RefreshState, view: ViewDefinition) -> Task:
        started(view.name)
        try:
            return run(family.of((view,))).tasks[view.name]
        finally:
            known.derivations.is_finished(view.name)

    with state.work.engine.keeping():
        by_needs = families(known.derivations.in_order(known.views), known.derivations.parent)
        return side_by_side(by_needs, lambda views: through(PLANNED, known.of(views)), one)
