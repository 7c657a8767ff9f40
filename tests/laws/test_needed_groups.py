"""Groups that nobody asks for may be left out: the plan has the value that it had, and so has its delta."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.laws.databases import History, histories
from tests.laws.expressions import AGGREGATES, CONDITIONS
from tests.laws.harness import difference, start, value
from tests.laws.plans import Draw, Typed, draw_scan, plan
from tests.laws.settings import cases
from viewkeeper.algebra.expressions import Named, Scalar, column, conjunction, equal
from viewkeeper.algebra.relations import Aggregate, Filter, Join, JoinKind, Relation
from viewkeeper.delta import delta, old
from viewkeeper.rewrite.needed_groups import with_needed_groups


def selected(d: Draw) -> Typed:
    """A table with a condition."""
    table = draw_scan(d, 1)
    return Typed(Filter(table.rel, d.filled(CONDITIONS, table)[0]), table.types)


def on_common(d: Draw, left: Typed, right: Typed) -> Scalar:
    """An equality of columns, of one type where there is one in common."""
    common = sorted(set(left.types.values()) & set(right.types.values()))
    assume(common)
    wanted = d.pick(common)
    return equal(column(d.pick(left.of(wanted))), column(d.pick(right.of(wanted))))


def asking(d: Draw) -> Typed:
    """Rows that are selected, or that a selection is joined with."""
    few = selected(d)
    if d.pick((True, False)):
        return few
    rows, kind = draw_scan(d, 1), d.pick((JoinKind.SEMI, JoinKind.INNER, JoinKind.ANTI, JoinKind.LEFT))
    types = rows.types if kind in (JoinKind.SEMI, JoinKind.ANTI) else {**rows.types, **few.types}
    return Typed(Join(rows.rel, few.rel, kind, on_common(d, rows, few)), types)


@st.composite
def joined_aggregates(draw: st.DrawFn) -> Relation:
    """What asks, joined with an aggregate by one of its keys, and perhaps filtered."""
    d = Draw(draw, counted=False)
    left, rows = asking(d), plan(d, d.number(1, 2))
    keys = [Named(d.name("g"), column(name)) for name in d.some(rows.rel.columns, 1, 2)]
    call, kind = d.filled(AGGREGATES, rows)
    total = Named(d.name("n"), call)
    groups = Typed(
        Aggregate(rows.rel, tuple(keys), (total,)),
        {key.name: rows.types[key.expr.name] for key in keys},
    )
    on = conjunction([on_common(d, left, groups)])
    rel: Relation = Join(left.rel, groups.rel, d.pick((JoinKind.INNER, JoinKind.LEFT)), on)
    both = Typed(rel, {**left.types, **groups.types, total.name: kind})
    return Filter(rel, d.filled(CONDITIONS, both)[0]) if d.pick((True, False)) else rel


def test_most_drawn_plans_lose_groups() -> None:
    """The law below would hold of a rule that does nothing."""
    found: list[bool] = []

    @cases(40)
    @given(joined_aggregates())
    def count(rel: Relation) -> None:
        found.append(with_needed_groups(rel) is not rel)

    count()
    assert sum(found) > len(found) / 4


@cases(200)
@given(joined_aggregates(), histories())
def test_plans_without_groups_that_nobody_asks_for(rel: Relation, history: History) -> None:
    changed, narrower = start(history), with_needed_groups(rel)
    assert narrower.columns == rel.columns
    assert value(narrower) == value(rel)
    assert value(delta(narrower, changed)) == difference(value(rel), value(old(rel, changed)))
