"""Propagation through a whole lattice of cube views (mumick97 section 5.5), as one list of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from tests.reference.summary_refresh import is_weakly_minimal
from viewkeeper.algebra.build import empty
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_delta
from viewkeeper.maintenance.lattice.parents import ParentChoice
from viewkeeper.maintenance.summary_delta.figures import (
    NamedPlan,
)
from viewkeeper.maintenance.summary_delta.prepare import (
    BatchFacts,
    summary_delta,
)
from viewkeeper.maintenance.summary_delta.state import (
    delta_columns,
)
from viewkeeper.report import Reason


@dataclass(frozen=True)
class Propagation:
    """One step of propagate: the query of a summary-delta, perhaps over another one by name."""

    name: str
    view: CubeView
    relation: Relation
    weakly_minimal: bool
    parent: str | None = None


def propagate(
    choices: Iterable[ParentChoice], changes: BatchFacts, stored: Callable[[CubeView], Relation]
) -> tuple[Propagation, ...]:
    """The summary-deltas of all affected nodes, in an order in which each can be computed.

    `stored` gives a view's stored state before the changes; it is read only along edges that join a
    dimension which changed.
    """
    done: dict[str, Propagation] = {}
    for choice in choices:
        view = choice.view
        if view.tables.isdisjoint(changes.changed):
            continue
        edge = choice.edge
        if edge is None:
            step = Propagation(
                f"sd_{view.name}", view, summary_delta(view, changes), is_weakly_minimal(view, changes)
            )
        else:
            step = _along(edge, view, changes, stored, done.get(edge.parent.name))
        done[view.name] = step
    return tuple(done.values())


def _along(
    edge: Edge,
    view: CubeView,
    changes: BatchFacts,
    stored: Callable[[CubeView], Relation],
    above: Propagation | None,
) -> Propagation:
    columns = delta_columns(edge.parent, changes.may_delete)
    delta: Relation = empty(columns) if above is None else Reference(above.name, columns)
    touched = sum(join.dimension.table in changes.changed for join in edge.joins)
    relation = edge_delta(edge, delta, changes, stored(edge.parent) if touched else None)
    minimal = (above is None or above.weakly_minimal) and (above is not None) + touched <= 1
    return Propagation(f"sd_{view.name}", view, relation, minimal, edge.parent.name)


def lattice_plans(steps: Iterable[Propagation]) -> tuple[NamedPlan, ...]:
    """Figure 3: summary-deltas over summary-deltas."""
    return tuple(NamedPlan(step.name, step.relation) for step in steps)


def why_not(child: CubeView, parents: Iterable[CubeView]) -> dict[str, Reason]:
    """For every view that does not derive `child`, the reason."""
    found = {parent.name: derives(child, parent) for parent in parents if parent.name != child.name}
    return {name: answer for name, answer in found.items() if isinstance(answer, Reason)}


def combinations(levels: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Figure 5: the direct product of dimension hierarchies, each with `none` below it.

    `levels` lists each dimension's attributes, finest first; the result has the group-by attributes of
    every node, the finest first.
    """
    choices = [[(name,) for name in chain] + [()] for chain in levels]
    return tuple(tuple(name for part in parts for name in part) for parts in product(*choices))
