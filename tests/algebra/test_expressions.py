"""Expressions that rules put together mean in text what they are as trees."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from viewkeeper.algebra.expressions import column, equal, is_null, is_present, same_or_both_null
from viewkeeper.sql.render import DUCKDB, SPARK, render_expression

LOOSE = (
    "NOT a", "a = b", "a AND b", "a OR b", "a IS NULL", "a IN (b, c)", "a BETWEEN b AND c",
    "a LIKE 'x%'", "a RLIKE 'x'", "a <=> b", "a > b", "a + b", "-a",
)  # fmt: skip
FIRM = ("a", "COALESCE(a, b)", "CASE WHEN a THEN b END", "CAST(a AS INT)", "a[0]", "a.b")


def parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read=SPARK)


@pytest.mark.parametrize("text", LOOSE)
def test_parts_stay_together(text: str) -> None:
    part, key = parsed(text), column("k")
    inner = render_expression(part)
    assert render_expression(same_or_both_null(part, key)) == f"({inner}) IS NOT DISTINCT FROM k"
    assert render_expression(same_or_both_null(key, part)) == f"k IS NOT DISTINCT FROM ({inner})"
    assert render_expression(equal(part, key)) == f"({inner}) = k"
    assert render_expression(is_null(part)) == f"({inner}) IS NULL"
    assert render_expression(is_present(part)) == f"NOT ({inner}) IS NULL"
    read = sqlglot.parse_one(render_expression(same_or_both_null(part, key), DUCKDB), read=DUCKDB)
    assert isinstance(read, exp.NullSafeEQ), "and not a part of it"


@pytest.mark.parametrize("text", FIRM)
def test_nothing_is_enclosed_without_need(text: str) -> None:
    assert render_expression(is_null(parsed(text))) == f"{text} IS NULL"
