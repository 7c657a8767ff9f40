"""A cube view beside the state that is stored of it, so that edges run over stored columns.

The lattice compares pieces of state by what they are over the base tables; `delta/aggregate_state.py` names
the columns that hold them. A summary has both, and edges are rewritten from one to the other:

    parent's summary-delta, as stored  →  pieces of state  →  the edge query  →  child's, as stored

An extreme is held by a number of rows, in a summary-delta by those inserted and by those deleted. Along an
edge they add up value by value: exactly where the child takes the extreme of a group-by column of its parent,
and, where it takes the extreme of extremes, for the outermost value that changed, which is the only one
that can move an extreme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from viewkeeper.algebra.build import filtered, projected, union_all
from viewkeeper.algebra.expressions import Named, Scalar, column, columns_of, conjunction, literal, same
from viewkeeper.algebra.relations import Aggregate, Relation, State
from viewkeeper.algebra.schema import COUNT
from viewkeeper.delta.aggregate_state import AggregateState
from viewkeeper.delta.parts import Part, PartKind, when
from viewkeeper.delta.summary_delta import (
    HELD,
    beside,
    finished,
    held_extremes,
    lost,
    sums_and_extremes,
    value_name,
)
from viewkeeper.maintenance.lattice.cube_view import CubeView, column_of
from viewkeeper.maintenance.lattice.derives import Edge, EdgeJoin, StateSource
from viewkeeper.maintenance.lattice.edge import with_dimensions
from viewkeeper.maintenance.lattice.measures import decomposed
from viewkeeper.maintenance.summary_delta.state import STAR, StateColumn, counter, of_part

_SHORT = 17
"""Digits of a DECIMAL whose product with a count of 20 has all its digits."""


@dataclass(frozen=True)
class Summary:
    """A generalized cube view and its stored state; `cube` and `state` have keys and calls in one order."""

    cube: CubeView
    state: AggregateState

    @cached_property
    def meaning(self) -> dict[Part, StateColumn]:
        """What each stored piece of state is over the base tables."""
        found = {part: STAR for part in self.state.parts if part.kind is PartKind.ROWS}
        for (_, call), measure in zip(self.state.calls, self.cube.all_measures, strict=True):
            based = decomposed(measure.expr).parts
            for (_, part), (_, canonical) in zip(call.parts, based, strict=True):
                found[part] = of_part(self.cube, canonical)
                if part.is_null_over_nothing:
                    found[Part(PartKind.COUNT, part.argument)] = counter(self.cube, canonical.argument)
        return found

    @cached_property
    def extremes_of(self) -> frozenset[str]:
        """The columns, by their canonical names, that extremes are kept of."""
        arguments = (self.meaning[part].argument for part in self.state.extremes)
        return frozenset().union(*(columns_of(argument) for argument in arguments if argument is not None))

    def as_pieces(self, stored: Relation) -> Relation:
        """Stored rows, or a summary-delta as stored, under the names that the edges use."""
        keys = zip(self.cube.key_names, self.state.keys, strict=True)
        outputs = {mine: column(theirs) for mine, theirs in keys}
        for part, piece in self.meaning.items():
            for mine, theirs in self._columns(part, piece):
                if theirs in stored.columns:
                    outputs.setdefault(mine, column(theirs))
        return projected(stored, (Named(name, expr) for name, expr in outputs.items()))

    def _columns(self, part: Part, piece: StateColumn) -> Iterator[tuple[str, str]]:
        name = self.state.name(part)
        yield piece.name, name
        if part.is_extreme:
            at = self.state.at(part)
            yield from ((piece.lost, lost(name)), (piece.at, at), (lost(piece.at), lost(at)))


@dataclass(frozen=True)
class GroupingSets:
    """The nodes of one view by CUBE, ROLLUP or GROUPING SETS, each called as the stratum that stores it."""

    nodes: tuple[Summary, ...]


def edge_summary_delta(edge: Edge, parent: Summary, child: Summary, delta: Relation) -> Relation:
    """The child's summary-delta, as `delta/summary_delta.py` has it, from the parent's as it was stored."""
    rows = with_dimensions(edge, parent.as_pieces(delta), State.NEW)
    return summed_up(edge, child, filtered(rows, conjunction(edge.where)))


def is_exact(edge: Edge) -> bool:
    """Whether sums along the edge have the digits that they have over the base tables.

    SUM(e * count) of a long decimal would lose some: SQL gives a product no more than 38 digits.
    """
    kinds = (PartKind.SUM, PartKind.TOTAL)
    computed = (s.state.argument for s in edge.sources if s.state.kind in kinds and not s.reused)
    return all(_is_short(edge.child, argument) for argument in computed if argument is not None)


def _is_short(view: CubeView, argument: Scalar) -> bool:
    columns = [column_of(view, name) for name in columns_of(argument)]
    types = [found.type.lower() for found in columns if found is not None]
    decimals = [text for text in types if text.startswith("decimal")]
    if not decimals:
        return True
    digits = re.search(r"\d+", decimals[0])
    value = argument.this if isinstance(argument, exp.Cast) else argument
    return isinstance(value, exp.Column) and digits is not None and int(digits.group()) <= _SHORT


def stored_edge(edge: Edge, counted: frozenset[str]) -> Edge:
    """The edge with its dimensions marked by whether their stored rows carry counts."""

    def stored(join: EdgeJoin) -> EdgeJoin:
        dimension = join.dimension
        return replace(join, dimension=replace(dimension, counted=dimension.table in counted))

    return replace(edge, joins=tuple(stored(join) for join in edge.joins))


def edge_state(edge: Edge, parent: Summary, child: Summary, stored: Relation) -> Relation:
    """The child's whole state from the parent's (the V-lattice); a sum of no values is NULL again."""
    state = child.state
    sums = {state.name(part): state.counter(part) for part in state.parts if part.kind is PartKind.SUM}

    def value(name: str) -> Scalar:
        if name not in sums:
            return column(name)
        return when(exp.GT(this=column(sums[name]), expression=literal(0)), column(name))

    everything = edge_summary_delta(edge, parent, child, stored)
    return projected(everything, (Named(name, value(name)) for name in state.columns))


def summed_up(edge: Edge, child: Summary, rows: Relation) -> Relation:
    """The child's summary-delta from pieces of the parent's state that came or went."""
    state = child.state
    keys = tuple(Named(name, key.expr) for name, key in zip(state.keys, edge.keys, strict=True))
    sources = {source.state: source for source in edge.sources}
    plain_parts = [part for part in state.parts if not part.is_extreme]
    values = tuple(Named(state.name(part), sources[child.meaning[part]].expr) for part in plain_parts)
    totals = tuple(Named(state.name(p), STAR.total(column(state.name(p)))) for p in plain_parts)
    held = {part: _values_held(sources[child.meaning[part]], rows) for part in state.extremes}
    if [len(sides) for sides in held.values()] == [1]:
        [(part, [(value, number)])] = held.items()
        prepared = projected(rows, (*keys, *values, Named(HELD, value), Named(COUNT, number)))
        return finished(state, sums_and_extremes(state, prepared, totals, totals, {part: HELD}))
    total: Relation = Aggregate(projected(rows, (*keys, *values)), same(state.keys), totals)
    for part, sides in held.items():
        value_of = value_name(state, part)
        prepared = union_all(
            (projected(rows, (*keys, Named(value_of, v), Named(COUNT, n))) for v, n in sides),
            (*state.keys, value_of, COUNT),
        )
        total = beside(total, held_extremes(state, prepared, (part,)), state.keys)
    return finished(state, total)


def _values_held(source: StateSource, rows: Relation) -> tuple[tuple[Scalar, Scalar], ...]:
    """The values that may be an extreme of the child, each with the number of rows that hold it."""
    return _held(source.state, rows) if source.reused else ((source.expr, column(STAR.name)),)


def _held(piece: StateColumn, rows: Relation) -> tuple[tuple[Scalar, Scalar], ...]:
    """An extreme of the parent and how many rows hold it: of what came and, where known, of what went."""
    pairs = ((piece.name, piece.at), (piece.lost, lost(piece.at)))
    return tuple((column(value), column(n)) for value, n in pairs if value in rows.columns)
