"""The lattice of the summaries that are refreshed together: whose summary-delta comes from whose.

Views that go through the same changes form a lattice (mumick97 section 5). Each takes its summary-delta
from the cheapest parent, or from the changes themselves: where that costs no more, where a dimension that the
edge joins has changed, or where a declared hierarchy does not hold in the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import columns_of
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.batches import last_details
from viewkeeper.catalog import Catalog
from viewkeeper.delta.summary_delta import summary_columns
from viewkeeper.draft import Draft
from viewkeeper.maintenance.aggregates import met_name, must_look
from viewkeeper.maintenance.cubes import SummaryDelta
from viewkeeper.maintenance.lattice.build import Lattice, lattice
from viewkeeper.maintenance.lattice.choose import Statistics, choose_for_deltas, choose_for_views
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.draw import Drawing, drawing
from viewkeeper.maintenance.lattice.friendly import hidden_columns, lattice_friendly, with_hidden
from viewkeeper.maintenance.lattice.hierarchy import violations
from viewkeeper.maintenance.lattice.one_pass import OnePass
from viewkeeper.maintenance.lattice.summary import (
    GroupingSets,
    Summary,
    edge_summary_delta,
    is_exact,
    stored_edge,
)
from viewkeeper.maintenance.strategy import Batch, View, bound
from viewkeeper.maintenance.summary_delta.prepare import Batch as Changes
from viewkeeper.passes import planned_passes
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.relation import RelationState, layers_between
from viewkeeper.views import compiled
from viewkeeper.workspace import Workspace

DELTA_SIZE = "summary_delta"
"""In the report on a view: how many rows its summary-delta had, for how many changes."""

WAITING = 500_000
"""Rows that a view must save to wait for its parent's summary-delta: for fewer, working side by side was
measured to be faster, or as fast (docs/findings.md)."""


@dataclass(frozen=True)
class Member:
    """A view that is refreshed by its summary-delta; `old` are its inputs as it last read them."""

    view: View
    batch: Batch
    old: Mapping[str, RelationState]

    @property
    def summary(self) -> Summary:
        assert isinstance(self.view.summary, Summary)
        return self.view.summary


def member_of(view: View, batch: Batch | None, old: Mapping[str, RelationState]) -> Member | None:
    """The view as a member of the lattice; none where nothing changed, or it has no summary-delta."""
    if batch is None or not batch.changes or not isinstance(view.summary, Summary):
        return None
    return Member(view, batch, old) if SummaryDelta().refuse(view, batch) is None else None


@dataclass
class Deltas:
    """The edges chosen, by child, the passes over changes, by view, and the summary-deltas that are there."""

    edges: Mapping[str, Edge] = field(default_factory=dict)
    members: Mapping[str, Member] = field(default_factory=dict)
    passes: Mapping[str, OnePass] = field(default_factory=dict)
    done: dict[str, Execution] = field(default_factory=dict)

    def parent(self, name: str) -> str | None:
        return self.edges[name].parent.name if name in self.edges else None

    def along(self, name: str) -> Edge | None:
        """The edge into a view whose parent's summary-delta is there."""
        edge = self.edges.get(name)
        return edge if edge is not None and edge.parent.name in self.done else None

    def batch(self, name: str, batch: Batch) -> Batch:
        """The batch of a view, with its summary-delta where that comes from a parent, or from a pass."""
        if name in self.passes:
            return replace(batch, summary=self.passes[name].part(name))
        edge = self.along(name)
        batch = replace(batch, handed_on=name in map(self.parent, self.edges))
        return batch if edge is None else self.by(edge, batch)

    def by(self, edge: Edge, batch: Batch) -> Batch:
        """The batch of a view with its summary-delta along an edge."""
        parent, child = self.members[edge.parent.name], self.members[edge.child.name]
        delta = Reference(delta_of(parent.view.name), self._columns(parent))
        stored = stored_edge(edge, batch.counted)
        return replace(batch, summary=edge_summary_delta(stored, parent.summary, child.summary, delta))

    def supply(self, name: str, execution: Execution) -> None:
        """Gives a view's script the summary-delta of its parent."""
        edge = self.along(name)
        if edge is not None:
            parent = edge.parent.name
            supply_delta(execution, self.done[parent], parent, self._looked(self.members[parent]))

    def _looked(self, member: Member) -> bool:
        return must_look(member.view.top, member.batch, member.batch.changed)

    def _columns(self, member: Member) -> tuple[str, ...]:
        state = member.summary.state
        return summary_columns(state) if self._looked(member) else state.columns


def delta_of(view: str) -> str:
    """The name of a view's summary-delta in the scripts of its children."""
    return f"__sd__{view}"


def supply_delta(child: Execution, parent: Execution, name: str, looked: bool) -> None:
    """What the parent's script appended, or what it held against the stored groups."""
    if looked:
        child.supply(delta_of(name), parent.result(met_name(name)))
        return
    state = child.draft.relations[name]
    layers = layers_between(parent.old[name], state)
    child.supply_layers(delta_of(name), state, layers)


