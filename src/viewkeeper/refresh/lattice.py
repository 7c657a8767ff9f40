"""The lattice of the summaries that are refreshed together: whose summary-delta, or state, comes from whose.

Views that go through the same changes form a lattice (mumick97 section 5). Each takes its summary-delta
from the cheapest parent, or from the changes themselves: where that costs no more, where a dimension that the
edge joins has changed, or where a declared hierarchy does not hold in the data. A view that is written anew
is computed from the smallest view that derives it, else from the base tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from math import ceil
from threading import Event

from viewkeeper.ddl.redefinition import is_outdated
from viewkeeper.inspect.lattices import sizes, summaries
from viewkeeper.inspect.promises import keeps_promises
from viewkeeper.maintenance.aggregates import must_look
from viewkeeper.maintenance.lattice.build import Lattice
from viewkeeper.maintenance.lattice.build import lattice as lattice_of
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.moved import stands_in
from viewkeeper.maintenance.lattice.parents import Statistics, choose_for_deltas, choose_for_views
from viewkeeper.maintenance.lattice.summary import Summary, is_exact
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts as Changes
from viewkeeper.maintenance.summary_delta.sources import is_merged
from viewkeeper.planning.cardinality import GROUPING, READ
from viewkeeper.planning.cost import ACTION, ROW
from viewkeeper.refresh.derivations import Derivations
from viewkeeper.refresh.passes import planned_passes
from viewkeeper.refresh.state import RefreshState
from viewkeeper.refresh.task import Task
from viewkeeper.seen import changes_of, inputs_seen
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.relation import is_same

DELTA_SIZE = "summary_delta"
"""In the report on a view: how many rows its summary-delta had, for how many changes."""


def worth_waiting() -> int:
    """Rows that take as long to read and to group as one Spark action, for which a view waits when it takes
    its summary-delta from a parent."""
    return round(ACTION / (ROW * (READ + GROUPING)))


WAITING = worth_waiting()
"""Rows that a view must save to wait for its parent's summary-delta: for fewer, working side by side is
faster, or as fast (docs/decisions/0039)."""


def lattice(state: RefreshState) -> RefreshState:
    """Adds from where views take their summary-deltas, and those that are written anew their rows."""
    if not state.request.use_lattice:
        return state
    tasks = [] if state.work.engine.is_netting else state.through_tables()
    members = {t.name: t for t in tasks if isinstance(t.view.summary, Summary) and is_merged(t.view, t.batch)}
    derivations = _stored_rows(state, _whole_states(state, _summary_deltas(state, members)))
    finished = {name: Event() for name in state.tasks}
    return replace(state, derivations=replace(derivations, finished=finished))


def _summary_deltas(state: RefreshState, known: Mapping[str, Task]) -> Derivations:
    """The cheapest edge into each view from another one that goes through the same batch."""
    nodes = lattice_of(member.summary.cube for member in known.values())

    def serves(edge: Edge) -> bool:
        parent, child = known[edge.parent.name], known[edge.child.name]
        unchanged = child.batch.changed.isdisjoint(edge.annotation)
        return unchanged and _same_past(parent, child) and keeps_promises(state.work, state.draft, edge)

    usable = Lattice(nodes.views, tuple(edge for edge in nodes.edges if serves(edge)))
    statistics = _statistics(state.draft, known.values())
    choices = choose_for_deltas(usable, statistics, Changes(frozenset()), WAITING)
    edges = {choice.view.name: choice.edge for choice in choices if choice.edge is not None}
    along = {name for edge in edges.values() for name in (edge.parent.name, edge.child.name)}
    alone = (member for name, member in known.items() if name not in along)
    return Derivations(edges, known, planned_passes(alone))


def _same_past(parent: Task, child: Task) -> bool:
    """Whether both last read the same state of what they both read."""
    return all(parent.old[table] == child.old[table] for table in parent.old.keys() & child.old.keys())


def _statistics(draft: Draft, tasks: Iterable[Task]) -> Statistics:
    """Sizes of tables and views, how many rows of the tables changed, and how many groups that will touch."""
    rows: dict[str, int] = {}
    for task in tasks:
        changes = {name: change.rows for name, change in task.batch.changes.items()}
        touched = groups_touched(task.earlier.get(DELTA_SIZE), sum(changes.values()))
        rows |= changes if touched is None else {**changes, task.name: touched}
    return Statistics(sizes(draft.relations), rows)


def groups_touched(earlier: Mapping[str, int] | None, changes: int) -> int | None:
    """The groups that so many changes touch, as far as an earlier refresh tells: more may touch more, and
    fewer as many."""
    if not earlier or not earlier["changes"]:
        return None
    return min(changes, ceil(earlier["rows"] * max(1.0, changes / earlier["changes"])))


def _whole_states(state: RefreshState, derivations: Derivations) -> Derivations:
    """The same with the smallest view that each view is derived from which is written anew whatever its batch
    (mumick97 theorem 5.1, the V-lattice): one that shows, or will show by then, the draft's base tables."""
    anew = {t.name: t for t in state.tasks.values() if state.policy_of(t) == "full" or t.is_first}
    if not anew or any(task.is_redefined for task in anew.values()):
        return derivations
    everything = summaries(state.draft.catalog)
    fresh = _fresh(state, everything.keys() - anew.keys())
    known = {n: s for n, s in everything.items() if n in anew or n in fresh}
    # A view that was never filled is as large as its fact table, for all that is known.
    rows = sizes(state.draft.relations)
    rows |= {n: rows[s.cube.fact.name] for n, s in known.items() if n in anew and anew[n].is_first}

    def serves(edge: Edge) -> bool:
        return edge.child.name in anew and keeps_promises(state.work, state.draft, edge)

    edges = _cheapest(known, serves, rows)
    return replace(derivations, anew=edges, summaries={**derivations.summaries, **known})


