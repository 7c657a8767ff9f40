"""Expressions, conditions and groups over rows of the driver have the values that DuckDB finds for them."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.settings import cases
from viewkeeper.algebra.expressions import Named, Scalar, column
from viewkeeper.algebra.relations import Aggregate, Bound, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.spark.few_groups import grouped, has_plain_groups
from viewkeeper.spark.scalars import holds

INTS = ("a", "b", "g")
TYPES = {"a": "int", "b": "bigint", "g": "int", "s": "string", "f": "double", "t": "boolean"}
ROWS = Scan("rows", tuple(Bound(name, Column(name, kind)) for name, kind in TYPES.items()))

seeds = st.integers(min_value=0, max_value=2**40)


def random_rows(dice: Random, count: int) -> pa.Table:
    def values(*of: object) -> list[object]:
        return [dice.choice(of) for _ in range(count)]

    return pa.table(
        {
            "a": pa.array(values(None, -3, -1, 0, 1, 2, 2**31 - 1), pa.int32()),
            "b": pa.array(values(None, -5, 0, 4, 2**40), pa.int64()),
            "g": pa.array(values(None, 1, 2, 3), pa.int32()),
            "s": pa.array(values(None, "1", "x"), pa.string()),
            "f": pa.array(values(None, 0.5, float("nan")), pa.float64()),
            "t": pa.array(values(None, True, False), pa.bool_()),
        }
    )


def random_condition(dice: Random, depth: int = 2) -> str:
    if depth and dice.random() < 0.6:
        one, other = random_condition(dice, depth - 1), random_condition(dice, depth - 1)
        return dice.choice((f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})"))
    name = dice.choice(INTS)
    return dice.choice(
        (
            f"{name} {dice.choice(('<', '>', '<>'))} {dice.randint(-4, 4)}",
            f"{name} IS NULL",
            f"{name} IS DISTINCT FROM {dice.choice(INTS)}",
            "t",
        )
    )


def random_call(dice: Random) -> str:
    one, other = (f"{dice.choice(('SUM', 'COUNT'))}({dice.choice(INTS[:2])})" for _ in range(2))
    return dice.choice(
        (one, f"COALESCE({one}, 0)", f"COALESCE({one}, 0) - COALESCE({other}, 0)", f"{one} + {other}")
    )


def parsed(text: str) -> Scalar:
    return sqlglot.parse_one(text, read="duckdb")


def answer(sql: str, rows: pa.Table) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return Counter(connection.sql(sql).fetchall())


def counted(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


@cases(300)
@given(seeds)
def test_conditions_hold_where_they_should(seed: int) -> None:
    dice = Random(seed)
    rows, text = random_rows(dice, dice.randint(0, 12)), random_condition(dice)
    where = holds(parsed(text), rows)
    assert where is not None
    kept = rows.select(list(INTS)).filter(where)
    assert counted(kept) == answer(f"SELECT a, b, g FROM rows WHERE {text}", rows)


@pytest.mark.parametrize(
    "text", ["s > 5", "f > 5", "a > 99999999999999999999", "a > b", "a > 1.5", "a + 1 > 2"]
)
def test_what_spark_compares_in_its_own_way_is_left_to_it(text: str) -> None:
    assert holds(parsed(text), random_rows(Random(1), 5)) is None


@cases(300)
@given(seeds)
def test_groups_have_the_sums_and_counts_of_their_rows(seed: int) -> None:
    dice = Random(seed)
    rows = random_rows(dice, dice.randint(1, 12))
    keys = dice.choice((["g"], ["g", "s"], ["t"]))
    calls = [random_call(dice) for _ in range(dice.randint(1, 3))]
    named = tuple(Named(f"n{place}", parsed(call)) for place, call in enumerate(calls))
    plan = Aggregate(ROWS, tuple(Named(key, column(key)) for key in keys), named)
    found = grouped(plan, rows)
    assert found is not None
    assert found.column_names == [*keys, *(item.name for item in named)]
    assert counted(found) == answer(f"SELECT {', '.join((*keys, *calls))} FROM rows GROUP BY ALL", rows)


@pytest.mark.parametrize(
    ("key", "call"),
    [
        ("g", "SUM(f)"),
        ("g", "SUM(DISTINCT a)"),
        ("g", "SUM(a) FILTER (WHERE t)"),
        ("g", "COUNT(*)"),
        ("g", "COUNT(DISTINCT a)"),
        ("g", "AVG(a)"),
        ("g", "MIN(a)"),
        ("g", "SUM(a + b)"),
        ("g", "SUM(a) * 2"),
        ("f", "SUM(a)"),
    ],
)
def test_other_aggregates_are_left_to_spark(key: str, call: str) -> None:
    plan = Aggregate(ROWS, (Named(key, column(key)),), (Named("n", parsed(call)),))
    assert not has_plain_groups(plan)
    assert grouped(plan, random_rows(Random(1), 5)) is None


def test_a_sum_that_may_not_fit_is_left_to_spark() -> None:
    plan = Aggregate(ROWS, (Named("g", column("g")),), (Named("n", parsed("SUM(b)")),))
    rows = random_rows(Random(1), 2).set_column(1, "b", pa.array([2**62, 2**62], pa.int64()))
    assert grouped(plan, rows) is None
    assert grouped(plan, rows.slice(0, 1)) is not None


def test_a_difference_that_does_not_fit_is_left_to_spark() -> None:
    call = "COALESCE(SUM(b), 0) - COALESCE(SUM(a), 0)"
    plan = Aggregate(ROWS, (Named("g", column("g")),), (Named("n", parsed(call)),))
    rows = random_rows(Random(1), 1).set_column(1, "b", pa.array([1 - 2**63], pa.int64()))
    rows = rows.set_column(0, "a", pa.array([2**31 - 1], pa.int32()))
    assert grouped(plan, rows) is None
