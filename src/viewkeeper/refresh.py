"""The life of a refresh: which views are stale, what changed for each, how it is maintained.

Works on a draft; the caller publishes it. Views come after the views that they read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import count

from viewkeeper.batches import batch_of, inputs_seen, last_details
from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.errors import WrongType
from viewkeeper.lattices import Member, member_of, planned
from viewkeeper.maintenance.cubes import SummaryDelta
from viewkeeper.maintenance.id_diffs import Definition as ByIds
from viewkeeper.maintenance.lattice.summary import GroupingSets, Summary
from viewkeeper.maintenance.strategy import Batch
from viewkeeper.materialization import Anew, planned_anew
from viewkeeper.planning.planner import require_strategy
from viewkeeper.propagation import set_aside, take_over
from viewkeeper.publish import publish
from viewkeeper.redefinition import STATE_CHANGED, is_outdated, renew_outdated
from viewkeeper.refresh_family import Family, plan_family
from viewkeeper.refresh_view import Refresh, was_maintained
from viewkeeper.relevant import Pending, relevant_batches
from viewkeeper.report import Checked, Reason, Report, ViewReport, in_users_names
from viewkeeper.shadow import check_views
from viewkeeper.side_by_side import workers
from viewkeeper.spark.relations import fold
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import layers_between
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

SIDE_BY_SIDE = 4
"""How many views are refreshed at the same time: planning one overlaps with running another."""

PROPAGATED = Reason("propagated", "Its summary-delta was computed before; it is taken over.")


def refresh(
    work: Workspace,
    names: Iterable[str],
    policy: str | None,
    use_lattice: bool = True,
    check: float | None = None,
) -> Report:
    """Refreshes the named views, or every stale one, as one atomic commit; a share of them is checked."""
    names = tuple(names)

    def chosen(draft: Draft) -> tuple[str, ...]:
        return names or (tuple(draft.catalog.views) if policy == "full" else stale_views(work, draft.base))

    def finish(draft: Draft, reports: Sequence[ViewReport]) -> Draft | None:
        fold_views(work, draft, reports)
        idle = all(report.strategy == "none" for report in reports)
        return None if idle and not stale_views(work, draft.base) else draft

    def checked(draft: Draft, reports: Sequence[ViewReport]) -> tuple[Checked, ...]:
        return check_views(work, draft, reports, check)

    return _published(work, "refresh", chosen, policy, finish, use_lattice, checked)


def propagate(work: Workspace, names: Iterable[str], use_lattice: bool = True) -> Report:
    """Computes the summary-deltas of stale views for the next refresh; what readers see stays."""
    names = tuple(names)

    def chosen(draft: Draft) -> tuple[str, ...]:
        stale = [n for n in stale_views(work, draft.base) if not names or n in names]
        return tuple(name for name in stale if _has_summary_delta(work, draft, draft.catalog.views[name]))

    def finish(draft: Draft, reports: Sequence[ViewReport]) -> Draft | None:
        set_aside(draft)
        return draft if any(report.strategy != "none" for report in reports) else None

    return _published(work, "propagate", chosen, "incremental", finish, use_lattice)


def _published(
    work: Workspace,
    operation: str,
    chosen: Callable[[Draft], Iterable[str]],
    policy: str | None,
    finish: Callable[[Draft, Sequence[ViewReport]], Draft | None],
    use_lattice: bool,
    check: Callable[[Draft, Sequence[ViewReport]], tuple[Checked, ...]] = lambda draft, reports: (),
) -> Report:
    """Computes new states of views, does with them what is to be done, and commits; both are timed."""
    before, started = work.engine.actions, time.perf_counter()
    computed = started
    reports: list[ViewReport] = []
    checked: list[Checked] = []

    def build(base: Entry) -> Draft | None:
        nonlocal computed
        draft = Draft(base, operation)
        reports[:] = compute_views(work, draft, chosen(draft), policy, use_lattice)
        draft.report["views"] = [report.to_dict() for report in reports]
        computed = time.perf_counter()
        finished = finish(draft, reports)
        checked[:] = check(finished, reports) if finished is not None else ()
        return finished

    entry = publish(work.log, build)
    ended = time.perf_counter()
    actions = work.engine.actions - before
    made_visible = ended - computed - sum(one.seconds for one in checked)
    shown = tuple(map(in_users_names, reports))
    return Report(shown, entry.version, actions, computed - started, made_visible, tuple(checked))


def _has_summary_delta(work: Workspace, draft: Draft, definition: ViewDefinition) -> bool:
    """Whether a view over base tables can be maintained by its summary-delta alone."""
    if definition.policy == "full" or any(table in draft.catalog.views for table in definition.tables):
        return False
    if is_outdated(definition, draft.catalog, draft.relations):
        return False
    start = replace(definition, position=definition.propagated or definition.position)
    batch = batch_of(draft, start, inputs_seen(work.log, start))
    if batch is None or not batch.changes:
        return False
    view = compiled(definition, draft.catalog)
    return isinstance(view.summary, Summary | GroupingSets) and SummaryDelta().refuse(view, batch) is None


def refresh_views(
    work: Workspace, draft: Draft, names: Iterable[str], policy: str | None
) -> list[ViewReport]:
    """Brings the views, and the views that they read, to the draft's state of the base tables."""
    reports = compute_views(work, draft, names, policy)
    fold_views(work, draft, reports)
    check_views(work, draft, reports, None)
    return reports


