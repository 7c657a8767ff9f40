"""The net change of every group: quass96 4.2 and 5, π_{A'_δ}(δ'R).

    δR = Π_{A_ins}(ΔR) ⊎ Π_{A_del}(∇R)        A_ins: x and 1        A_del: −x and −1

Each changed row gives its value, negated where the row is deleted; a sum over them is what a group
gains. Values are negated, not multiplied by counts: a row of count n is taken n times, so that sums
keep the type that SQL gives them. For extremes, insertions and deletions stay apart (δ'R), each
with the number of rows that hold it, net of what the same batch inserts and deletes:

    __min_x       least value inserted     a_i        __at_min_x        how many rows of it
    __lost_min_x  least value deleted      b_i        __lost_at_min_x   how many rows of it

So they do for moments, which do not add up: `__lost_mean_x` is the mean of what was deleted, `__lost_n_x` its
number.

The same expression over all rows of R is the state itself: everything is inserted. The plans made
here have explicit counts; they are steps of a script, and others refer to their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from viewkeeper.algebra.build import filtered, joined, projected, renamed, restricted_to
from viewkeeper.algebra.counts import consolidated, is_counted, plain, weighted
from viewkeeper.algebra.expressions import (
    Named,
    Scalar,
    and_,
    column,
    equal,
    function,
    is_present,
    literal,
    null_safe_match,
    or_,
    same,
)
from viewkeeper.algebra.facts import column_type
from viewkeeper.algebra.relations import Aggregate, Expand, JoinKind, Relation
from viewkeeper.algebra.schema import COUNT
from viewkeeper.delta.aggregate_state import ROWS_NAME, AggregateState
from viewkeeper.delta.parts import Part, PartKind, when

SIGN = "__sign"
HELD = "__held"
"""The value that may be an extreme, beside the same value signed for a sum."""


def lost(name: str) -> str:
    """In a summary-delta: the extreme of what was deleted, beside that of what was inserted."""
    return f"__lost{name[1:]}"


def summary_columns(state: AggregateState) -> tuple[str, ...]:
    """The columns of a summary-delta: those of the state, and what extremes and moments lost."""
    gone = [lost(name) for part in state.extremes for name in (state.name(part), state.at(part))]
    gone += [lost(name) for part in state.moments for name in (state.name(part), state.counter(part))]
    return (*state.columns, *dict.fromkeys(gone))


def summary_delta(state: AggregateState, delta: Relation) -> Relation:
    """One row per group that `delta` mentions, with the change of each state column."""
    return _summed_up(state, _prepared(state, delta, net=len(_held(state)) > 1))


def rows_summed_up(state: AggregateState, rows: Relation) -> Relation:
    """The change of each state column, from rows whose counts are explicit already.

    Where there are extremes, the rows are insertions and have one value of what extremes are kept of: every
    row holds it, and nothing has to be summed up by value.
    """
    total = Aggregate(
        _signed(state, _prepared_rows(state, rows, net=False)), same(state.keys), tuple(_of_one_value(state))
    )
    return restricted_to(total, state.columns)


def rows_summed_by_value(state: AggregateState, rows: Relation) -> Relation:
    """The whole summary-delta, from rows whose counts are explicit already; none of them has values of more
    than one argument of which extremes are kept."""
    return finished(state, _by_value(state, _prepared_rows(state, rows, net=False)))


def _of_one_value(state: AggregateState) -> Iterator[Named]:
    for part, name in state.names:
        if part.is_extreme:
            yield Named(name, function(part.kind.value, column(value_name(state, part))))
            yield Named(state.at(part), _total(state, Part(PartKind.COUNT, part.argument)))
        else:
            yield Named(name, _total(state, part))


def full_state(state: AggregateState, source: Relation) -> Relation:
    """The state computed from all rows: everything is inserted, nothing lost.

    Rows that a signed log took back are not there: a sum of nothing is NULL, not 0. Where no rows carry
    counts, SQL's own functions give the state.
    """
    if not is_counted(source):
        return _aggregated(state, plain(source))
    everything = _summed_up(state, _prepared(state, source, net=True))
    return restricted_to(_alive(state, everything), state.columns)


def _aggregated(state: AggregateState, rows: Relation) -> Relation:
    """The state of rows that each count once."""
    totals = [Named(name, part.call) for part, name in state.names if not part.is_extreme]
    total: Relation = Aggregate(rows, state.aggregate.keys, tuple(totals))
    if state.extremes:
        prepared = _prepared(state, rows, net=False)
        for argument in _held(state):
            parts = tuple(part for part in state.extremes if part.argument == argument)
            total = beside(total, held_extremes(state, prepared, parts), state.keys)
    return projected(total, (_counted(state, name) for name in state.columns))


def group_totals(state: AggregateState, rows: Relation) -> Relation:
    """The state of rows that each count once, but for the number of rows that hold an extreme."""
    totals = tuple(Named(name, part.call) for part, name in state.names)
    return Aggregate(plain(rows), state.aggregate.keys, totals)


def with_holders(state: AggregateState, totals: Relation, rows: Relation) -> Relation:
    """The whole state: rows are looked at again, and counted where they hold an extreme of their group.

    Two light passes over many rows, where `full_state` shuffles every value of every group.
    """
    other = {key: f"__k_{key}" for key in state.keys}
    found = joined(
        _prepared(state, plain(rows), net=False),
        renamed(totals, other),
        JoinKind.INNER,
        null_safe_match(other.items()),
    )
    held = {part: equal(column(value_name(state, part)), column(state.name(part))) for part in state.extremes}
    counts = (
        Named(state.at(part), function("count", when(holds, literal(1)))) for part, holds in held.items()
    )
    holders = Aggregate(filtered(found, or_(*held.values())), same(state.keys), tuple(counts))
    return projected(beside(totals, holders, state.keys), (_counted(state, name) for name in state.columns))


def _summed_up(state: AggregateState, prepared: Relation) -> Relation:
    if len(_held(state)) == 1 and not state.moments:
        return finished(state, _by_value(state, prepared))
    total = _sums(state, prepared)
    for argument in _held(state):
        parts = tuple(part for part in state.extremes if part.argument == argument)
        total = beside(total, held_extremes(state, prepared, parts), state.keys)
    return finished(state, total)


def _held(state: AggregateState) -> tuple[Scalar | None, ...]:
    """The arguments of which extremes are kept."""
    return tuple(dict.fromkeys(part.argument for part in state.extremes))


def _by_value(state: AggregateState, prepared: Relation) -> Relation:
    """Sums and extremes, where no row has values of more than one argument of these.

    The net count of a value is its sum of signs, so that nothing has to be consolidated before.
    """
    held = {part: f"{HELD}{_held(state).index(part.argument) or ''}" for part in state.extremes}
    values = {name: Named(name, column(value_name(state, part))) for part, name in held.items()}
    signed = _signed(state, projected(prepared, (*same(prepared.columns), *values.values())))
    counted = projected(signed, (*same(signed.columns), Named(COUNT, column(SIGN))))
    parts = [(part, name) for part, name in state.names if not part.is_extreme]
    by_value = tuple(Named(name, _total(state, part)) for part, name in parts)
    by_group = tuple(Named(name, _added_up(state, part)) for part, name in parts)
    return sums_and_extremes(state, counted, by_value, by_group, held)


def sums_and_extremes(
    state: AggregateState,
    prepared: Relation,
    by_value: tuple[Named, ...],
    by_group: tuple[Named, ...],
    held: Mapping[Part, str],
) -> Relation:
    """Rows with a value that may be an extreme, and how many hold it: summed up by value, then by group."""
    number = Named(COUNT, function("sum", column(COUNT)))
    values = same(dict.fromkeys(held.values()))
    each = Aggregate(prepared, (*same(state.keys), *values), (*by_value, number))
    extremes = (out for part, name in held.items() for out in _extremes(state, part, column(name)))
    return Aggregate(each, same(state.keys), (*by_group, *extremes))


def _added_up(state: AggregateState, part: Part) -> Scalar:
    total = function("sum", column(state.name(part)))
    return total if part.kind is PartKind.SUM else _or_zero(total)


def finished(state: AggregateState, total: Relation) -> Relation:
    """The columns of a summary-delta, in order."""
    return projected(total, (_counted(state, name) for name in summary_columns(state)))


def _counted(state: AggregateState, name: str) -> Named:
    """How many rows hold an extreme is 0, not NULL, where there is none; sums of sums have the sum's type."""
    counts = {count for part in state.extremes for count in (state.at(part), lost(state.at(part)))}
    part = state.part(name)
    value = column(name) if part is None else part.typed(column(name))
    return Named(name, _or_zero(value) if name in counts else value)


