"""Lattice-friendly views, and taking back what is not needed: mumick97 section 5.2 and Appendix B.

`extended` adds to every view the dimension attributes that its groups determine and the aggregates that
other views compute, as hidden columns: no group changes, but more views derive from it. `optimized` then
pushes joins, aggregates and projections down: a dimension that is not essential at a view is joined at the
edges below it instead, and a hidden column stays only where an edge out of the view needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of
from viewkeeper.maintenance.lattice.build import Lattice, lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension
from viewkeeper.maintenance.lattice.derives import Edge, derives
from viewkeeper.maintenance.lattice.hierarchy import determined
from viewkeeper.maintenance.summary_delta.state import slug


def lattice_friendly(views: Iterable[CubeView]) -> Lattice:
    """Sections 5.2 and 5.3 together: extended views, optimized."""
    return optimized(extended(views))


def extended(views: Iterable[CubeView]) -> tuple[CubeView, ...]:
    """Every view with the attributes and aggregates that make it fit into one lattice."""
    given = tuple(views)
    return tuple(_extend(view, [other for other in given if other.fact == view.fact]) for view in given)


def _extend(view: CubeView, family: list[CubeView]) -> CubeView:
    known = {d.path: d for other in family for d in other.dimensions}
    joined = _joinable(view, known)
    own = {key.expr for key in view.all_keys}
    reachable = determined(view, joined) & _reached(view, joined)
    attributes = {expr for other in family for expr in _attributes(other)} - own
    hidden = [a for a in sorted(attributes, key=lambda expr: expr.sql()) if columns_of(a) <= reachable]
    measures = _missing_measures(view, family, _reached(view, joined))
    used = {name for expr in (*hidden, *measures) for name in columns_of(expr)}
    return replace(with_hidden(view, (*hidden, *measures)), dimensions=_with(view, joined, used))


def with_hidden(view: CubeView, exprs: Iterable[Scalar]) -> CubeView:
    """The view with these attributes and aggregates as hidden columns."""
    given = tuple(exprs)
    calls = [expr for expr in given if expr.find(exp.AggFunc)]
    keys = (Named(f"__{slug(expr)}", expr) for expr in given if expr not in calls)
    measures = (Named(f"__m_{slug(call)}", call) for call in calls)
    return replace(view, hidden_keys=tuple(keys), hidden_measures=tuple(measures))


def hidden_columns(view: CubeView) -> tuple[Scalar, ...]:
    """What `with_hidden` added to a view."""
    return tuple(item.expr for item in (*view.hidden_keys, *view.hidden_measures))


def _joinable(view: CubeView, known: dict[str, Dimension]) -> tuple[Dimension, ...]:
    """The dimensions that the view joins or could join without losing rows, what refers first."""
    found = list(view.dimensions)
    for dimension in known.values():
        reached = _reached(view, found)
        if dimension not in found and dimension.lossless and set(dimension.foreign) <= reached:
            found.append(dimension)
    return tuple(found)


def _reached(view: CubeView, dimensions: Iterable[Dimension]) -> frozenset[str]:
    return frozenset((*view.fact.names, *(name for d in dimensions for name in d.attributes)))


def _attributes(view: CubeView) -> Iterable[Scalar]:
    """What a child groups by or filters by, as attributes that a parent could hold."""
    for expr in (*(key.expr for key in view.keys), *view.where):
        for name in columns_of(expr):
            yield column(name)


def _missing_measures(view: CubeView, family: list[CubeView], reached: frozenset[str]) -> tuple[Scalar, ...]:
    own = {measure.expr for measure in view.measures}
    calls = {m.expr for other in family for m in other.measures} - own
    return tuple(sorted((c for c in calls if columns_of(c) <= reached), key=lambda call: call.sql()))


def _with(view: CubeView, joined: Iterable[Dimension], used: Iterable[str]) -> tuple[Dimension, ...]:
    """The view's own dimensions and those that hidden columns use, with what leads to them."""
    needed, kept = set(used), []
    for dimension in reversed(tuple(joined)):
        if dimension in view.dimensions or needed & set(dimension.attributes):
            kept.append(dimension)
            needed.update(dimension.foreign)
    return tuple(reversed(kept))


def optimized(views: Iterable[CubeView]) -> Lattice:
    """Appendix B: joins first, top down; then aggregates and projections, bottom up."""
    pushed = [_without_derivable(without_unessential_joins(view)) for view in views]
    whole = lattice(pushed, as_child=_bare)
    pruned: dict[str, CubeView] = {}
    for view in reversed(whole.views):
        children = [pruned[edge.child.name] for edge in whole.covers if edge.parent.name == view.name]
        pruned[view.name] = _prune(view, children)
    return lattice(pruned[view.name] for view in pushed)


def without_unessential_joins(view: CubeView) -> CubeView:
    """Pushing joins: a dimension that only hidden columns use is joined below, where it is needed."""
    own = _essential(view)
    kept = tuple(d for d in view.dimensions if d.path in own)
    dropped = {name for d in view.dimensions if d.path not in own for name in d.attributes}
    return replace(
        view,
        dimensions=kept,
        hidden_keys=tuple(k for k in view.hidden_keys if not columns_of(k.expr) & dropped),
        hidden_measures=tuple(m for m in view.hidden_measures if not columns_of(m.expr) & dropped),
    )


def _essential(view: CubeView) -> set[str]:
    """Paths of the dimensions that the view's own columns and conditions use, or whose join loses rows."""
    exprs = [*(k.expr for k in view.keys), *(m.expr for m in view.measures), *view.where]
    used = {name for expr in exprs for name in columns_of(expr)}
    paths: set[str] = set()
    for dimension in reversed(view.dimensions):
        if not dimension.lossless or used & set(dimension.attributes):
            paths.add(dimension.path)
            used.update(dimension.foreign)
    return paths


def _without_derivable(view: CubeView) -> CubeView:
    """Pushing aggregates: one over group-by columns is computed at the edges below."""
    grouped = {name for key in view.all_keys if key.is_column for name in columns_of(key.expr)}
    kept = tuple(m for m in view.hidden_measures if not columns_of(m.expr) <= grouped)
    return replace(view, hidden_measures=kept)


def _prune(view: CubeView, children: Iterable[CubeView]) -> CubeView:
    """Only the hidden columns that some edge out of the view uses."""
    result = _bare(view)
    for child in children:
        result = _enough_for(view, result, child)
    return result


def _bare(view: CubeView) -> CubeView:
    return replace(view, hidden_keys=(), hidden_measures=())


def _enough_for(full: CubeView, start: CubeView, child: CubeView) -> CubeView:
    """`start` with as few hidden columns of `full` as let the child derive with as few joins."""
    goal = _edge(child, full)
    result = full
    if goal is None:
        return start
    for hidden in (*full.hidden_keys, *full.hidden_measures):
        if hidden in (*start.hidden_keys, *start.hidden_measures):
            continue
        smaller = _minus(result, hidden)
        edge = _edge(child, smaller)
        if edge is not None and len(edge.joins) <= len(goal.joins):
            result = smaller
    return result


def _minus(view: CubeView, hidden: Named) -> CubeView:
    return replace(
        view,
        hidden_keys=tuple(k for k in view.hidden_keys if k != hidden),
        hidden_measures=tuple(m for m in view.hidden_measures if m != hidden),
    )


def _edge(child: CubeView, parent: CubeView) -> Edge | None:
    edge = derives(child, parent)
    return edge if isinstance(edge, Edge) else None
