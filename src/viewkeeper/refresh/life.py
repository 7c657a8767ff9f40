"""The life of a refresh: which views it is about, what each goes through, how that is done, and what is told.

Works on a draft that nobody sees before it is published. Where another writer publishes first, all of it is
done again (`publish.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count

from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.errors import WrongType
from viewkeeper.maintenance.cubes import SummaryDelta
from viewkeeper.maintenance.lattice.summary import GroupingSets, Summary
from viewkeeper.publish import publish
from viewkeeper.refresh.batches import batch_of, batches, inputs_seen
from viewkeeper.refresh.check import check
from viewkeeper.refresh.choose import choose
from viewkeeper.refresh.derive import derive
from viewkeeper.refresh.fold import fold
from viewkeeper.refresh.fresh_keys import fresh_keys
from viewkeeper.refresh.lattice import lattice
from viewkeeper.refresh.relevance import relevance
from viewkeeper.refresh.run import run
from viewkeeper.refresh.share import share
from viewkeeper.refresh.stale import stale, stale_views
from viewkeeper.refresh.state import RefreshState, Stage, through
from viewkeeper.refresh.strict import strict
from viewkeeper.refresh.take_over import set_aside, take_over
from viewkeeper.refresh.together import by_settings, families, side_by_side
from viewkeeper.report import Report, ViewReport, in_users_names
from viewkeeper.storage.commits import Entry
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

BEGUN: tuple[Stage, ...] = (
    stale,  # which views: those asked for, or the stale ones, and the views that they read
    take_over,  # what `propagate` has computed becomes part of the views
    strict,  # a strict view that no strategy can maintain fails here, before any work
)
"""Once, for all views."""

COMPARED: tuple[Stage, ...] = (
    batches,  # the inputs that changed since a view last read them, and how all is stored
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

STAGES = (*BEGUN, *COMPARED, *PLANNED, run, *DONE)
"""All stages; `run` is one view's: its script is executed, and the report on it made."""


def refresh(
    work: Workspace,
    names: Iterable[str],
    policy: str | None,
    use_lattice: bool = True,
    check: float | None = None,
) -> Report:
    """Refreshes the named views, or every stale one, as one atomic commit; a share of them is checked."""
    names = tuple(names)

    def begin(draft: Draft) -> RefreshState:
        asked = names or (tuple(draft.catalog.views) if policy == "full" else None)
        return RefreshState(work, draft, policy, asked, use_lattice, check)

    def has_news(state: RefreshState) -> bool:
        return bool(state.changed) or bool(stale_views(work.log, state.draft.base))

    return _published("refresh", work, begin, DONE, has_news)


def propagate(work: Workspace, names: Iterable[str], use_lattice: bool = True) -> Report:
    """Computes the summary-deltas of stale views for the next refresh; what readers see stays."""
    names = tuple(names)

    def begin(draft: Draft) -> RefreshState:
        behind = [name for name in stale_views(work.log, draft.base) if not names or name in names]
        asked = tuple(n for n in behind if _has_summary_delta(work, draft, draft.catalog.views[n]))
        return RefreshState(work, draft, "incremental", asked, use_lattice)

    return _published("propagate", work, begin, (set_aside,), lambda state: bool(state.changed))


def refresh_views(work: Workspace, draft: Draft, names: Iterable[str]) -> None:
    """Brings the views, and the views that they read, to the draft's state of the base tables."""
    done = through(DONE, computed(RefreshState(work, draft, asked=tuple(names))))
    draft.report["views"] = [report.to_dict() for report in done.reports]


def _published(
    operation: str,
    work: Workspace,
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
        done = computed(begin(Draft(base, operation)))
        done.draft.report["views"] = [report.to_dict() for report in done.reports]
        ready = time.perf_counter()
        done = through(last, done)
        return done.draft if has_news(done) else None

    entry = publish(work.log, build)
    made_visible = time.perf_counter() - ready - sum(one.seconds for one in done.checked)
    actions, shown = work.engine.actions - before, tuple(map(in_users_names, done.reports))
    return Report(shown, entry.version, actions, ready - started, made_visible, done.checked)


def computed(state: RefreshState) -> RefreshState:
    """Appends to the views what changed, or writes them anew; nothing is folded yet."""
    state = through(BEGUN, state)
    work, number, all_views = state.work, count(), len(state.views)
    state = replace(state, started=lambda name: work.progress("refresh", name, next(number), all_views))
    done: dict[str, ViewReport] = {}
    for views in by_settings(state.views):
        with work.under(views[0]):
            done |= _computed_or_netted(state.of(views))
    work.progress("refresh", "", all_views, all_views)
    return replace(state, reports=tuple(done[view.name] for view in state.views))


def _computed_or_netted(state: RefreshState) -> Mapping[str, ViewReport]:
    """What is computed; where a value does not fit an expression, once more without rows that came and went.

    Signed rows are not netted before expressions are evaluated, which may fail for a row that is gone.
    """
    work, draft, before = state.work, state.draft, state.draft.copied()
    try:
        return _computed(state)
    except WrongType:
        if not any(relation.has_deleted for relation in before.relations.values()):
            raise
        draft.go_back(before)
        with work.engine.netting(), work.engine.keeping():
            return _computed(state)


def _computed(state: RefreshState) -> Mapping[str, ViewReport]:
    """The reports on views of the same settings."""
    known = through(COMPARED, state)

    def one(family: RefreshState, view: ViewDefinition) -> ViewReport:
        report = run(family.of((view,))).tasks[view.name].report
        assert report is not None
        return report

    with state.work.engine.keeping():
        return side_by_side(families_of(known), lambda views: through(PLANNED, known.of(views)), one)


def families_of(state: RefreshState) -> Mapping[frozenset[str], list[ViewDefinition]]:
    """The views by what they wait for; a parent in the lattice is waited for like a view that is read."""
    return families(state.views, lambda name: state.anew.parent(name) or state.deltas.parent(name))


def _has_summary_delta(work: Workspace, draft: Draft, definition: ViewDefinition) -> bool:
    """Whether a view over base tables can be maintained by its summary-delta alone."""
    if definition.policy == "full" or any(table in draft.catalog.views for table in definition.tables):
        return False
    start = replace(definition, position=definition.propagated or definition.position)
    batch, view = batch_of(draft, start, inputs_seen(work.log, start)), compiled(definition, draft.catalog)
    is_cube = isinstance(view.summary, Summary | GroupingSets)
    return bool(batch.changes) and is_cube and SummaryDelta().refuse(view, batch) is None