def planned(work: Workspace, draft: Draft, members: Iterable[Member]) -> Deltas:
    """The cheapest edge into each view from another one that goes through the same batch."""
    known = {member.view.name: member for member in members}
    nodes = lattice(member.summary.cube for member in known.values())

    def serves(edge: Edge) -> bool:
        parent, child = known[edge.parent.name], known[edge.child.name]
        unchanged = child.batch.changed.isdisjoint(edge.annotation)
        return unchanged and _same_past(parent, child) and keeps_promises(work, draft, edge)

    usable = Lattice(nodes.views, tuple(edge for edge in nodes.edges if serves(edge)))
    statistics = _statistics(work, draft, known.values())
    choices = choose_for_deltas(usable, statistics, Changes(frozenset()), WAITING)
    edges = {choice.view.name: choice.edge for choice in choices if choice.edge is not None}
    along = {name for edge in edges.values() for name in (edge.parent.name, edge.child.name)}
    alone = (member for name, member in known.items() if name not in along)
    return Deltas(edges, known, planned_passes(alone))


def _same_past(parent: Member, child: Member) -> bool:
    """Whether both last read the same state of what they both read."""
    return all(parent.old[table] == child.old[table] for table in parent.old.keys() & child.old.keys())


def _statistics(work: Workspace, draft: Draft, members: Iterable[Member]) -> Statistics:
    """Sizes of tables and views, how many rows of the tables changed, and how many groups that will touch."""
    rows: dict[str, int] = {}
    for member in members:
        changes = {name: change.rows for name, change in member.batch.changes.items()}
        earlier = last_details(draft.base, work.log, member.view.name)
        touched = groups_touched(earlier.get(DELTA_SIZE), sum(changes.values()))
        rows |= changes if touched is None else {**changes, member.view.name: touched}
    return Statistics(sizes(draft.relations), rows)


def groups_touched(earlier: Mapping[str, int] | None, changes: int) -> int | None:
    """The groups that so many changes touch, as far as an earlier refresh tells: more may touch more, and
    fewer as many."""
    if not earlier or not earlier["changes"]:
        return None
    return min(changes, ceil(earlier["rows"] * max(1.0, changes / earlier["changes"])))


def sizes(relations: Mapping[str, RelationState]) -> dict[str, int]:
    """The rows that are stored of each relation."""
    return {name: state.stored_rows for name, state in relations.items()}


@dataclass(frozen=True)
class Node:
    """A stored summary of base tables: a view, or one grouping set of a view."""

    view: str
    summary: Summary

    @property
    def name(self) -> str:
        """The relation that stores it."""
        return self.summary.cube.name

    @property
    def title(self) -> str:
        """What people call it: a grouping set after its view and what it groups by."""
        grouped = (key.name for key in self.summary.cube.keys if columns_of(key.expr))
        return self.view if self.name == self.view else f"{self.view}({', '.join(grouped)})"


def stored_nodes(catalog: Catalog) -> dict[str, Node]:
    """All summaries of base tables that are stored, by relation."""
    found = []
    for definition in catalog.in_order():
        summary = compiled(definition, catalog).summary
        own = summary.nodes if isinstance(summary, GroupingSets) else (summary,)
        found += [Node(definition.name, node) for node in own if isinstance(node, Summary)]
    return {node.name: node for node in found if node.summary.cube.tables <= catalog.tables.keys()}


def summaries(catalog: Catalog) -> dict[str, Summary]:
    """The views over base tables that are generalized cube views."""
    return {name: node.summary for name, node in stored_nodes(catalog).items() if node.view == name}


def extensions(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """The hidden columns that make the views lattice-friendly (mumick97 section 5.2): of each view to which
    they are new."""
    friendly = lattice_friendly(with_hidden(summary.cube, ()) for summary in summaries(catalog).values())
    found = {cube.name: tuple(expr.sql() for expr in hidden_columns(cube)) for cube in friendly.views}
    return {name: hidden for name, hidden in found.items() if hidden != catalog.views[name].hidden}


def drawn(entry: Entry) -> Drawing:
    """The lattice of all views of a warehouse, with their sizes and the cheapest edge into each."""
    known = stored_nodes(entry.catalog)
    rows = sizes(entry.relations)
    titled = Statistics({**rows, **{node.title: rows[name] for name, node in known.items()}})
    nodes = lattice(node.summary.cube.renamed(node.title) for node in known.values())
    return drawing(nodes, titled.rows, choose_for_views(nodes, titled))


def keeps_promises(work: Workspace, draft: Draft, edge: Edge) -> bool:
    """Whether an edge loses no digits, and the hierarchies along which it joins hold in the data."""
    return is_exact(edge) and all(
        _holds(work, draft, join.dimension.table, join.level, supplied)
        for join in edge.joins
        if join.level is not None
        for supplied in join.supplies
    )


def _holds(work: Workspace, draft: Draft, table: str, finer: str, coarser: str) -> bool:
    """Whether a declared hierarchy is true of a dimension; looked up once for each of its states."""
    state = draft.relations[table]
    names = tuple(name.rsplit("].", 1)[-1] for name in (finer, coarser))
    question = (table, state.folder, state.main_version, state.overlay, names)
    if question not in work.answers:
        counted = frozenset({table} if state.has_pending_deletes else ())
        plan: Relation = plain(bound(violations(draft.catalog.tables[table], *names), counted))
        frame = Execution(work.engine, draft, {}).frame(plan)
        work.answers[question] = not work.engine.rows(frame, 1)
    return work.answers[question]
