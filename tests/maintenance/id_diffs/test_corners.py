"""Changes for which the paper's printed rules would be wrong: `docs/id-diffs.md`, notes on the paper."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlglot import exp

from tests.maintenance.id_diffs.devices import table
from tests.maintenance.id_diffs.stage import Row, Rows, Stage
from viewkeeper.algebra.expressions import Named, and_, column, equal, literal, not_, same
from viewkeeper.algebra.relations import Aggregate, Bound, Filter, Join, JoinKind, Relation, Scan
from viewkeeper.maintenance.id_diffs import Caching, IdView, define

TABLES = {
    "l": table("l", ("i",), i="int", x="int", w="int"),
    "r": table("r", ("j",), j="int", y="int", z="int"),
}


def scan(name: str) -> Scan:
    return Scan(name, tuple(Bound(c.name, c) for c in TABLES[name].columns))


def maintained(plan: Relation, before: Rows, after: Rows, caching: Caching = Caching.ALWAYS) -> Counter[Row]:
    """The view after the change; and it is what recomputation gives."""
    whole = define("v", plan, TABLES, caching=caching)
    assert isinstance(whole, IdView)
    stage, script = Stage(TABLES.values()), whole.script()
    stage.load(before, after)
    stage.populate(script)
    stage.execute(script)
    found = stage.rows("v", script.visible)
    assert found == stage.rows(plan)
    return found


def joined(on: exp.Expr, kind: JoinKind = JoinKind.INNER) -> Relation:
    return Join(scan("l"), scan("r"), kind, on)


def test_table_10_a_pair_is_lost_when_both_sides_change() -> None:
    before = {"l": [(1, 1, 0)], "r": [(1, 1, 0)]}
    after = {"l": [(1, 2, 0)], "r": [(1, 3, 0)]}
    assert maintained(joined(equal(column("x"), column("y"))), before, after) == Counter()


def test_table_10_a_pair_comes_when_both_sides_change() -> None:
    ones = and_(equal(column("x"), literal(1)), equal(column("y"), literal(1)))
    before = {"l": [(1, 1, 0)], "r": [(1, 1, 0)]}
    after = {"l": [(1, 2, 0)], "r": [(1, 2, 0)]}
    assert maintained(joined(not_(ones)), before, after) == Counter([(1, 2, 0, 1, 2, 0)])


def test_table_10_a_reference_moves_to_another_row() -> None:
    before = {"l": [(1, 1, 0)], "r": [(1, 0, 5), (2, 0, 6)]}
    after = {"l": [(1, 2, 0)], "r": [(1, 0, 5), (2, 0, 7)]}
    assert maintained(joined(equal(column("x"), column("j"))), before, after) == Counter([(1, 2, 0, 2, 0, 7)])


def test_table_10_a_reference_that_is_also_the_key() -> None:
    """x = j and i = j: the old value of x names the very pair that comes."""
    on = and_(equal(column("x"), column("j")), equal(column("i"), column("j")))
    before = {"l": [(1, 2, 0)], "r": [(1, 0, 5)]}
    assert maintained(joined(on), before, {**before, "l": [(1, 1, 0)]}) == Counter([(1, 1, 0, 1, 0, 5)])


def test_table_6_a_condition_that_becomes_null() -> None:
    plan = Filter(scan("l"), exp.GT(this=column("x"), expression=literal(1)))
    before = {"l": [(1, 2, 0), (2, None, 0)]}
    assert maintained(plan, before, {"l": [(1, None, 0), (2, 3, 0)]}) == Counter([(2, 3, 0)])


def grouped(*calls: exp.Expr, by: tuple[str, ...] = ("w",)) -> Relation:
    named = tuple(Named(f"c{number}", call) for number, call in enumerate(calls))
    return Aggregate(joined(equal(column("x"), column("j"))), same(by), named)


def test_table_7_a_whole_group_goes_while_its_other_column_changes() -> None:
    plan = grouped(exp.Count(this=exp.Star(), big_int=True), by=("i", "y"))
    before = {"l": [(1, 1, 0), (2, 1, 0)], "r": [(1, 5, 0)]}
    after = {"l": [(2, 1, 0)], "r": [(1, 6, 0)]}
    assert maintained(plan, before, after) == Counter([(2, 6, 1)])


def test_table_9_two_diffs_of_one_row_count_once() -> None:
    product = exp.Sum(this=exp.Mul(this=column("i"), expression=column("z")))
    before = {"l": [(2, 1, 0)], "r": [(1, 5, 10)]}
    after = {"l": [(2, 1, 1)], "r": [(1, 5, 20)]}
    assert maintained(grouped(product), before, after) == Counter([(1, 40)])


def test_tables_9_and_11_groups_begin_and_end_and_sums_of_nothing_are_null() -> None:
    plan = grouped(exp.Sum(this=column("z")), exp.Count(this=column("z"), big_int=True))
    before = {"l": [(1, 1, 0), (2, 2, 1)], "r": [(1, 0, 10), (2, 0, 20)]}
    after = {"l": [(1, 1, 0), (2, 2, 2)], "r": [(1, 0, None), (2, 0, 20)]}
    assert maintained(plan, before, after) == Counter([(0, None, 0), (2, 20, 1)])


def test_table_12_the_sum_moves_and_the_count_does_not() -> None:
    before = {"l": [(1, 1, 0), (2, 2, 0)], "r": [(1, 0, 10), (2, 0, 20)]}
    after = {"l": before["l"], "r": [(1, 0, 40), (2, 0, 20)]}
    assert maintained(grouped(exp.Avg(this=column("z"))), before, after) == Counter([(0, 30.0)])


@pytest.mark.parametrize("kind", [JoinKind.ANTI, JoinKind.SEMI])
def test_table_13_the_last_match_goes_and_another_comes(kind: JoinKind) -> None:
    before = {"l": [(1, 1, 0), (2, 2, 0), (3, 3, 0)], "r": [(1, 1, 0), (2, 2, 0), (3, 2, 0)]}
    after = {"l": [(1, 1, 9), (2, 2, 0), (3, 3, 0)], "r": [(1, 3, 0), (2, 2, 0)]}
    unmatched, matched = [(1, 1, 9)], [(2, 2, 0), (3, 3, 0)]
    found = maintained(joined(equal(column("x"), column("y")), kind), before, after)
    assert found == Counter(unmatched if kind is JoinKind.ANTI else matched)


def test_without_grouping_columns_there_is_one_group_even_over_nothing() -> None:
    plan = grouped(exp.Sum(this=column("z")), exp.Count(this=exp.Star(), big_int=True), by=())
    rows = {"l": [(1, 1, 0)], "r": [(1, 0, 10)]}
    assert maintained(plan, rows, {"l": [], "r": []}) == Counter([(None, 0)])
    assert maintained(plan, {}, rows) == Counter([(10, 1)])
