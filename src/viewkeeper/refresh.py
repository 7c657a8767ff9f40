"""The life of a refresh: which views are stale, what changed for each, how it is maintained.

Works on a draft; the caller publishes it. Views come after the views that they read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from viewkeeper.catalog import ViewDefinition
from viewkeeper.draft import Draft
from viewkeeper.maintenance.strategy import Batch, TableChange, View
from viewkeeper.planning.planner import Choice, choose
from viewkeeper.publish import publish
from viewkeeper.relevant import Pending, relevant_batches
from viewkeeper.report import Reason, Report, ViewReport
from viewkeeper.spark.execute import Execution, layers_between
from viewkeeper.spark.relations import fold
from viewkeeper.storage.commits import Entry, WarehouseLog
from viewkeeper.storage.relation import Layer, RelationState
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

SIDE_BY_SIDE = 4
"""How many views are refreshed at the same time: planning one overlaps with running another."""

UNCHANGED = Reason("unchanged", "Nothing that the view reads has changed.")
IRRELEVANT = Reason("irrelevant", "No change of what the view reads can matter to it.")


def refresh(work: Workspace, names: Iterable[str], policy: str | None) -> Report:
    """Refreshes the named views, or every stale one, as one atomic commit."""
    before, started = work.engine.actions, time.perf_counter()
    names = tuple(names)
    reports: list[ViewReport] = []

    def build(base: Entry) -> Draft | None:
        reports.clear()
        draft = Draft(base, "refresh")
        chosen = names or (tuple(base.catalog.views) if policy == "full" else stale_views(work, base))
        reports.extend(refresh_views(work, draft, chosen, policy))
        if all(report.strategy == "none" for report in reports) and not stale_views(work, base):
            return None
        draft.report["views"] = [report.to_dict() for report in reports]
        return draft

    entry = publish(work.log, build)
    seconds = time.perf_counter() - started
    return Report(tuple(reports), entry.version, work.engine.actions - before, 0.0, seconds)


def refresh_views(
    work: Workspace, draft: Draft, names: Iterable[str], policy: str | None
) -> list[ViewReport]:
    """Brings the views, and the views that they read, to the draft's state of the base tables."""
    order = with_ancestors(draft, names)
    relevant = _relevant(work, draft, order, policy)
    done: list[ViewReport] = []

    def one(definition: ViewDefinition) -> ViewReport:
        work.progress("refresh", definition.name, len(done), len(order))
        report = _refresh_view(work, draft, definition, policy, relevant.get(definition.name))
        done.append(report)
        return report

    reports: list[ViewReport] = []
    with work.engine.keeping(), ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for level in levels(order):
            reports += pool.map(one, level)
    work.progress("refresh", "", len(order), len(order))
    return reports


def levels(order: Sequence[ViewDefinition]) -> list[list[ViewDefinition]]:
    """Views that read none of each other together; each level reads only earlier ones."""
    depth: dict[str, int] = {}
    found: list[list[ViewDefinition]] = []
    for view in order:
        depth[view.name] = max((depth[table] + 1 for table in view.tables if table in depth), default=0)
        if depth[view.name] == len(found):
            found.append([])
        found[depth[view.name]].append(view)
    return found


def _relevant(
    work: Workspace, draft: Draft, order: Iterable[ViewDefinition], policy: str | None
) -> dict[str, Batch]:
    """The batches of views that read base tables only, without changes that cannot matter."""
    pending = []
    for definition in order:
        if definition.name in draft.redefined:
            continue
        old = inputs_seen(work.log, definition)
        batch = batch_of(draft, definition, old)
        over_tables = not any(table in draft.catalog.views for table in definition.tables)
        if policy != "full" and batch is not None and batch.changes and over_tables:
            layers = {
                table: (draft.relations[table], layers_between(old[table], draft.relations[table]))
                for table, change in batch.changes.items()
                if not change.replaced
            }
            pending.append(Pending(compiled(definition, draft.catalog), batch, layers))
    return relevant_batches(work, pending)


def with_ancestors(draft: Draft, names: Iterable[str]) -> tuple[ViewDefinition, ...]:
    """The named views and every view that they read, in an order that can be worked through."""
    wanted: set[str] = set()

    def visit(name: str) -> None:
        if name in draft.catalog.views and name not in wanted:
            wanted.add(name)
            for table in draft.catalog.views[name].tables:
                visit(table)

    for name in names:
        visit(name)
    return tuple(view for view in draft.catalog.in_order() if view.name in wanted)


