"""Preparing changes: mumick97 sections 4.1.1 and 4.1.4, Table 2, Figure 6.

                 prepare-insertions            prepare-deletions
    COUNT(*)     1                             -1
    COUNT(e)     0 where e is NULL, else 1     0 where e is NULL, else -1
    SUM(e)       e                             -e
    MIN(e)       e                             e
    MAX(e)       e                             e

Changes are signed rows here, so one expression serves both columns: ±1 is the row's count. What is
inserted and what is deleted stay apart in MIN and MAX (`__min_e` and `__lost_min_e`): a deleted value
must never lower a minimum. The changes are those of the whole FROM clause, so that changes of dimension
tables, alone or together with those of the fact table, are prepared in the same way.

All plans here have explicit counts: they are ready for `sql.render`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from viewkeeper.algebra.build import empty, filtered, is_empty, projected
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import Named, Scalar, column, is_null, literal, operand, same
from viewkeeper.algebra.relations import Aggregate, Consolidate, Relation, Scan, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.algebra.walk import rewrite
from viewkeeper.delta.parts import PartKind
from viewkeeper.delta.rules import delta
from viewkeeper.maintenance.lattice.cube_view import CubeView, source
from viewkeeper.maintenance.summary_delta.state import ROWS, StateColumn, extremes, state_columns

ONE: Scalar = literal(1)
SIGN: Scalar = column(COUNT)
"""The signed count of a changed row: what Table 2 writes as 1 and -1."""


@dataclass(frozen=True)
class BatchFacts:
    """What is known of a batch of changes before looking at its rows."""

    changed: frozenset[str]
    insert_only: bool = False

    @property
    def may_delete(self) -> bool:
        return not self.insert_only


def prepare_changes(view: CubeView, changes: BatchFacts) -> Relation:
    """Each change of what the view aggregates, as a change of each state column."""
    return _prepared(view, changes, exp.true())


def prepare_insertions(view: CubeView, changes: BatchFacts) -> Relation:
    """The insertions alone; deletions come with `prepare_deletions`, and both are `prepare_changes`."""
    return _prepared(view, changes, exp.GT(this=column(COUNT), expression=literal(0)))


def prepare_deletions(view: CubeView, changes: BatchFacts) -> Relation:
    return _prepared(view, changes, exp.LT(this=column(COUNT), expression=literal(0)))


def _prepared(view: CubeView, changes: BatchFacts, side: Scalar) -> Relation:
    signed = source_delta(view, changes)
    outputs = (*view.all_keys, *aggregate_sources(view, changes.may_delete))
    if is_empty(signed):
        return empty(output.name for output in outputs)
    return projected(filtered(weighted(signed), side), outputs)


def source_delta(view: CubeView, changes: BatchFacts) -> Relation:
    """The delta of FROM and WHERE.

    Changes of a dimension are taken net of the columns that the view does not use, so that they often
    vanish. Changes of the fact table are taken net only where an extreme could mistake a row that came
    and went for one that was there.
    """
    net = {dimension.table for dimension in view.dimensions}
    if changes.may_delete and extremes(view):
        net.add(view.fact.name)

    def take_net(node: Relation) -> Relation:
        is_change = isinstance(node, Scan) and node.at is State.DELTA and node.table in net
        return Consolidate(node) if is_change else node

    return rewrite(delta(source(view), changes.changed), take_net)


def aggregate_sources(view: CubeView, may_delete: bool, count: Scalar = SIGN) -> Iterator[Named]:
    """Table 2: the aggregate-source attribute of every state column, for rows of this signed count."""
    for state in state_columns(view):
        yield Named(state.name, _aggregate_source(state, may_delete, count))
        if state.is_extreme and may_delete:
            yield Named(state.lost, where_sign(exp.LT, count, argument_of(state)))


def _aggregate_source(state: StateColumn, may_delete: bool, count: Scalar) -> Scalar:
    match state.kind:
        case PartKind.ROWS:
            return count
        case PartKind.COUNT:
            return when_not_null(argument_of(state), count)
        case PartKind.SUM | PartKind.TOTAL:
            return times(argument_of(state), count)
        case PartKind.MIN | PartKind.MAX:
            value = argument_of(state)
            return where_sign(exp.GT, count, value) if may_delete else value.copy()
        case PartKind.MEAN | PartKind.SPREAD | PartKind.PEAK | PartKind.COMOMENT:
            raise AssertionError("cube views have no moments: they do not add up")
        case _:
            assert_never(state.kind)


def argument_of(state: StateColumn) -> Scalar:
    assert state.argument is not None, "only COUNT(*) has no argument"
    return state.argument


def where_sign(comparison: type[exp.Binary], count: Scalar, value: Scalar) -> Scalar:
    """The value where the count is positive (GT) or negative (LT), else NULL."""
    test = comparison(this=count.copy(), expression=literal(0))
    return exp.Case(ifs=[exp.If(this=test, true=value.copy())])


def when_not_null(expr: Scalar, count: Scalar) -> Scalar:
    test = is_null(expr)
    return exp.Case(ifs=[exp.If(this=test, true=literal(0))], default=count.copy())


def times(expr: Scalar, count: Scalar) -> Scalar:
    return expr.copy() if count == ONE else exp.Mul(this=operand(expr), expression=operand(count))


def summary_delta(view: CubeView, changes: BatchFacts) -> Relation:
    """Section 4.1.2: prepare-changes, grouped as the view groups, sums and extremes of the sources.

    Its columns are the view's keys, its state columns, and `__lost_…` beside every extreme where the
    batch may delete.
    """
    return aggregated(view, prepare_changes(view, changes), changes.may_delete)


def aggregated(view: CubeView, prepared: Relation, may_delete: bool) -> Relation:
    """The net change of every group from changes of single rows, or from finer summary-deltas."""
    if is_empty(prepared):
        return prepared
    totals: list[Named] = []
    for state in state_columns(view):
        totals.append(Named(state.name, state.total(column(state.name))))
        if state.is_extreme and may_delete:
            totals.append(Named(state.lost, state.total(column(state.lost))))
    return Aggregate(prepared, same(view.key_names), tuple(totals))


def alive(view: CubeView, state: Relation) -> Relation:
    """The groups that exist: COUNT(*) is not 0. Without keys there is one group, always."""
    exists = exp.NEQ(this=column(ROWS), expression=literal(0))
    return filtered(state, exists) if view.all_keys else state
