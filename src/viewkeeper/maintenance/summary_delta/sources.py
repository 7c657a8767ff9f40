"""Where the summary-delta of a generalized cube view comes from: mumick97 sections 3 to 5.

    propagate   sd_v = γ(prepare-changes), perhaps aggregated before dimensions are joined (section 4.1.3), or
                an edge query over the summary-delta of a parent in the lattice

The state, the summary-delta and its merge are those of every aggregate (`delta/aggregate_state.py`,
`maintenance/aggregates.py`). `Batch.offer` holds the plan of an edge where a parent has a summary-delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from viewkeeper.algebra.build import bound_columns
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import Aggregate, Reference, Relation, Scan, State
from viewkeeper.delta.aggregate_state import aggregate_state
from viewkeeper.delta.summary_delta import summary_columns, summary_delta
from viewkeeper.maintenance.lattice.build import lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.moved import moved_summary_delta
from viewkeeper.maintenance.lattice.summary import (
    GroupingSets,
    Summary,
    edge_summary_delta,
    is_exact,
    stored_edge,
)
from viewkeeper.maintenance.refusals import refusal
from viewkeeper.maintenance.steps import Compute, Script
from viewkeeper.maintenance.strategy import Batch, Stratum, View
from viewkeeper.maintenance.stratum_delta import stratum_delta
from viewkeeper.maintenance.summary_delta.preaggregate import pays, preaggregated
from viewkeeper.maintenance.summary_delta.prepare import BatchFacts as Changes


@dataclass(frozen=True)
class SummaryDeltas:
    """Where the summary-deltas of strata come from: in `along`, or from Δ of a stratum's own input.

    Those along an edge may read those of `parents`, which stand first in `order`, and the results of the
    steps that are done `first`.
    """

    along: Mapping[str, Relation] = field(default_factory=dict)
    parents: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    first: Script = ()

    def ordered(self, strata: Iterable[Stratum]) -> list[Stratum]:
        place = {name: number for number, name in enumerate(self.order)}
        return sorted(strata, key=lambda stratum: place.get(stratum.name, len(place)))


OWN = SummaryDeltas()


def sd_name(stratum: str) -> str:
    """The result that holds the summary-delta of a stratum."""
    return f"__sd__{stratum}"


def summary_deltas(view: View, batch: Batch) -> SummaryDeltas:
    """Where a view's summary-deltas come from: other views, its own other grouping sets, or changes that are
    aggregated before they are joined; else Δ of their input."""
    if view.before is not None:
        return OWN
    match view.summary:
        case GroupingSets():
            return along_lattice(view.summary, batch)
        case Summary() if batch.offer.summary is not None:
            return SummaryDeltas({view.top.name: batch.offer.summary})
        case Summary() if batch.offer.before is not None:
            return _from_rows_before(view.top.name, view.summary, *batch.offer.before, batch)
        case Summary():
            return _preaggregated(view.top.name, view.summary, batch)
        case _:
            return OWN


def is_merged(view: View, batch: Batch) -> bool:
    """Whether a view can be maintained by its summary-delta alone."""
    is_summary = isinstance(view.summary, (Summary, GroupingSets))
    return is_summary and view.before is None and refusal(view, batch) is None


def _from_rows_before(name: str, child: Summary, edge: Edge, parent: Summary, batch: Batch) -> SummaryDeltas:
    """Changes of dimensions over the stored rows of another view, beside that view's own summary-delta."""
    own = batch.changed & parent.cube.tables
    first: Script = ()
    delta: Relation | None = None
    if own:
        above, change = sd_name(parent.cube.name), _delta_of(parent, own, batch)
        first = (Compute(above, change, f"summary-delta of {parent.cube.name}"),)
        delta = Reference(above, change.columns)
    stored = Scan(parent.cube.name, bound_columns(parent.state.columns), State.OLD)
    edge = stored_edge(edge, batch.stored.counted)
    summary = moved_summary_delta(edge, parent, child, delta, stored, batch.changed)
    return SummaryDeltas({name: summary}, first=first)


def _delta_of(summary: Summary, changed: frozenset[str], batch: Batch) -> Relation:
    change = stratum_delta(summary.state.aggregate.child, changed, batch, frozenset())
    return plain(summary_delta(summary.state, change))


def first_aggregation(cube: CubeView, batch: Batch) -> Edge | None:
    """The edge from what the changes are aggregated to before they are joined with dimensions, where that
    pays and can be done."""
    first = preaggregated(cube, Changes(batch.changed))
    if first is None or not pays(cube, first, _rows(batch, cube), _first_groups(cube, first, batch)):
        return None
    edge = derives(cube, first)
    return edge if isinstance(edge, Edge) and _serves(edge, batch) else None


def _preaggregated(name: str, view: Summary, batch: Batch) -> SummaryDeltas:
    """The changes aggregated by what the joins with dimensions need, and joined then, where that pays."""
    edge = first_aggregation(view.cube, batch)
    if edge is None:
        return OWN
    first = edge.parent
    aggregate = Aggregate(source(first), first.keys, first.measures)
    state = aggregate_state(aggregate)
    assert state is not None, "the view's own aggregates have state"
    parent = Summary(first, state)
    change = _delta_of(parent, batch.changed, batch)
    prepared = Compute(first.name, change, "prepare-changes, aggregated")
    delta = Reference(first.name, summary_columns(state))
    summary = edge_summary_delta(stored_edge(edge, batch.stored.counted), parent, view, delta)
    return SummaryDeltas({name: summary}, first=(prepared,))


def _rows(batch: Batch, cube: CubeView) -> int:
    return batch.changes[cube.fact.name].rows if cube.fact.name in batch.changes else 0


def _first_groups(cube: CubeView, first: CubeView, batch: Batch) -> int:
    """At most how many groups the changes have before the joins: as many as the dimensions have rows, for
    each of the view's own groups where it groups by columns of the fact table too."""
    delayed = [d for d in cube.dimensions if d not in first.dimensions]
    foreign = {column for dimension in delayed for column in dimension.foreign}
    groups = (
        1
        if {key.expr.name for key in first.keys} <= foreign
        else max(1, batch.stored.sizes.get(cube.name, 1))
    )
    for dimension in delayed:
        groups *= max(1, batch.stored.sizes.get(dimension.table, 1))
    return min(groups, _rows(batch, cube))


def along_lattice(view: GroupingSets, batch: Batch) -> SummaryDeltas:
    """Each grouping set's summary-delta from that of the coarsest other one that derives it."""
    known = {node.cube.name: node for node in view.nodes}
    nodes = lattice(node.cube for node in view.nodes)
    along: dict[str, Relation] = {}
    parents = set()
    for cube in nodes.views:
        edges = [edge for edge in nodes.into(cube) if _serves(edge, batch)]
        if edges:
            edge = min(edges, key=lambda edge: len(edge.parent.keys))
            parent, child = known[edge.parent.name], known[cube.name]
            delta = Reference(sd_name(edge.parent.name), summary_columns(parent.state))
            along[cube.name] = edge_summary_delta(
                stored_edge(edge, batch.stored.counted), parent, child, delta
            )
            parents.add(edge.parent.name)
    return SummaryDeltas(along, frozenset(parents), tuple(cube.name for cube in nodes.views))


def _serves(edge: Edge, batch: Batch) -> bool:
    """Dimensions that the edge joins are as they were; hierarchies would have to be looked at."""
    unchanged = batch.changed.isdisjoint(edge.annotation) and all(join.level is None for join in edge.joins)
    return unchanged and is_exact(edge) and not batch.changed.isdisjoint(edge.parent.tables)
