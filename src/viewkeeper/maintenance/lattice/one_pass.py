"""Many summary-deltas from one pass over the changes of a fact table: mumick97 section 5, where a query costs
more than its rows.

    Δfact ⟕ dimensions   →   each row once for every view that it counts in   →   γ by view and keys

A row counts in a view where it meets the view's joins and conditions; one without a store still counts in
views that do not ask for it. What a view does not group by, or add up, is NULL in its rows, and the number
of the view stands beside them: a NULL that it does group by is not taken for one of these.

Where a view keeps extremes of one argument, rows are summed up by its values first, and then by group; in the
rows of other views it is NULL. Insertions that have one value of what the extremes are of, as the sales of a
new day have one date, are summed up at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from viewkeeper.algebra.build import filtered
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    column,
    conjunction,
    equal,
    is_true,
    literal,
)
from viewkeeper.algebra.relations import (
    Aggregate,
    Join,
    JoinKind,
    Lateral,
    Reference,
    Relation,
    State,
)
from viewkeeper.delta.aggregate_state import AggregateState, aggregate_state
from viewkeeper.delta.parts import ROWS, Part, when
from viewkeeper.delta.summary_delta import (
    lost,
    rows_summed_by_value,
    rows_summed_up,
    summary_columns,
)
from viewkeeper.maintenance.lattice.cube_view import CubeView, Dimension, fact_scan, used_columns
from viewkeeper.maintenance.lattice.summary import Summary
from viewkeeper.maintenance.numbered_parts import PART
from viewkeeper.maintenance.numbered_parts import part as part_of_result
from viewkeeper.maintenance.summary_delta.state import StateColumn


@dataclass(frozen=True)
class OnePass:
    """The summary-deltas of some views as one plan, called `name`; `columns` says which of its columns are
    those of each view. A view's number is its place among them."""

    name: str
    plan: Relation
    columns: Mapping[str, tuple[Named, ...]]

    def part(self, view: str) -> Relation:
        """The summary-delta of one view, from the result of the pass."""
        number = list(self.columns).index(view)
        return part_of_result(Reference(self.name, self.plan.columns), number, self.columns[view])


def one_pass(
    name: str, summaries: Sequence[Summary], constant: bool = False, looking: Collection[str] = ()
) -> OnePass:
    """The summary-deltas of views over one fact table, which alone has changed.

    `constant`: all rows are insertions of one value of what extremes are of. The views in `looking` ask for
    what extremes have lost too.
    """
    cubes = [summary.cube for summary in summaries]
    keys = _users((key.expr for key in cube.all_keys) for cube in cubes)
    pieces = _users(summary.meaning.values() for summary in summaries)
    rows = _counting_in(_joined(cubes), cubes)
    names = {expr: f"__key{number}" for number, expr in enumerate(keys)}
    grouped = (Named(names[expr], _only_for(expr, users, cubes)) for expr, users in keys.items())
    parts = {piece: _part(piece, users, cubes) for piece, users in pieces.items()}
    calls = (Named(f"__call{number}", part.call) for number, part in enumerate(parts.values()))
    state = aggregate_state(Aggregate(rows, (Named(PART, column(PART)), *grouped), tuple(calls)))
    assert state is not None, "pieces of state have state"
    columns = {
        one.cube.name: tuple(_columns(one, names, parts, state, one.cube.name in looking))
        for one in summaries
    }
    by_value = bool(state.extremes) and not constant
    plan = rows_summed_by_value(state, rows) if by_value else rows_summed_up(state, rows)
    return OnePass(name, plan, columns)


def _users(of_views: Iterable[Iterable[Scalar | StateColumn]]) -> dict[Any, list[int]]:
    """Whatever views need, each once, with the numbers of the views that do."""
    found: dict[Any, list[int]] = {}
    for number, needed in enumerate(of_views):
        for one in dict.fromkeys(needed):
            found.setdefault(one, []).append(number)
    return found


def _joined(cubes: Sequence[CubeView]) -> Relation:
    """The changes beside what they refer to; none is lost, and a key refers to one row at most."""
    needed = {name for cube in cubes for name in used_columns(cube)}
    dimensions = {d.path: d for cube in cubes for d in cube.dimensions}
    needed.update(name for dimension in dimensions.values() for name in dimension.foreign)
    rel = weighted(replace(fact_scan(cubes[0], needed), at=State.DELTA))
    for dimension in dimensions.values():
        on = conjunction(equal(column(theirs), column(mine)) for theirs, mine in dimension.on)
        rel = Join(rel, replace(dimension, counted=False).scan(needed), JoinKind.LEFT, on)
    return rel


def _counting_in(rows: Relation, cubes: Sequence[CubeView]) -> Relation:
    """Each row once for every view whose joins and conditions it meets."""
    numbers = exp.Array(expressions=[literal(number) for number in range(len(cubes))])
    spread = Lateral(rows, exp.Explode(this=numbers), (PART,))
    conditions = [conjunction((*_met(cube.dimensions), *cube.where)) for cube in cubes]
    if all(is_true(condition) for condition in conditions):
        return spread
    by_view = [exp.If(this=_is_one_of([n]), true=condition) for n, condition in enumerate(conditions)]
    return filtered(spread, exp.Case(ifs=by_view))


def _met(dimensions: Iterable[Dimension]) -> Iterator[Scalar]:
    for dimension in dimensions:
        yield from (exp.not_(exp.Is(this=column(mine), expression=exp.null())) for _, mine in dimension.on)


def _is_one_of(numbers: Sequence[int]) -> Scalar:
    if len(numbers) == 1:
        return equal(column(PART), literal(numbers[0]))
    return exp.In(this=column(PART), expressions=[literal(number) for number in numbers])


def _only_for(expr: Scalar, users: Sequence[int], cubes: Sequence[CubeView]) -> Scalar:
    """An expression in the rows of its views; in those of others it is not even evaluated."""
    return expr.copy() if len(users) == len(cubes) else when(_is_one_of(users), expr)


def _part(piece: StateColumn, users: Sequence[int], cubes: Sequence[CubeView]) -> Part:
    """A piece of state over the rows of all views. A column does no harm in the rows of views that do not ask
    for it; an expression may fail there, and by the values of an extreme rows are grouped."""
    if piece.argument is None:
        return ROWS
    is_harmless = isinstance(piece.argument, exp.Column) and not piece.is_extreme
    return Part(piece.kind, piece.argument if is_harmless else _only_for(piece.argument, users, cubes))


def _columns(
    one: Summary,
    keys: Mapping[Scalar, str],
    parts: Mapping[StateColumn, Part],
    state: AggregateState,
    is_looking: bool,
) -> Iterator[Named]:
    """The columns of a view's summary-delta over those of the pass, in order."""
    found = {mine: keys[key.expr] for mine, key in zip(one.state.keys, one.cube.all_keys, strict=True)}
    for part, name in one.state.names:
        theirs = parts[one.meaning[part]]
        found[name] = state.name(theirs)
        if part.is_extreme:
            found[one.state.at(part)] = state.at(theirs)
            for mine in (name, one.state.at(part)):
                found[lost(mine)] = lost(found[mine])
    names = summary_columns(one.state) if is_looking else one.state.columns
    return (Named(name, column(found[name])) for name in names)
