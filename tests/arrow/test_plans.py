"""Joins, groups and unions over Arrow tables compare rows as SQL does."""

from __future__ import annotations

from collections import Counter
from math import nan

import pyarrow as pa
import pytest
from sqlglot import parse_one

from viewkeeper.algebra.expressions import Named, column, function, literal, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Expand,
    Join,
    JoinKind,
    Project,
    Reference,
    TopK,
    UnionAll,
    Window,
)
from viewkeeper.arrow.plans import rows
from viewkeeper.errors import NeedsSpark

LEFT = pa.table({"a": pa.array([1, 1, None, 3], pa.int64()), "b": pa.array([0.0, nan, -0.0, 1.0])})
RIGHT = pa.table({"c": pa.array([1, None, 4], pa.int64()), "d": pa.array([nan, 0.0, 1.0])})
L, R = Reference("l", ("a", "b")), Reference("r", ("c", "d"))


def run(plan: object) -> Counter[tuple[object, ...]]:
    found = rows(plan, {"l": LEFT, "r": RIGHT})  # type: ignore[arg-type]
    whole = zip(*(found[name].to_pylist() for name in plan.columns), strict=True)  # type: ignore[attr-defined]
    return Counter(tuple("nan" if v != v else v for v in row) for row in whole)


def joined(kind: JoinKind, on: str) -> Counter[tuple[object, ...]]:
    return run(Join(L, R, kind, parse_one(on, dialect="spark")))


def test_null_equals_null_only_where_sql_says_so() -> None:
    assert joined(JoinKind.SEMI, "a <=> c") == Counter([(1, 0.0), (1, "nan"), (None, -0.0)])
    assert joined(JoinKind.SEMI, "a = c") == Counter([(1, 0.0), (1, "nan")])
    assert joined(JoinKind.ANTI, "a = c") == Counter([(3, 1.0), (None, -0.0)])


def test_nan_equals_nan_and_zeros_are_equal_whatever_their_signs() -> None:
    assert joined(JoinKind.INNER, "a <=> c AND b <=> d") == Counter(
        [(1, "nan", 1, "nan"), (None, -0.0, None, 0.0)]
    )


def test_a_condition_beside_the_equalities_decides_which_pairs_match() -> None:
    assert joined(JoinKind.LEFT, "a <=> c AND b < d") == Counter(
        [(1, 0.0, 1, "nan"), (1, "nan", None, None), (3, 1.0, None, None), (None, -0.0, None, None)]
    )
    assert joined(JoinKind.ANTI, "a <=> c AND b < d") == Counter([(1, "nan"), (3, 1.0), (None, -0.0)])


def test_a_full_join_keeps_both_sides() -> None:
    found = joined(JoinKind.FULL, "a = c AND b = d")
    assert (1, "nan", 1, "nan") in found
    assert found.total() == 6


@pytest.mark.parametrize(("exact", "groups"), [(False, 3), (True, 4)])
def test_zeros_of_other_signs_are_one_group_unless_rows_are_told_apart(exact: bool, groups: int) -> None:
    plan = Aggregate(Reference("l", ("a", "b")), same(("b",)), (), exact)
    both = UnionAll((plan, Project(Distinct(plan, exact), same(("b",)))))
    assert run(plan).total() == groups
    assert run(both).total() == 2 * groups


def test_extremes_of_floats_have_nan_as_the_greatest() -> None:
    calls = (Named("low", function("min", column("b"))), Named("high", function("max", column("b"))))
    assert run(Aggregate(L, (), calls)) == Counter([(0.0, "nan")])
    assert run(Aggregate(L, same(("a",)), calls)) == Counter(
        [(1, 0.0, "nan"), (3, 1.0, 1.0), (None, -0.0, -0.0)]
    )


def test_without_keys_there_is_one_group_even_over_no_rows() -> None:
    nothing = Reference("n", ("a",))
    total = Named("t", function("coalesce", function("sum", column("a")), literal(0)))
    count = Named("c", parse_one("COUNT(*)"))
    found = rows(Aggregate(nothing, (), (total, count)), {"n": LEFT.select(["a"]).slice(0, 0)})
    assert found.to_pylist() == [{"t": 0, "c": 0}]


def test_a_sum_that_leaves_its_type_is_an_error_of_spark() -> None:
    large = pa.table({"a": pa.array([2**62, 2**62, 5], pa.int64())})
    total = Aggregate(Reference("n", ("a",)), (), (Named("t", function("sum", column("a"))),))
    with pytest.raises(NeedsSpark, match="does not fit"):
        rows(total, {"n": large})
    assert rows(total, {"n": large.slice(1)}).to_pylist() == [{"t": 2**62 + 5}]


def test_copies_stand_as_often_as_their_counts_say() -> None:
    counted = pa.table({"a": ["x", "y"], "__count": pa.array([2, 1], pa.int64())})
    assert rows(Expand(Reference("n", ("a", "__count"))), {"n": counted})["a"].to_pylist() == ["x", "x", "y"]


def test_nested_values_are_compared_as_wholes() -> None:
    kind = pa.map_(pa.string(), pa.list_(pa.float64()))
    values = pa.array([[("a", [0.0]), ("b", None)], [("b", None), ("a", [-0.0])], [("a", [1.0])]], kind)
    table = pa.table({"m": values})
    assert rows(Distinct(Reference("n", ("m",))), {"n": table}).num_rows == 2
    assert rows(Distinct(Reference("n", ("m",)), exact=True), {"n": table}).num_rows == 3


def test_what_merging_never_needs_is_left_to_spark() -> None:
    first = Window(L, ("a",), (Named("r", parse_one("ROW_NUMBER() OVER (PARTITION BY a ORDER BY b)")),))
    for plan in (TopK(L, (), 1), first):
        with pytest.raises(NeedsSpark):
            run(plan)
