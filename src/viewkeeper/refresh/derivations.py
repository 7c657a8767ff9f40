"""What the views of a refresh take from each other: summary-deltas, and whole states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event

from viewkeeper.algebra.build import bound_columns
from viewkeeper.algebra.relations import Reference, Relation, Scan
from viewkeeper.catalog.catalog import ViewDefinition
from viewkeeper.delta.summary_delta import summary_columns
from viewkeeper.maintenance.aggregates import met_name, must_look
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.one_pass import OnePass
from viewkeeper.maintenance.lattice.summary import Summary, edge_state, edge_summary_delta, stored_edge
from viewkeeper.maintenance.strategy import Offer
from viewkeeper.refresh.task import Task
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.relation import RelationState, layers_between


@dataclass(frozen=True)
class Derivations:
    """Which views of a refresh take what from which, by child.

    Summary-deltas come along `edges`, or from `passes` over the changes; `members` are the views that have
    one, and `done` those whose summary-delta is there: None where it is only expected. The rows of views
    that are written anew come along the edges of `anew`, between `summaries`. Along those of `rows` a view
    can take all its groups, or some, if it turns out to need them: only then is the parent waited for. Along
    those of `moved` a dimension has changed, and the parent's rows in `before` stand in for the facts.
    """

    edges: Mapping[str, Edge] = field(default_factory=dict)
    members: Mapping[str, Task] = field(default_factory=dict)
    passes: Mapping[str, OnePass] = field(default_factory=dict)
    anew: Mapping[str, Edge] = field(default_factory=dict)
    rows: Mapping[str, Edge] = field(default_factory=dict)
    moved: Mapping[str, Edge] = field(default_factory=dict)
    before: Mapping[str, RelationState] = field(default_factory=dict)
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    done: dict[str, Execution | None] = field(default_factory=dict)
    finished: Mapping[str, Event] = field(default_factory=dict)

    def parent(self, name: str) -> str | None:
        """The view that must be done before a view is planned."""
        edge = self.anew.get(name) or self.edges.get(name)
        return None if edge is None else edge.parent.name

    def whole(self, name: str) -> str | None:
        """The view of which a view's rows are a summary."""
        edge = self.anew.get(name) or self.rows.get(name)
        return None if edge is None else edge.parent.name

    def in_order(self, views: Sequence[ViewDefinition]) -> list[ViewDefinition]:
        """The views, each after the one whose rows it may ask for: who waits, waits for one that works."""

        def above(view: ViewDefinition) -> int:
            edge = self.rows.get(view.name)
            return 0 if edge is None else 1 + depth.get(edge.parent.name, 0)

        depth: dict[str, int] = {}
        for _ in self.rows:
            depth = {view.name: above(view) for view in views}
        return sorted(views, key=lambda view: depth.get(view.name, 0))

    def rows_before(self, name: str) -> dict[str, RelationState]:
        """The rows of another view that stand in for the facts of a view."""
        edge = self.moved.get(name)
        return {} if edge is None else {edge.parent.name: self.before[edge.parent.name]}

    def await_rows(self, name: str, table: str) -> None:
        """Waits for the new rows of a view that another one reads, where they are being made."""
        edge = self.rows.get(name)
        if edge is not None and edge.parent.name == table and table in self.finished:
            self.finished[table].wait()

    def along(self, name: str) -> Edge | None:
        """The edge into a view whose parent's summary-delta is there."""
        edge = self.edges.get(name)
        return edge if edge is not None and edge.parent.name in self.done else None

    def offer(self, name: str, counted: frozenset[str]) -> Offer:
        """What a view gets from a parent, or from a pass, and whether others get something from it."""
        state = self._state(name, counted)
        if name in self.passes:
            return Offer(self.passes[name].part(name), state)
        handed_on = any(edge.parent.name == name for edge in self.edges.values())
        summary = self._summary_delta(name, counted)
        moved = self.moved.get(name) if summary is None else None
        before = None if moved is None else (moved, self.summaries[moved.parent.name])
        return Offer(summary, state, before, handed_on)

    def _summary_delta(self, name: str, counted: frozenset[str]) -> Relation | None:
        """The summary-delta of a view as it follows from that of its parent."""
        edge = self.along(name)
        if edge is None:
            return None
        parent, child = self.members[edge.parent.name], self.members[name]
        delta = Reference(delta_of(parent.name), self._columns(parent))
        return edge_summary_delta(stored_edge(edge, counted), parent.summary, child.summary, delta)

    def _state(self, name: str, counted: frozenset[str]) -> Relation | None:
        """The whole state of a view as it follows from that of its parent."""
        found = self.anew.get(name) or self.rows.get(name)
        if found is None:
            return None
        edge = stored_edge(found, counted)
        parent, child = self.summaries[edge.parent.name], self.summaries[name]
        return edge_state(edge, parent, child, Scan(edge.parent.name, bound_columns(parent.state.columns)))

    def is_finished(self, name: str) -> None:
        """Tells those who wait for the rows of a view that they are there, or never will be."""
        if name in self.finished:
            self.finished[name].set()

    def supply(self, name: str, execution: Execution) -> None:
        """Gives a view's script the summary-delta of its parent."""
        edge = self.along(name)
        done = None if edge is None else self.done[edge.parent.name]
        if edge is not None and done is not None:
            looks_up = self._looks_up(self.members[edge.parent.name])
            _supply_delta(execution, done, edge.parent.name, looks_up)

    def _looks_up(self, member: Task) -> bool:
        return must_look(member.view.top, member.batch, member.batch.changed)

    def _columns(self, member: Task) -> tuple[str, ...]:
        state = member.summary.state
        return summary_columns(state) if self._looks_up(member) else state.columns


def delta_of(view: str) -> str:
    """The name of a view's summary-delta in the scripts of its children."""
    return f"__sd__{view}"


def _supply_delta(child: Execution, parent: Execution, name: str, looks_up: bool) -> None:
    """What the parent's script appended, or what it held against the stored groups."""
    if looks_up:
        child.supply(delta_of(name), parent.result(met_name(name)))
        return
    state = child.draft.relations[name]
    layers = layers_between(parent.old[name], state)
    child.supply_layers(delta_of(name), state, layers)
