"""Summary-deltas where a dimension has changed: mumick97 section 4.1.4, over a stored view, not the facts.

    Δ(v1 ⋈ d)  =  sd_v1 ⋈ d_new  ⊎  v1_old ⋈ Δd

A store that moves takes its sales along: all of them are in the groups that v1 stores of it. Of a dimension
only those changes count that the edge can see: an item whose price changed is no change by category.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected, restricted_to, union_all
from viewkeeper.algebra.expressions import Named, Scalar, column, conjunction, literal, same
from viewkeeper.algebra.relations import Relation, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.edge import dimension_term, with_dimensions
from viewkeeper.maintenance.lattice.summary import Summary, is_exact, summed_up


def stands_in(edge: Edge, changed: Collection[str], only_inserts: bool) -> bool:
    """Whether the stored parent can stand in for the fact table along an edge.

    `only_inserts`: what the parent summarizes gained rows and lost none. Else a sale that is taken back while
    its store moves would have to be found among those that the parent knows only the extreme of.
    """
    joins = [join for join in edge.joins if join.dimension.table in changed]
    by_key = all(join.level is None for join in edge.joins)
    apart = all(join.dimension.table not in edge.parent.tables for join in joins)
    reuses = any(source.state.is_extreme and source.reused for source in edge.sources)
    kept = edge.parent.tables <= edge.child.tables and is_exact(edge)
    return bool(joins) and by_key and apart and kept and (only_inserts or not reuses)


def moved_summary_delta(
    edge: Edge,
    parent: Summary,
    child: Summary,
    delta: Relation | None,
    stored: Relation,
    changed: Collection[str],
) -> Relation:
    """The child's summary-delta: `delta` is that of the parent, none where it did not change, and `stored`
    the parent's state before."""
    pieces = parent.as_pieces(stored)
    columns = (*pieces.columns, *sorted(edge.dimension_columns))
    terms = [] if delta is None else [with_dimensions(edge, parent.as_pieces(delta), State.NEW)]
    for number, join in enumerate(edge.joins):
        if join.dimension.table in changed:
            moved = dimension_term(edge, number, pieces, changed)
            outputs = (*_signed(parent, pieces), *same(sorted(edge.dimension_columns)))
            terms.append(projected(moved, outputs))
    rows = union_all((restricted_to(term, columns) for term in terms), columns)
    return summed_up(edge, child, filtered(rows, conjunction(edge.where)))


def _signed(parent: Summary, pieces: Relation) -> Iterator[Named]:
    """What adds up is taken back where a dimension's row went; keys and extremes are what they are."""
    extremes = {piece.name for piece in parent.meaning.values() if piece.is_extreme}
    for name in pieces.columns:
        adds_up = name not in parent.cube.key_names and name not in extremes
        yield Named(name, _taken_back(column(name)) if adds_up else column(name))


def _taken_back(value: Scalar) -> Scalar:
    gone = exp.LT(this=column(COUNT), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=gone, true=exp.Neg(this=value.copy()))], default=value)
