"""ORDER BY … LIMIT with the state that makes it cheap: a few more rows than are shown.

A buffer holds the first rows of the input, K shown ones and some to spare. It is a prefix of the
input's order, or all of it (`__complete`). With b its last row:

    kept = rows of (buffer ⊎ ΔR) that stand at or before b, or all when it was complete
    buffer ← kept                       while it holds K rows or is complete
    buffer ← the first rows of R_new    when deletions left fewer than K

So a batch reads the buffer and its own rows, and is done where none of them is among the first; the
input is read only when the spare rows are used up. Rows that tie are ordered by all their columns, so that
the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper import limits
from viewkeeper.algebra.build import bound_columns, minus, projected, restricted_to
from viewkeeper.algebra.counts import plain, weighted
from viewkeeper.algebra.expressions import Named, Scalar, and_, column, equal, function, literal, or_, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Consolidate,
    Expand,
    Filter,
    Project,
    Reference,
    Relation,
    Scan,
    State,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.algebra.schema import COUNT
from viewkeeper.maintenance.steps import Compute, ReplaceMain, Step, flag

COMPLETE = "__complete"
SHORT, CHANGED = "__short", "__changed"
_STORED, _WHOLE, _PLACE, _LAST, _STAYS = "__stored", "__whole", "__place", "__last", "__stays"


@dataclass(frozen=True)
class Buffer:
    """How many rows a TopK shows, skipped ones included, and in which order."""

    order: tuple[exp.Ordered, ...]
    shown: int

    @property
    def size(self) -> int:
        return 2 * self.shown + 50


def buffer_of(top: TopK) -> Buffer | None:
    shown = top.limit + top.offset
    return Buffer(top.order, shown) if 0 < shown <= limits.LIMITS.top_k else None


def buffered(buffer: Buffer, rows: Relation, whole: Scalar | None = None) -> Relation:
    """The first rows of `rows`, and whether these are all; `whole`: whether `rows` is all of R."""
    names = tuple(name for name in rows.columns if name != _WHOLE)
    one_more = TopK(rows, buffer.order, buffer.size + 1)
    counted = Window(one_more, (), (Named("__n", _over(function("count", exp.Star()))),))
    fits: Scalar = exp.LTE(this=column("__n"), expression=literal(buffer.size))
    complete = fits if whole is None else and_(fits, whole)
    return TopK(Project(counted, (*same(names), Named(COMPLETE, complete))), buffer.order, buffer.size)


def maintain_buffer(
    name: str, buffer: Buffer, change: Relation, refilled: Relation, only_from: tuple[str, ...]
) -> list[Step]:
    """The steps that bring a buffer up to date; `refilled` is the buffer from all of R_new."""
    names = change.columns
    kept = Reference(f"{name}__kept", (*names, COUNT, _WHOLE, _STAYS, SHORT, CHANGED))
    is_changed, is_short = (flag(kept.name, mark) for mark in (CHANGED, SHORT))
    rows = Filter(kept, equal(column(_STAYS), literal(1)))
    copies = Expand(restricted_to(rows, (*names, _WHOLE, COUNT)))
    plan = buffered(buffer, copies, equal(column(_WHOLE), literal(1)))
    found = _kept(name, buffer, change)
    return [
        Compute(kept.name, found, "buffer ⊎ Δ", True, only_from, flags=(SHORT, CHANGED)),
        ReplaceMain(name, plan, "", "the first rows, from the buffer and the change", (is_changed,)),
        ReplaceMain(name, plain(refilled), "", "the spare rows are used up", (is_short,)),
        Compute(f"{name}__delta", _change(name, names), f"Δ({name})", True, (is_changed,)),
    ]


def _change(name: str, names: tuple[str, ...]) -> Relation:
    """What became of the buffer: both of its states are small."""
    bound = bound_columns(names)
    return weighted(Consolidate(minus(Scan(name, bound, State.NEW), Scan(name, bound, State.OLD))))


def _kept(name: str, buffer: Buffer, change: Relation) -> Relation:
    """The candidates, which of them stay, whether these are too few, and whether they are other ones."""
    ranked = _ranked(name, buffer, change)
    stays = and_(
        exp.GT(this=column(COUNT), expression=literal(0)),
        exp.paren(or_(equal(column(_WHOLE), literal(1)), _before_last())),
    )
    marked = Project(ranked, (*same(ranked.columns), Named(_STAYS, _flag(stays))))
    is_kept = equal(column(_STAYS), literal(1))
    was_kept = exp.GT(this=column(_STORED), expression=literal(0))
    other = exp.NEQ(this=column(COUNT), expression=column(_STORED))
    differs = and_(exp.paren(or_(is_kept, was_kept)), other)
    over_all = (
        Named("__left", _over(function("sum", _when(is_kept, column(COUNT))))),
        Named(CHANGED, _over(function("max", _flag(differs)))),
    )
    left = function("coalesce", column("__left"), literal(0))
    too_few = exp.LT(this=left, expression=literal(buffer.shown))
    cut = exp.LT(this=column(_WHOLE), expression=literal(1))
    names = (*change.columns, COUNT, _WHOLE, _STAYS)
    short = Named(SHORT, _flag(and_(too_few, cut)))
    return Project(Window(marked, (), over_all), (*same(names), short, *same((CHANGED,))))


def _before_last() -> Scalar:
    return exp.LTE(this=column(_PLACE), expression=column(_LAST))


def _ranked(name: str, buffer: Buffer, change: Relation) -> Relation:
    """Stored and changed rows, each once, with their places and that of the last stored one."""
    names = change.columns
    stored = Scan(name, bound_columns((*names, COMPLETE)), State.OLD)
    own = (Named(COUNT, exp.cast(literal(1), "bigint")), Named(_STORED, literal(1)))
    whole = Named(_WHOLE, _flag(column(COMPLETE)))
    theirs = (*same((COUNT,)), Named(_STORED, literal(0)), Named(_WHOLE, literal(1)))
    both = UnionAll(
        (Project(stored, (*same(names), *own, whole)), projected(weighted(change), (*same(names), *theirs)))
    )
    totals = (
        Named(COUNT, function("sum", column(COUNT))),
        Named(_STORED, function("sum", column(_STORED))),
        Named(_WHOLE, function("min", column(_WHOLE))),
    )
    each = Aggregate(both, same(names), totals, exact=True)
    place = Named(_PLACE, _over(exp.RowNumber(), total_order(buffer.order, names)))
    ranked = Window(each, (), (place, Named("__all", _over(function("min", column(_WHOLE))))))
    last = _over(function("max", _when(exp.GT(this=column(_STORED), expression=literal(0)), column(_PLACE))))
    beside = Window(ranked, (), (Named(_LAST, last),))
    outputs = (*same((*names, COUNT, _STORED, _PLACE, _LAST)), Named(_WHOLE, column("__all")))
    return Project(beside, outputs)


def total_order(order: tuple[exp.Ordered, ...], names: tuple[str, ...]) -> list[exp.Ordered]:
    """The given order, and all other columns after it, so that only equal rows tie."""
    given = {item.this for item in order}
    ties = [exp.Ordered(this=column(n), nulls_first=True) for n in names if column(n) not in given]
    return [*(item.copy() for item in order), *ties]


def _over(call: Scalar, order: list[exp.Ordered] | None = None) -> Scalar:
    ordering = exp.Order(expressions=order) if order else None
    return exp.Window(this=call, partition_by=[], order=ordering)


def _when(condition: Scalar, value: Scalar) -> Scalar:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _flag(condition: Scalar) -> Scalar:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=literal(1))], default=literal(0))
