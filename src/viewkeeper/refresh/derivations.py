"""What the views of a refresh take from each other: summary-deltas, and whole states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.algebra.build import bound_columns
from viewkeeper.algebra.relations import Reference, Relation, Scan
from viewkeeper.delta.summary_delta import summary_columns
from viewkeeper.maintenance.aggregates import met_name, must_look
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.one_pass import OnePass
from viewkeeper.maintenance.lattice.summary import Summary, edge_state, edge_summary_delta, stored_edge
from viewkeeper.maintenance.strategy import Offer
from viewkeeper.refresh.task import Task
from viewkeeper.spark.execute import Execution
from viewkeeper.storage.relation import layers_between


@dataclass(frozen=True)
class Derivations:
    """Which views of a refresh take what from which, by child.

    Summary-deltas come along `edges`, or from `passes` over the changes; `members` are the views that have
    one, and `done` those whose summary-delta is there: None where it is only expected. The rows of views
    that are written anew come along the edges of `anew`, between `summaries`.
    """

    edges: Mapping[str, Edge] = field(default_factory=dict)
    members: Mapping[str, Task] = field(default_factory=dict)
    passes: Mapping[str, OnePass] = field(default_factory=dict)
    anew: Mapping[str, Edge] = field(default_factory=dict)
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    done: dict[str, Execution | None] = field(default_factory=dict)

    def parent(self, name: str) -> str | None:
        edge = self.anew.get(name) or self.edges.get(name)
        return None if edge is None else edge.parent.name

    def along(self, name: str) -> Edge | None:
        """The edge into a view whose parent's summary-delta is there."""
        edge = self.edges.get(name)
        return edge if edge is not None and edge.parent.name in self.done else None

    def offer(self, name: str, counted: frozenset[str]) -> Offer:
        """What a view gets from a parent, or from a pass, and whether others get something from it."""
        if name in self.passes:
            return Offer(self.passes[name].part(name))
        handed_on = any(edge.parent.name == name for edge in self.edges.values())
        return Offer(self._summary_delta(name, counted), self._state(name, counted), handed_on)

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
        if name not in self.anew:
            return None
        edge = stored_edge(self.anew[name], counted)
        parent, child = self.summaries[edge.parent.name], self.summaries[name]
        return edge_state(edge, parent, child, Scan(edge.parent.name, bound_columns(parent.state.columns)))

    def supply(self, name: str, execution: Execution) -> None:
        """Gives a view's script the summary-delta of its parent."""
        edge = self.along(name)
        done = None if edge is None else self.done[edge.parent.name]
        if edge is not None and done is not None:
            looked = self._looked(self.members[edge.parent.name])
            _supply_delta(execution, done, edge.parent.name, looked)

    def _looked(self, member: Task) -> bool:
        return must_look(member.view.top, member.batch, member.batch.changed)

    def _columns(self, member: Task) -> tuple[str, ...]:
        state = member.summary.state
        return summary_columns(state) if self._looked(member) else state.columns


def delta_of(view: str) -> str:
    """The name of a view's summary-delta in the scripts of its children."""
    return f"__sd__{view}"


def _supply_delta(child: Execution, parent: Execution, name: str, looked: bool) -> None:
    """What the parent's script appended, or what it held against the stored groups."""
    if looked:
        child.supply(delta_of(name), parent.result(met_name(name)))
        return
    state = child.draft.relations[name]
    layers = layers_between(parent.old[name], state)
    child.supply_layers(delta_of(name), state, layers)