def _alive(state: AggregateState, rel: Relation) -> Relation:
    """Without group-by columns there is one group, always."""
    exists = exp.GT(this=column(ROWS_NAME), expression=literal(0))
    return filtered(rel, exists) if state.keys else rel


def _prepared(state: AggregateState, delta: Relation, *, net: bool) -> Relation:
    """The group-by columns, every argument once, and the signed count.

    Extremes need net changes: a value that came and went within the batch was never there.
    """
    return _prepared_rows(state, weighted(delta), net=net and is_counted(delta))


def _prepared_rows(state: AggregateState, rows: Relation, *, net: bool) -> Relation:
    values = {value_name(state, part): part.argument for part in state.parts if part.argument is not None}
    named = (Named(name, argument) for name, argument in values.items())
    outputs = (*state.aggregate.keys, *named, *same((COUNT,)))
    prepared = projected(rows, outputs)
    return consolidated(prepared) if net else prepared


def value_name(state: AggregateState, part: Part) -> str:
    """The column of prepared changes that holds the value of a part's argument."""
    own = state.counter(part) if part.is_null_over_nothing else state.name(part)
    return f"__x{own[1:]}"


def _sums(state: AggregateState, prepared: Relation) -> Relation:
    added = [(part, name) for part, name in state.names if not part.is_extreme and not part.is_moment]
    totals = [Named(name, _total(state, part)) for part, name in added]
    totals += [one for part in state.moments for one in _sides(state, part)]
    return Aggregate(_signed(state, prepared), same(state.keys), tuple(dict.fromkeys(totals)))


