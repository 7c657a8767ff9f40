"""Which aggregate functions have state, and what it is."""

from __future__ import annotations

import pytest
import sqlglot

from tests.golden.cases import LINES, named, sql
from viewkeeper.algebra.expressions import same
from viewkeeper.algebra.relations import Aggregate
from viewkeeper.delta.aggregate_state import aggregate_state
from viewkeeper.delta.functions import decompose
from viewkeeper.sql.render import render_expression


def state_of(*calls: str) -> tuple[str, ...]:
    """The state columns that these calls need, without the group-by column."""
    outputs = tuple(named(call, f"out{number}") for number, call in enumerate(calls))
    found = aggregate_state(Aggregate(LINES, same(("l_order",)), outputs))
    assert found is not None
    return found.columns[1:]


def value_of(call: str) -> str:
    found = aggregate_state(Aggregate(LINES, same(("l_order",)), (named(call, "out"),)))
    assert found is not None
    return render_expression(found.outputs[-1].expr)


STATES = {
    "count(*)": ("__rows",),
    "count(1)": ("__rows",),
    "count(l_price)": ("__rows", "__n_l_price"),
    "sum(l_price)": ("__rows", "__sum_l_price", "__n_l_price"),
    "avg(l_price)": ("__rows", "__sum_l_price", "__n_l_price"),
    "mean(l_price)": ("__rows", "__sum_l_price", "__n_l_price"),
    "min(l_price)": ("__rows", "__min_l_price", "__at_min_l_price", "__n_l_price"),
    "max(DISTINCT l_price)": ("__rows", "__max_l_price", "__at_max_l_price", "__n_l_price"),
    "sum(l_price * 2)": ("__rows", "__sum_e1", "__n_e1"),
    "count_if(l_price > 1)": ("__rows", "__n_e1"),
    "count(l_price, l_item)": ("__rows", "__n_e1"),
    "count(*) FILTER (WHERE l_price > 1)": ("__rows", "__n_e1"),
    "bool_and(l_price > 1)": ("__rows", "__n_e1", "__n_e2"),
    "every(l_price > 1)": ("__rows", "__n_e1", "__n_e2"),
    "any(l_price > 1)": ("__rows", "__n_e1", "__n_e2"),
    "some(l_price > 1)": ("__rows", "__n_e1", "__n_e2"),
}


@pytest.mark.parametrize(("call", "columns"), STATES.items(), ids=STATES)
def test_state_of_a_function(call: str, columns: tuple[str, ...]) -> None:
    assert state_of(call) == columns


def test_functions_of_one_argument_share_their_state() -> None:
    assert state_of("sum(l_price)", "avg(l_price)", "count(l_price)") == state_of("avg(l_price)")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("count(*)", "__rows"),
        ("sum(l_price)", "__sum_l_price"),
        ("avg(l_price)", "CASE WHEN __n_l_price > 0 THEN __sum_l_price / __n_l_price END"),
        ("every(l_price > 1)", "CASE WHEN __n_e1 > 0 THEN __n_e2 = __n_e1 END"),
        ("some(l_price > 1)", "CASE WHEN __n_e1 > 0 THEN __n_e2 > 0 END"),
        ("count_if(l_price > 1)", "__n_e1"),
    ],
)
def test_value_of_a_function_from_its_state(call: str, value: str) -> None:
    assert value_of(call) == value


@pytest.mark.parametrize(
    "call",
    [
        "stddev(l_price)",
        "std(l_price)",
        "var_pop(l_price)",
        "covar_samp(l_price, l_item)",
        "corr(l_price, l_item)",
    ],
)
def test_moments_have_state(call: str) -> None:
    assert decompose(sql(call)) is not None


@pytest.mark.parametrize(
    "call",
    [
        "count(DISTINCT x)",
        "sum(DISTINCT x)",
        "collect_list(x)",
        "collect_set(x)",
        "median(x)",
        "percentile(x, 0.5)",
        "mode(x)",
        "approx_count_distinct(x)",
        "min_by(x, y)",
        "first(x)",
        "skewness(x)",
    ],
)
def test_other_functions_have_none(call: str) -> None:
    assert decompose(sqlglot.parse_one(call, dialect="spark")) is None
    assert (
        aggregate_state(Aggregate(LINES, (), (named("count(*)", "n"), named("median(l_price)", "m")))) is None
    )