def _refresh_view(
    work: Workspace,
    draft: Draft,
    definition: ViewDefinition,
    policy: str | None,
    relevant: Batch | None,
) -> ViewReport:
    started = time.perf_counter()
    view = compiled(definition, draft.catalog)
    earlier = draft.redefined.pop(definition.name, None)
    old = inputs_seen(work.log, earlier or definition)
    if earlier is not None:
        view = replace(view, before=compiled(earlier, draft.base.catalog))
        batch: Batch | None = batch_since_redefined(draft, earlier, definition, old)
    else:
        batch = relevant or batch_of(draft, definition, old)
    if earlier is None and batch is not None and not batch.changes and policy != "full":
        _publish_position(draft, definition)
        reason, dropped = (IRRELEVANT if batch.rows_dropped else UNCHANGED), batch.rows_dropped
        seconds = time.perf_counter() - started
        return ViewReport(definition.name, "none", reason, 0, 0, seconds, {"rows_dropped": dropped})
    policy = policy or definition.policy
    if batch is not None:
        batch = replace(batch, may_recompute=policy == "auto")
    choice = _choice(view, batch, policy)
    own = {name: draft.relations[name] for name in (*definition.state, definition.name)}
    execution = Execution(work.engine, draft, {**old, **own}, progress=_told(work, definition.name))
    execution.run(choice.strategy.plan(view, batch or storage_of(draft, definition, {})))
    _fold(work, draft, definition)
    _publish_position(draft, definition)
    seconds = time.perf_counter() - started
    return ViewReport(
        definition.name,
        choice.strategy.name,
        _reason(choice, execution),
        execution.rows_read,
        execution.rows_written,
        seconds,
        {
            "groups_recomputed": execution.groups_recomputed,
            "steps_skipped": execution.skipped,
            "recomputed": execution.recomputed,
            "rows_dropped": batch.rows_dropped if batch else 0,
            "reads": execution.reads,
        },
    )


def _told(work: Workspace, view: str) -> Callable[[str], None]:
    """One line of progress per round of a recursion."""
    return lambda line: work.progress("iterate", f"{view}: {line}", 0, 0)


def _reason(choice: Choice, execution: Execution) -> Reason:
    if not execution.recomputed:
        return choice.reason
    names = ", ".join(execution.recomputed)
    return Reason("recomputed-stratum", f"Most of {names} was affected, so it was evaluated from scratch.")


def _fold(work: Workspace, draft: Draft, definition: ViewDefinition) -> None:
    for name in (*definition.state, definition.name):
        fold(work.engine, draft, name)


def _choice(view: View, batch: Batch | None, policy: str) -> Choice:
    if batch is None:
        first = choose(view, Batch({}, {}), "full")
        return replace(first, reason=Reason("first-fill", "The view is filled for the first time."))
    return choose(view, batch, policy)


def inputs_seen(log: WarehouseLog, definition: ViewDefinition) -> dict[str, RelationState]:
    """The inputs of a view as it last read them, and its own stored relations; empty before that."""
    if definition.position is None or definition.published is None:
        return {}
    at_position, at_publication = log.entry(definition.position), log.entry(definition.published)
    seen = {}
    for name in definition.tables:
        entry = at_publication if name in at_publication.catalog.views else at_position
        if name in entry.relations:
            seen[name] = entry.relations[name]
    return seen


def batch_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Batch | None:
    """What changed for the view since its last refresh; None before its first."""
    if definition.position is None:
        return None
    changes = {}
    for name in definition.tables:
        change = _change(old.get(name), draft.relations[name])
        if change is not None:
            changes[name] = change
    return replace(storage_of(draft, definition, old), changes=changes)


def batch_since_redefined(
    draft: Draft, earlier: ViewDefinition, definition: ViewDefinition, old: Mapping[str, RelationState]
) -> Batch:
    """What changed of the inputs that the earlier definition read; the others are as they are."""
    tables = tuple(dict.fromkeys((*earlier.tables, *definition.tables)))
    both = replace(definition, tables=tables)
    found = {name: _change(old[name], draft.relations[name]) for name in tables if name in old}
    changes = {name: change for name, change in found.items() if change is not None}
    return replace(storage_of(draft, both, old), changes=changes)


def storage_of(draft: Draft, definition: ViewDefinition, old: Mapping[str, RelationState]) -> Batch:
    """A batch without changes: how the inputs and the view itself are stored."""
    states = [(name, draft.relations[name]) for name in definition.tables]
    counted = frozenset(n for n, s in (*states, *old.items()) if s.has_pending_deletes)
    sizes = {name: state.main_rows + state.overlay_rows for name, state in states}
    own = (*definition.state, definition.name)
    stored = {name: draft.relations[name].columns for name in own if name in draft.relations}
    return Batch({}, sizes, counted, stored)


def _change(old: RelationState | None, new: RelationState) -> TableChange | None:
    if old is None or old.folder != new.folder or new.complete_since > _newest(old):
        return TableChange(new.main_rows, only_inserts=False, replaced=True)
    layers = layers_between(old, new)
    if not layers:
        return None
    inserts = new.merge is None and all(layer.only_inserts for layer in layers)
    return TableChange(sum(layer.rows for layer in layers), inserts, updates=_updates(layers))


def _updates(layers: Sequence[Layer]) -> frozenset[str] | None:
    """The columns that changed, where every layer only updates rows."""
    found: set[str] = set()
    for layer in layers:
        if layer.updates is None:
            return None
        found.update(layer.updates)
    return frozenset(found)


def _newest(state: RelationState) -> int:
    return max([state.complete_since, *(layer.commit for layer in state.log)])


def _publish_position(draft: Draft, definition: ViewDefinition) -> None:
    """The view now shows the draft's base tables; it becomes visible with the draft's entry."""
    view = replace(definition, position=draft.position, published=draft.version)
    draft.put_view(view)


def stale_views(work: Workspace, entry: Entry) -> tuple[str, ...]:
    """Views that are not filled yet, or whose inputs changed since they were."""
    draft = Draft(entry, "")
    stale: set[str] = set()
    for view in entry.catalog.in_order():
        batch = batch_of(draft, view, inputs_seen(work.log, view))
        if batch is None or batch.changes or any(table in stale for table in view.tables):
            stale.add(view.name)
    return tuple(view.name for view in entry.catalog.in_order() if view.name in stale)