def _sides(state: AggregateState, part: Part) -> Iterator[Named]:
    """A moment of what is inserted and of what is deleted, and the number of values deleted."""
    of = [Part(PartKind.COUNT, one) for one in (part.argument, part.other) if one is not None]
    for comparison, name_of in ((exp.GT, str), (exp.LT, lost)):
        side = comparison(this=column(SIGN), expression=literal(0))
        values = [when(side, column(value_name(state, one))) for one in of]
        yield Named(name_of(state.name(part)), part.over(*values))
        if name_of is lost:
            yield Named(lost(state.counter(part)), function("count", values[0]))


def _signed(state: AggregateState, prepared: Relation) -> Relation:
    """Values of deleted rows are negated where they are summed.

    Where values are only counted, a row stands for all its copies and its sign for their number.
    """
    summed = {value_name(state, part) for part in state.parts if part.is_summed}
    if not summed and not state.moments:
        return renamed(prepared, {COUNT: SIGN})
    gone = exp.LT(this=column(COUNT), expression=literal(0))
    others = [name for name in prepared.columns if name != COUNT]
    values = (Named(n, _taken_off(gone, prepared, n) if n in summed else column(n)) for n in others)
    sign = Named(SIGN, _negated_where(gone, literal(1)))
    copies = Named(COUNT, function("abs", column(COUNT)))
    return Expand(projected(prepared, (*values, sign, copies)))


def _taken_off(gone: Scalar, prepared: Relation, name: str) -> Scalar:
    """A summed value, negated where its row went; the least whole number of a type has no opposite in it."""
    is_narrow = column_type(prepared, name) in ("tinyint", "smallint", "int")
    return _negated_where(gone, exp.cast(column(name), "bigint") if is_narrow else column(name))


def _negated_where(gone: Scalar, value: Scalar) -> Scalar:
    return exp.Case(ifs=[exp.If(this=gone.copy(), true=exp.Neg(this=value.copy()))], default=value.copy())


def _total(state: AggregateState, part: Part) -> Scalar:
    sign = column(SIGN)
    if part.kind is PartKind.ROWS:
        return _or_zero(function("sum", sign))
    value = column(value_name(state, part))
    if part.is_summed:
        total = function("sum", value)
        return total if part.kind is PartKind.SUM else _or_zero(total)
    return _or_zero(function("sum", when(is_present(value), sign)))


def held_extremes(state: AggregateState, prepared: Relation, parts: tuple[Part, ...]) -> Relation:
    """Per group, the extremes of the values of one argument that the batch inserts and deletes, net."""
    value = value_name(state, parts[0])
    number = Named(COUNT, function("sum", column(COUNT)))
    each = Aggregate(prepared, same((*state.keys, value)), (number,))
    outputs = [output for part in parts for output in _extremes(state, part, column(value))]
    return Aggregate(each, same(state.keys), tuple(outputs))


def _extremes(state: AggregateState, part: Part, value: Scalar) -> Iterator[Named]:
    """The extreme of what is inserted and of what is deleted, each with the number of rows that hold it."""
    for comparison, name_of in ((exp.GT, str), (exp.LT, lost)):
        yield from _extreme(state, part, comparison, name_of, value)


def _extreme(
    state: AggregateState,
    part: Part,
    comparison: type[exp.Binary],
    name_of: Callable[[str], str],
    value: Scalar,
) -> tuple[Named, Named]:
    """An extreme of the values whose net count is positive, or negative, and that count."""
    is_value = is_present(value)
    side = exp.Where(this=and_(comparison(this=column(COUNT), expression=literal(0)), is_value))
    least = part.kind is PartKind.MIN
    extreme = function("min" if least else "max", value)
    holders = (exp.ArgMin if least else exp.ArgMax)(this=column(COUNT), expression=value.copy())
    return (
        Named(name_of(state.name(part)), exp.Filter(this=extreme, expression=side)),
        Named(name_of(state.at(part)), exp.Filter(this=holders, expression=side.copy())),
    )


def beside(total: Relation, more: Relation, keys: tuple[str, ...]) -> Relation:
    """Joins two relations that have one row per group."""
    other = {key: f"__k_{key}" for key in keys}
    on = null_safe_match(other.items())
    both = joined(total, renamed(more, other), JoinKind.LEFT, on)
    return restricted_to(both, (name for name in both.columns if name not in other.values()))


def _or_zero(expr: Scalar) -> Scalar:
    return function("coalesce", expr, literal(0))