def compute_views(
    work: Workspace, draft: Draft, names: Iterable[str], policy: str | None, use_lattice: bool = True
) -> list[ViewReport]:
    """Appends to the views what changed, or writes them anew; nothing is folded yet."""
    names = tuple(names)
    renewed = renew_outdated(work, draft, with_ancestors(draft, names), policy)
    taken = take_over(draft, with_ancestors(draft, names)) if policy != "full" else frozenset()
    order = with_ancestors(draft, names)
    _check_strict(work, draft, order, policy)
    done: dict[str, ViewReport] = {}
    number = count()

    def started(name: str) -> None:
        work.progress("refresh", name, next(number), len(order))

    for views in by_settings(order):
        with work.under(views[0]):
            compute = partial(_computed, work, draft, views, policy, use_lattice, started)
            done |= _computed_or_netted(work, draft, views, compute)
    work.progress("refresh", "", len(order), len(order))
    marked = {name for name in taken if done[name].strategy == "none"}
    done |= {name: _taken_over(done[name]) for name in marked}
    done |= {name: replace(done[name], reason=STATE_CHANGED) for name in renewed}
    return [done[view.name] for view in order]


def _computed_or_netted(
    work: Workspace,
    draft: Draft,
    views: Iterable[ViewDefinition],
    compute: Callable[[], dict[str, ViewReport]],
) -> dict[str, ViewReport]:
    """What is computed; where a value does not fit an expression, once more without rows that came and went.

    Signed rows are not netted before expressions are evaluated, which may fail for a row that is gone. Sums
    of ID-based diffs may not fit on the way.
    """
    before = draft.copied()
    try:
        return compute()
    except WrongType:
        by_ids = any(isinstance(compiled(v, draft.catalog).by_ids, ByIds) for v in views)
        if not by_ids and not any(state.has_deleted for state in before.relations.values()):
            raise
        draft.go_back(before)
        with work.engine.netting(), work.engine.keeping():
            return compute()


def _taken_over(report: ViewReport) -> ViewReport:
    return replace(report, strategy=SummaryDelta.name, reason=PROPAGATED)


def by_settings(order: Sequence[ViewDefinition]) -> list[tuple[ViewDefinition, ...]]:
    """Views in turns, those of one turn having the same settings; each after the views that it reads."""
    waiting, turns = list(order), []
    while waiting:
        settings, turn = waiting[0].settings, []
        left: set[str] = set()
        for view in waiting:
            if view.settings == settings and left.isdisjoint(view.reads):
                turn.append(view)
            else:
                left.add(view.name)
        waiting = [view for view in waiting if view.name in left]
        turns.append(tuple(turn))
    return turns


def _computed(
    work: Workspace,
    draft: Draft,
    order: Sequence[ViewDefinition],
    policy: str | None,
    use_lattice: bool,
    started: Callable[[str], None],
) -> dict[str, ViewReport]:
    """The reports on views of the same settings."""
    relevant = _relevant(work, draft, order, policy)
    members = lattice_members(work, draft, order, policy, relevant) if use_lattice else ()
    deltas = planned(work, draft, members)
    anew = _planned_anew(work, draft, order, policy) if use_lattice else Anew()
    known = Refresh(work, draft, policy, relevant, deltas, anew)

    def one(family: Family, name: str) -> ViewReport:
        started(name)
        return family.run(name)

    with work.engine.keeping():
        by_needs = families(order, lambda name: anew.parent(name) or deltas.parent(name))
        return _side_by_side(by_needs, lambda views: plan_family(known, views), one)


def _check_strict(work: Workspace, draft: Draft, order: Sequence[ViewDefinition], policy: str | None) -> None:
    """Strict views that no strategy can maintain fail before any work is done for them or for others.

    What a view that is not refreshed yet will hand on is not known here: it is asked again when it is.
    """
    for definition in order:
        if (policy or definition.policy) != "strict" or definition.name in draft.redefined:
            continue
        batch = batch_of(draft, definition, inputs_seen(work.log, definition))
        if batch is not None and (batch.changes or any(t in draft.catalog.views for t in definition.tables)):
            require_strategy(compiled(definition, draft.catalog), batch)


def fold_views(work: Workspace, draft: Draft, reports: Iterable[ViewReport]) -> None:
    """Folds the layers of views that changed where they have grown too many."""
    changed = [draft.catalog.views[report.view] for report in reports if report.strategy != "none"]
    for views in by_settings(changed):
        names = [name for v in views for name in (*v.state, v.name) if draft.relations[name].overlay]
        with work.under(views[0]), workers(len(names), SIDE_BY_SIDE) as pool:
            list(pool.map(lambda name: fold(work.engine, draft, name), names))


