"""Edge queries as plans: over stored summaries (the V-lattice) and over summary-deltas (the D-lattice).

mumick97 Theorem 5.1: both lattices are the same, with the same joins and the same queries. Where a
dimension that an edge joins has changed itself, the delta of the join has a term for it (section 4.1.4):

    Δ(v1 ⋈ d1 ⋈ … ⋈ dm) = sd_v1 ⋈ d1 ⋈ … ⋈ dm  ⊎  v1_old ⋈ d1_old … ⋈ Δdk ⋈ … dm

so that the fact table is not read where the parent is stored: v1 stands in for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from viewkeeper.algebra.build import filtered, is_empty, joined, minus, projected, restricted_to, union_all
from viewkeeper.algebra.counts import consolidated, plain, weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, conjunction, equal, same, same_or_both_null
from viewkeeper.algebra.relations import Distinct, JoinKind, Relation, State
from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, EdgeJoin, StateSource
from viewkeeper.maintenance.summary_delta.prepare import (
    SIGN,
    BatchFacts,
    aggregated,
    alive,
    times,
    where_sign,
)
from viewkeeper.maintenance.summary_delta.state import ROWS, StateColumn, delta_columns, state_columns


def edge_query(edge: Edge, parent: Relation, at: State = State.NEW) -> Relation:
    """The child's state from the parent's (V-lattice)."""
    prepared = _prepared(edge, with_dimensions(edge, parent, at), lost=False)
    return alive(edge.child, aggregated(edge.child, prepared, may_delete=False))


def edge_delta(
    edge: Edge, parent_delta: Relation, changes: BatchFacts, parent_old: Relation | None = None
) -> Relation:
    """The child's summary-delta from the parent's (D-lattice).

    `parent_old`, the parent's stored state before the changes, is needed where a joined dimension changed.
    """
    terms = [with_dimensions(edge, parent_delta, State.NEW)] if not is_empty(parent_delta) else []
    for number, join in enumerate(edge.joins):
        if join.dimension.table in changes.changed:
            assert parent_old is not None, f"{join.dimension.table} changed: the parent's old state is needed"
            terms.append(_signed_term(edge, number, parent_old, changes))
    columns = (*delta_columns(edge.parent, changes.may_delete), *sorted(edge.dimension_columns))
    rows = union_all((restricted_to(term, columns) for term in terms), columns)
    return aggregated(edge.child, _prepared(edge, rows, changes.may_delete), changes.may_delete)


def _prepared(edge: Edge, rows: Relation, lost: bool) -> Relation:
    """Keys of the child and the aggregate sources of its state columns."""
    outputs = [*edge.keys, *(named for s in edge.sources for named in _sources(s, lost))]
    return projected(filtered(rows, conjunction(edge.where)), outputs)


def _sources(source: StateSource, lost: bool) -> Iterator[Named]:
    state = source.state
    if not (state.is_extreme and lost):
        yield Named(state.name, source.expr)
    elif source.reused:
        yield Named(state.name, source.expr)
        yield Named(state.lost, column(state.lost))
    else:
        # The net count of a parent's group says whether the value came or went.
        yield Named(state.name, where_sign(exp.GT, column(ROWS), source.expr))
        yield Named(state.lost, where_sign(exp.LT, column(ROWS), source.expr))


def with_dimensions(edge: Edge, rows: Relation, at: State) -> Relation:
    """The parent's rows joined with the dimensions of the edge."""
    for join in edge.joins:
        rows = joined(rows, _dimension(edge, join, at), JoinKind.INNER, _on(join))
    return rows


def dimension_term(edge: Edge, number: int, parent_old: Relation, changed: Collection[str]) -> Relation:
    """v1_old ⋈ d_old … ⋈ Δd_number ⋈ … d_new; its count is that of the change."""
    rows = parent_old
    for position, join in enumerate(edge.joins):
        if position == number:
            rows = joined(rows, _dimension_delta(edge, join), JoinKind.INNER, _on(join))
        else:
            is_before = position < number and join.dimension.table in changed
            at = State.OLD if is_before else State.NEW
            rows = joined(rows, _dimension(edge, join, at), JoinKind.INNER, _on(join))
    return rows


def _signed_term(edge: Edge, number: int, parent_old: Relation, changes: BatchFacts) -> Relation:
    """The term with each row's state columns times the sign of the change."""
    rows = dimension_term(edge, number, parent_old, changes.changed)
    outputs = [*same(edge.parent.key_names), *_signed(edge.parent, changes.may_delete)]
    return projected(rows, (*outputs, *same(sorted(edge.dimension_columns))))


def _signed(view: CubeView, may_delete: bool) -> Iterator[Named]:
    """Stored state as a change: added where a dimension's row came, taken back where it went."""
    for state in state_columns(view):
        yield Named(state.name, _signed_value(state, may_delete))
        if state.is_extreme and may_delete:
            yield Named(state.lost, where_sign(exp.LT, SIGN, column(state.name)))


def _signed_value(state: StateColumn, may_delete: bool) -> Scalar:
    if not state.is_extreme:
        return times(column(state.name), SIGN)
    return where_sign(exp.GT, SIGN, column(state.name)) if may_delete else column(state.name)


def _dimension(edge: Edge, join: EdgeJoin, at: State) -> Relation:
    """The dimension at a state. Its key is unique, so that its net rows all count one."""
    if join.level is not None:
        return plain(_level(join, at))
    scan = join.dimension.scan(edge.dimension_columns, at)
    return restricted_to(consolidated(weighted(scan)), scan.columns) if scan.counted else scan


def _dimension_delta(edge: Edge, join: EdgeJoin) -> Relation:
    """The changes of a dimension in the columns that the edge uses, net: often there are none."""
    if join.level is not None:
        return consolidated(weighted(minus(_level(join, State.NEW), _level(join, State.OLD))))
    return consolidated(weighted(join.dimension.scan(edge.dimension_columns, State.DELTA)))


def _level(join: EdgeJoin, at: State) -> Relation:
    """The distinct values of an attribute of a hierarchy beside those that it determines."""
    assert join.level is not None
    scan = join.dimension.scan(join.supplies | {join.level}, at)
    wanted = (Named(_level_name(join), column(join.level)), *same(sorted(join.supplies)))
    return Distinct(projected(scan, wanted))


def _level_name(join: EdgeJoin) -> str:
    return f"{join.level} (level)"


def _on(join: EdgeJoin) -> Scalar:
    if join.level is not None:
        return same_or_both_null(join.foreign[0], column(_level_name(join)))
    pairs = zip(join.foreign, join.dimension.on, strict=True)
    return conjunction(equal(foreign, column(mine)) for foreign, (_, mine) in pairs)
