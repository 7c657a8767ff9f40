"""Propagate and refresh as SQL to read: mumick97 Figures 2, 3, 6 and 7.

Each step is a plan with a name; later steps refer to earlier ones by name, as the paper's views do.
The plans are executable as they stand; the engine's own form of Figure 6 reads the changes once
(`prepare_changes`) instead of once per side. Figure 2 is written as MERGE, which is what the paper's
cursors do for every row of a summary-delta.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.algebra.build import union_all
from viewkeeper.algebra.expressions import Scalar, conjunction, function, literal, same_or_both_null
from viewkeeper.algebra.relations import Reference, Relation
from viewkeeper.delta.parts import PartKind
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.edge import edge_delta
from viewkeeper.maintenance.summary_delta.prepare import (
    BatchFacts,
    aggregated,
    prepare_deletions,
    prepare_insertions,
    summary_delta,
)
from viewkeeper.maintenance.summary_delta.state import (
    ROWS,
    StateColumn,
    delta_columns,
    state_columns,
    stored_columns,
)
from viewkeeper.report import Reason
from viewkeeper.sql.render import SPARK, render
from viewkeeper.sql.select_parts import identifier


@dataclass(frozen=True)
class NamedPlan:
    """A plan under the name by which later ones refer to it."""

    name: str
    relation: Relation

    def sql(self, dialect: str = SPARK) -> str:
        return f"CREATE VIEW {identifier(self.name).sql(dialect)} AS\n{render(self.relation, dialect)}"


def propagate_plans(view: CubeView, changes: BatchFacts) -> tuple[NamedPlan, ...]:
    """Figure 6 and section 4.1.2: prepare-insertions, prepare-deletions, prepare-changes, summary-delta."""
    columns = delta_columns(view, changes.may_delete)
    sides = [NamedPlan(f"pi_{view.name}", prepare_insertions(view, changes))]
    if changes.may_delete:
        sides.append(NamedPlan(f"pd_{view.name}", prepare_deletions(view, changes)))
    both = union_all((Reference(side.name, columns) for side in sides), columns)
    summary = aggregated(view, Reference(f"pc_{view.name}", columns), changes.may_delete)
    return (*sides, NamedPlan(f"pc_{view.name}", both), NamedPlan(f"sd_{view.name}", summary))


def preaggregation_plans(view: CubeView, first: CubeView, changes: BatchFacts) -> tuple[NamedPlan, ...]:
    """Figure 7: prepare-changes aggregates first, the summary-delta joins the dimensions."""
    edge = derives(view, first)
    assert not isinstance(edge, Reason), edge.sentence
    before = Reference(first.name, delta_columns(first, changes.may_delete))
    return (
        NamedPlan(first.name, summary_delta(first, changes)),
        NamedPlan(f"sd_{view.name}", edge_delta(edge, before, changes)),
    )


def figures(
    view: CubeView, changes: BatchFacts, edge: Edge | None = None, first: CubeView | None = None
) -> str:
    """How the paper writes the maintenance of a view: its summary-delta from the changes, along an edge of
    the lattice, or by way of a first aggregation; and the refresh."""
    if edge is not None:
        above = Reference(f"sd_{edge.parent.name}", delta_columns(edge.parent, changes.may_delete))
        plans: tuple[NamedPlan, ...] = (NamedPlan(f"sd_{view.name}", edge_delta(edge, above, changes)),)
    elif first is not None:
        plans = preaggregation_plans(view, first, changes)
    else:
        plans = propagate_plans(view, changes)
    return "\n\n".join((*(plan.sql() for plan in plans), refresh_sql(view)))


def refresh_sql(view: CubeView, dialect: str = SPARK) -> str:
    """Figure 2, and Figure 8 without its recomputation: the summary-delta join as MERGE."""
    return _merge(view).sql(dialect=dialect, pretty=True)


def _merge(view: CubeView) -> exp.Merge:
    keys = [same_or_both_null(_of("t", name), _of("d", name)) for name in view.key_names]
    gone = exp.EQ(this=exp.Add(this=_of("t", ROWS), expression=_of("d", ROWS)), expression=literal(0))
    updates = [exp.EQ(this=_of("t", s.name), expression=_updated(s)) for s in state_columns(view)]
    names = stored_columns(view)
    insert = exp.Insert(
        this=exp.Tuple(expressions=[exp.Column(this=identifier(name)) for name in names]),
        expression=exp.Tuple(expressions=[_of("d", name) for name in names]),
    )
    whens = [
        exp.When(matched=True, condition=gone, then=exp.var("DELETE")),
        exp.When(matched=True, then=exp.Update(expressions=updates)),
        exp.When(matched=False, then=insert),
    ]
    return exp.Merge(
        this=exp.alias_(exp.Table(this=identifier(view.name)), "t", table=True),
        using=exp.alias_(exp.Table(this=identifier(f"sd_{view.name}")), "d", table=True),
        on=conjunction(keys),
        whens=exp.Whens(expressions=whens),
    )


def _of(table: str, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=exp.to_identifier(table))


def _updated(state: StateColumn) -> Scalar:
    """t ⊕ d for one column."""
    stored, delta = _of("t", state.name), _of("d", state.name)
    if state.is_extreme:
        return function("least" if state.kind is PartKind.MIN else "greatest", stored, delta)
    return exp.Add(this=stored, expression=delta)


__all__ = [
    "NamedPlan",
    "figures",
    "preaggregation_plans",
    "propagate_plans",
    "refresh_sql",
]
