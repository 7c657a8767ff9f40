"""Joins whose keys do not meet are known to be empty; whatever has a row is not."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from viewkeeper.algebra.build import empty, named_like, union_all
from viewkeeper.algebra.expressions import column, equal, null_safe_match
from viewkeeper.algebra.relations import Distinct, Join, JoinKind, Reference, Relation, Scan
from viewkeeper.spark.void import is_void

Pair = tuple[int | None, int | None]
VALUES = st.none() | st.integers(0, 6)
PAIRS = st.lists(st.tuples(VALUES, VALUES), max_size=5)


def table(pairs: list[Pair], kind: pa.DataType | None = None) -> pa.Table:
    columns = list(zip(*pairs, strict=True)) if pairs else [(), ()]
    return pa.table([pa.array(values, kind or pa.int32()) for values in columns], names=["x", "y"])


def step(name: str, number: int) -> Relation:
    return named_like(Reference(name, ("x", "y")), (f"from{number}", f"to{number}"))


def chain(*names: str) -> Relation:
    """One relation after the other: each begins where the one before ends."""
    plan = step(names[0], 0)
    for number, name in enumerate(names[1:], start=1):
        on = equal(column(f"to{number - 1}"), column(f"from{number}"))
        plan = Join(plan, step(name, number), JoinKind.INNER, on)
    return plan


@cases(200)
@given(PAIRS, PAIRS, PAIRS)
def test_of_a_chain_it_is_known_exactly(a: list[Pair], b: list[Pair], c: list[Pair]) -> None:
    rows = {"a": table(a), "b": table(b), "c": table(c)}
    ways = [1 for x, y, z in product(a, b, c) if x[1] == y[0] is not None and y[1] == z[0] is not None]
    if ways:
        assert not is_void(chain("a", "b", "c"), rows)
    whole = [all(None not in pair for pair in side) for side in (a, b, c)]
    if all(whole):
        assert is_void(chain("a", "b", "c"), rows) is not bool(ways)


@cases(100)
@given(PAIRS, PAIRS)
def test_semi_joins_match_nulls_where_they_are_asked_to(a: list[Pair], b: list[Pair]) -> None:
    rows = {"a": table(a), "b": table(b)}
    on = null_safe_match([("from0", "from1")])
    both = Join(step("a", 0), step("b", 1), JoinKind.SEMI, on)
    assert is_void(both, rows) is not bool({x for x, _ in a} & {x for x, _ in b})


def test_unions_and_what_is_not_known() -> None:
    rows = {"a": table([(1, 2)]), "b": table([(3, 4)]), "none": table([])}
    columns = ("from0", "to0", "from1", "to1")
    apart, met = chain("a", "b"), chain("a", "a2")
    assert is_void(apart, rows)
    assert is_void(Distinct(union_all((apart, chain("b", "a")), columns)), rows)
    assert not is_void(union_all((apart, met), columns), {**rows, "a2": table([(2, 3)])})
    assert not is_void(met, rows), "nothing is known of a2"
    assert is_void(chain("none", "a2"), rows), "whatever a2 is"
    assert is_void(empty(("x",)), {})
    assert not is_void(Scan("a", ()), rows)
    assert is_void(
        Join(step("none", 0), step("a", 1), JoinKind.ANTI, null_safe_match([("to0", "from1")])), rows
    )
    assert not is_void(
        Join(step("a", 0), step("none", 1), JoinKind.LEFT, equal(column("to0"), column("from1"))), rows
    )


def test_keys_that_spark_compares_otherwise_are_left_to_it() -> None:
    zero = {"a": table([(0, -0.0)], pa.float64()), "b": table([(0.0, 0)], pa.float64())}  # type: ignore[list-item]
    assert not is_void(chain("a", "b"), zero)
    mixed = {"a": table([(1, 2)]), "b": table([(2, 3)], pa.int64())}
    assert not is_void(chain("a", "b"), mixed)
