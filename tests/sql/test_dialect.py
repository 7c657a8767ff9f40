"""Calls that are written as they were read."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from viewkeeper.sql.dialect import ViewkeeperSpark


@pytest.mark.parametrize(
    "call",
    [
        "PERCENTILE(x, 0.5)",
        "PERCENTILE(x, ARRAY(0.1, 0.9))",
        "PERCENTILE(x, 0.5, n)",
        "PERCENTILE(DISTINCT x, 0.5)",
        "MODE(x, TRUE)",
    ],
)
def test_no_argument_is_lost(call: str) -> None:
    assert sqlglot.parse_one(call, dialect=ViewkeeperSpark).sql("spark") == call


def test_a_percentile_of_counted_values_is_no_other_function() -> None:
    """What sqlglot knows of the plain one holds for that one alone."""
    plain, counted = (
        sqlglot.parse_one(call, dialect=ViewkeeperSpark)
        for call in ("percentile(x, 0.5)", "percentile(x, 0.5, n)")
    )
    assert isinstance(plain, exp.Quantile)
    assert not isinstance(counted, exp.Quantile)
