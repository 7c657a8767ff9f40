"""How large candidates are, and what it takes to keep them fresh.

    groups(v)  is stored, where v exists; 1 without keys; else counted, about, with all others of its fact
    table upkeep(v)  = rows read and written by the Δ-script of v for one batch of changes, as the planner
    has it

All candidates over the same joined rows are counted by one query, one pass over the fact table, whose
answer is one row. What it finds has a standard error of 5 percent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, columns_of, conjunction, function
from viewkeeper.algebra.relations import Aggregate, Relation
from viewkeeper.delta.parts import when
from viewkeeper.maintenance.incremental import maintained
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.lattice.over_summary import plan_of
from viewkeeper.maintenance.program import program
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.cost import Estimate, estimate
from viewkeeper.storage.relation import RelationState

FEW = 100
"""Of a table that never changed so far, one row in so many is thought to change between two refreshes."""


def countings(views: Iterable[CubeView]) -> list[tuple[CubeView, ...]]:
    """The views that are counted together: those of one fact table whose joins keep the same of its rows."""
    found: dict[tuple[object, ...], list[CubeView]] = {}
    for view in views:
        lossy = frozenset(d.path for d in view.dimensions if not d.lossless)
        found.setdefault((view.fact.name, lossy), []).append(view)
    return [tuple(together) for together in found.values()]


def counted_groups(views: Sequence[CubeView]) -> Relation:
    """One row with about how many groups each of these views has, under the views' names."""
    dimensions = tuple(dict.fromkeys(d for view in views for d in view.dimensions))
    whole = replace(views[0], dimensions=dimensions, where=())
    calls = tuple(Named(view.name, _groups(view)) for view in views)
    needed = frozenset().union(*(columns_of(call.expr) for call in calls))
    return Aggregate(source(whole, needed), (), calls)


def _groups(view: CubeView) -> Scalar:
    one: Scalar = function("xxhash64", *(key.expr for key in view.all_keys))
    kept = when(conjunction(view.where), one) if view.where else one
    return exp.ApproxDistinct(this=kept)


def usual_changes(table: RelationState) -> int:
    """How many rows of a table change between two commits, as far as its log tells; loads are left out."""
    rows = table.stored_rows
    found = [layer.rows for layer in table.log if layer.rows and 2 * layer.rows < rows]
    return round(median(found)) if found else rows // FEW


def upkeep(cube: CubeView, rows: int, changes: TableChange, sizes: Mapping[str, int]) -> Estimate:
    """What a refresh of the view is expected to take, from changes of its fact table."""
    name = cube.name
    view = View(name, "", (), program(name, plan_of(cube, {})))
    batch = Batch({cube.fact.name: changes}, Stored({**sizes, name: rows}, groups={name: rows}))
    return estimate(maintained(view, batch), view, batch)