def _stored_rows(state: RefreshState, derivations: Derivations) -> Derivations:
    """The same with the stored views from which each view could take rows.

    All or some of its own, if they are asked for: from one that shows the draft's base tables, or is brought
    there by this refresh and waits for no other. And those that stand in for the facts where a dimension has
    changed: from one that shows what the view last read.
    """
    members = derivations.members
    facts = {task.summary.cube.fact.name for task in members.values() if _may_use_rows(state, task)}
    everything = summaries(state.draft.catalog) if facts else {}
    alike = {name: summary for name, summary in everything.items() if summary.cube.fact.name in facts}
    busy = {task.name for task in state.tasks.values() if not task.is_idle}
    fresh = _fresh(state, alike.keys() - busy)
    above = (members.keys() - derivations.edges.keys()) | fresh
    known = {name: summary for name, summary in alike.items() if name in members or name in fresh}

    def has_rows(edge: Edge) -> bool:
        by_hierarchy = any(join.level is not None for join in edge.joins)
        is_asked = edge.child.name in members and _may_ask(state, members[edge.child.name])
        return is_asked and edge.parent.name in above and not by_hierarchy and is_exact(edge)

    def had_rows(edge: Edge) -> bool:
        return edge.child.name in members and _stood_in(state, members[edge.child.name], edge)

    rows = sizes(state.draft.relations)
    moved = _cheapest(known, had_rows, rows)
    return replace(
        derivations,
        rows=_cheapest(known, has_rows, rows),
        moved=moved,
        before={e.parent.name: state.draft.relations[e.parent.name] for e in moved.values()},
        summaries={**derivations.summaries, **known},
    )


def _may_use_rows(state: RefreshState, task: Task) -> bool:
    changed_dimensions = {d.table for d in task.summary.cube.dimensions} & task.batch.changed
    return bool(changed_dimensions) or _may_ask(state, task)


def _stood_in(state: RefreshState, child: Task, edge: Edge) -> bool:
    """Whether the rows of the parent, as they are before this refresh, stand in for the facts of a view."""
    changes = [child.batch.changes[t] for t in child.batch.changed & edge.parent.tables]
    if not stands_in(edge, child.batch.changed, all(change.only_inserts for change in changes)):
        return False
    parent = state.draft.catalog.views[edge.parent.name]
    known = state.tasks.get(parent.name)
    seen = inputs_seen(state.work.log, parent) if known is None else known.old
    return all(table in seen and is_same(seen[table], child.old[table]) for table in edge.parent.tables)


def _may_ask(state: RefreshState, task: Task) -> bool:
    """Whether a view may turn out to need rows: a group has lost its extreme, or recomputation costs less."""
    return state.policy_of(task) == "auto" or must_look(task.view.top, task.batch, task.batch.changed)


def _fresh(state: RefreshState, names: Collection[str]) -> set[str]:
    """Those of some views that show the draft's base tables, under the same settings."""
    draft, settings = state.draft, state.views[0].settings
    alike = [view for view in draft.catalog.in_order() if view.name in names and view.settings == settings]
    return {
        view.name
        for view in alike
        if changes_of(state.work.log, draft, view) == {}
        and not is_outdated(view, draft.catalog, draft.relations)
    }


def _cheapest(
    known: Mapping[str, Summary], serves: Callable[[Edge], bool], rows: Mapping[str, int]
) -> dict[str, Edge]:
    """The cheapest edge into each summary, by the rows that are read along it."""
    nodes = lattice_of(summary.cube for summary in known.values())
    usable = Lattice(nodes.views, tuple(edge for edge in nodes.edges if serves(edge)))
    choices = choose_for_views(usable, Statistics(rows))
    return {choice.view.name: choice.edge for choice in choices if choice.edge is not None}