def _side_by_side(
    by_needs: Mapping[frozenset[str], list[ViewDefinition]],
    plan: Callable[[Sequence[ViewDefinition]], Family],
    one: Callable[[Family, str], ViewReport],
) -> dict[str, ViewReport]:
    """Plans each family as soon as what it waits for is done, and then does its views.

    Families stand after what they wait for, so a thread that waits waits for one that works.
    """
    started: dict[str, Future[ViewReport]] = {}

    def after(needed: Iterable[Future[ViewReport]], views: Sequence[ViewDefinition]) -> Family:
        for other in needed:
            other.result()
        return plan(views)

    with workers(sum(map(len, by_needs.values())), SIDE_BY_SIDE) as pool:
        for names, views in by_needs.items():
            family = pool.submit(after, [started[name] for name in names], views)
            for view in views:
                started[view.name] = pool.submit(lambda f, n: one(f.result(), n), family, view.name)
    return {name: future.result() for name, future in started.items()}


def families(
    order: Sequence[ViewDefinition], parent: Callable[[str], str | None]
) -> dict[frozenset[str], list[ViewDefinition]]:
    """Views by what they wait for: views that they read, and their parent in the lattice; those first that
    others wait for."""
    views = {view.name: view for view in order}
    needs = {
        name: frozenset(other for other in (*view.reads, parent(name)) if other in views)
        for name, view in views.items()
    }
    found: dict[frozenset[str], list[ViewDefinition]] = {}

    def place(names: frozenset[str]) -> None:
        if names in found:
            return
        for name in names:
            place(needs[name])
        found[names] = [views[name] for name in views if needs[name] == names]

    for name in views:
        place(needs[name])
    return found


def _planned_anew(work: Workspace, draft: Draft, order: Sequence[ViewDefinition], policy: str | None) -> Anew:
    """The views that are written anew whatever their batch, and where from."""
    anew = [v.name for v in order if (policy or v.policy) == "full" or v.position is None]
    if not anew or any(name in draft.redefined for name in anew):
        return Anew()
    settings = order[0].settings
    others = [v for v in draft.catalog.in_order() if v.name not in anew and v.settings == settings]
    return planned_anew(work, draft, anew, [view.name for view in others if _is_fresh(work, draft, view)])


def _is_fresh(work: Workspace, draft: Draft, view: ViewDefinition) -> bool:
    batch = batch_of(draft, view, inputs_seen(work.log, view))
    return batch is not None and not batch.changes and not is_outdated(view, draft.catalog, draft.relations)


def lattice_members(
    work: Workspace,
    draft: Draft,
    order: Iterable[ViewDefinition],
    policy: str | None,
    batches: Mapping[str, Batch | None],
) -> Iterator[Member]:
    """The views that are maintained by their summary-deltas."""
    for definition in order:
        view, old = compiled(definition, draft.catalog), inputs_seen(work.log, definition)
        member = member_of(view, batches.get(definition.name), old)
        if member is not None and (policy or definition.policy) != "full":
            yield member


def _relevant(
    work: Workspace, draft: Draft, order: Iterable[ViewDefinition], policy: str | None
) -> dict[str, Batch]:
    """The batches of views that read base tables only, without changes that cannot matter."""
    if work.engine.is_netting:
        return {}
    pending = []
    for definition in order:
        if definition.name in draft.redefined:
            continue
        old = inputs_seen(work.log, definition)
        batch = batch_of(draft, definition, old)
        over_tables = not any(table in draft.catalog.views for table in definition.tables)
        full = (policy or definition.policy) == "full"
        if not full and batch is not None and batch.changes and over_tables:
            layers = {
                table: (draft.relations[table], layers_between(old[table], draft.relations[table]))
                for table, change in batch.changes.items()
                if not change.replaced
            }
            had_use = was_maintained(last_details(draft.base, work.log, definition.name))
            pending.append(Pending(compiled(definition, draft.catalog), batch, layers, had_use))
    return relevant_batches(work, pending)


def with_ancestors(draft: Draft, names: Iterable[str]) -> tuple[ViewDefinition, ...]:
    """The named views and every view that they read, in an order that can be worked through."""
    wanted: set[str] = set()

    def visit(name: str) -> None:
        if name in draft.catalog.views and name not in wanted:
            wanted.add(name)
            for table in draft.catalog.views[name].reads:
                visit(table)

    for name in names:
        visit(name)
    return tuple(view for view in draft.catalog.in_order() if view.name in wanted)


def stale_views(work: Workspace, entry: Entry) -> tuple[str, ...]:
    """Views that are not filled yet, or whose inputs changed since they were."""
    draft = Draft(entry, "")
    stale: set[str] = set()
    for view in entry.catalog.in_order():
        batch = batch_of(draft, view, inputs_seen(work.log, view))
        if batch is None or batch.changes or any(table in stale for table in view.reads):
            stale.add(view.name)
    return tuple(view.name for view in entry.catalog.in_order() if view.name in stale)
