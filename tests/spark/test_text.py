"""The SQL text of a plan is kept; plans that mean something else have a text of their own."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from viewkeeper.algebra.relations import Filter, Reference
from viewkeeper.spark.frames import text_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 'Abc'", "a = 'abc'"),
        ("a = '1'", "a = 1"),
        ("a RLIKE r'A'", "a RLIKE r'a'"),
        ("a > 1.0", "a > 1.00"),
    ],
)
def test_values_that_differ_make_other_texts(one: str, other: str) -> None:
    plans = [Filter(Reference("t", ("a",)), parse_one(text, dialect="spark")) for text in (one, other)]
    assert text_of(plans[0]) != text_of(plans[1])
