"""Plans whose form matters, and what texts of DuckDB cannot check."""

from __future__ import annotations

import duckdb
import pytest

from tests.sql.database import CATALOG, database
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.relations import (
    Aggregate,
    Distinct,
    Fixpoint,
    Join,
    JoinKind,
    Project,
    Relation,
    Window,
)
from viewkeeper.algebra.walk import nodes
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.render import DUCKDB, render
from viewkeeper.sql.show import show


def plan(sql: str) -> Relation:
    view = parse_view(sql, CATALOG)
    assert view.relation is not None, view.untranslatable
    return view.relation


def test_names_are_as_written_and_tables_as_stored() -> None:
    view = parse_view("SELECT K, t.name AS Who FROM T AS t", CATALOG)
    assert view.columns == ("K", "Who")
    assert view.tables == ("t",)


def test_exists_is_a_semi_join_on_its_condition() -> None:
    assert show(plan("SELECT a, b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND d > b)")) == (
        "project a, b\n"
        "  semi join on a2 = a AND d > b\n"
        "    scan r [new] (a, b, c)\n"
        "    scan s [new] (a as a2, d)"
    )


def test_not_in_matches_where_the_comparison_is_unknown() -> None:
    anti = next(
        n for n in nodes(plan("SELECT b FROM r WHERE a NOT IN (SELECT a FROM s)")) if isinstance(n, Join)
    )
    assert anti.kind is JoinKind.ANTI
    assert show(anti).splitlines()[0] == "anti join on a2 = a OR (a2 = a) IS NULL"


def test_a_correlated_aggregate_is_grouped_by_what_ties_it_to_the_outer_row() -> None:
    assert show(plan("SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r")) == (
        "project a, COALESCE(count, 0) as n\n"
        "  left join on a = a2\n"
        "    scan r [new] (a, b, c)\n"
        "    aggregate by (a2) COUNT(*) as count\n"
        "      scan s [new] (a as a2, d)"
    )


def test_aggregates_are_single_calls() -> None:
    rel = plan("SELECT a, SUM(b) / COUNT(*) + MAX(b) FILTER (WHERE c = 'v') AS v FROM r GROUP BY a")
    aggregate = next(n for n in nodes(rel) if isinstance(n, Aggregate))
    assert [item.expr.sql() for item in aggregate.aggregates] == [
        'SUM("b")',
        "COUNT(*)",
        'MAX("b") FILTER(WHERE "c" = \'v\')',
    ]


def _order(sql: str) -> list[str]:
    window = next(n for n in nodes(plan(sql)) if isinstance(n, Window))
    order = window.functions[0].expr.args["order"]
    return [item.this.name for item in order.expressions]


def test_ties_are_broken_only_where_they_show() -> None:
    assert _order("SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS p FROM r") == ["b", "c"]
    assert _order("SELECT a, LAG(c) OVER (ORDER BY b) AS p FROM r") == ["b", "a", "c"]
    assert _order("SELECT a, SUM(b) OVER (ORDER BY b ROWS 1 PRECEDING) AS p FROM r") == ["b", "a", "c"]
    assert _order("SELECT a, RANK() OVER (ORDER BY b) AS p FROM r") == ["b"]
    assert _order("SELECT a, SUM(b) OVER (ORDER BY b) AS p FROM r") == ["b"]
    assert _order("SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS p FROM t") == ["k"]


def test_mutual_recursion_is_one_fixpoint() -> None:
    rel = plan(
        "WITH RECURSIVE even(n) AS (SELECT 0 UNION SELECT dst FROM odd JOIN edge ON n = src),"
        " odd(n) AS (SELECT dst FROM even JOIN edge ON n = src UNION SELECT -1) SELECT n FROM even"
    )
    fixpoint = next(n for n in nodes(rel) if isinstance(n, Fixpoint))
    assert fixpoint.distinct
    assert [d.name for d in fixpoint.definitions] == ["even", "odd"]
    assert fixpoint.result == "even"


def test_negation_inside_of_a_recursion_is_kept_as_text() -> None:
    view = parse_view(
        "WITH RECURSIVE p(x) AS (SELECT src FROM edge UNION SELECT dst FROM edge"
        " WHERE dst NOT IN (SELECT x FROM p)) SELECT x FROM p",
        CATALOG,
    )
    assert view.relation is None
    assert "negated" in (view.untranslatable or "")


def test_columns_of_mutual_recursion_may_be_named_by_a_star() -> None:
    view = parse_view(
        "WITH RECURSIVE p AS (SELECT * FROM q UNION SELECT * FROM edge),"
        " q AS (SELECT p.src, edge.dst FROM p JOIN edge ON p.dst = edge.src) SELECT * FROM p",
        CATALOG,
    )
    assert view.columns == ("src", "dst")
    assert isinstance(view.relation, Project | Fixpoint)


def test_what_is_united_below_a_union_all_is_one_operand_of_it() -> None:
    rel = plan(
        "WITH RECURSIVE p(x) AS ((SELECT src FROM edge UNION SELECT dst FROM edge)"
        " UNION ALL SELECT x + 1 FROM p WHERE x < 3) SELECT x FROM p"
    )
    [fixpoint] = [node for node in nodes(rel) if isinstance(node, Fixpoint)]
    assert not fixpoint.distinct
    assert any(isinstance(node, Distinct) for node in nodes(fixpoint.definitions[0].body))


def test_outer_lateral_view_keeps_rows_without_elements() -> None:
    connection = database(1)
    rel = plan("SELECT id, x FROM xs LATERAL VIEW OUTER explode(list) l AS x")
    found = connection.execute(render(plain(rel), DUCKDB)).fetchall()
    full = "SELECT id, unnest(list) AS x FROM xs WHERE len(list) > 0"
    kept = "SELECT id, NULL FROM xs WHERE list IS NULL OR len(list) = 0"
    assert sorted(found, key=str) == sorted(
        connection.execute(f"{full} UNION ALL {kept}").fetchall(), key=str
    )


def test_a_scalar_subquery_of_several_rows_is_an_error_only_where_it_is_met() -> None:
    text = show(plan("SELECT a, (SELECT d FROM s WHERE s.a = r.a) AS d FROM r"))
    assert "CASE WHEN matches > 1 THEN RAISE_ERROR(" in text
    assert "left join on a = a2" in text


def test_the_error_of_a_scalar_subquery_is_raised() -> None:
    connection = database(1)
    several = "SELECT a, (SELECT d FROM s WHERE d IS NOT NULL) AS d FROM r"
    with pytest.raises(duckdb.Error, match="more than one row"):
        connection.execute(render(plain(plan(several)), DUCKDB)).fetchall()
    single = "SELECT a, (SELECT d FROM (VALUES (1, 7)) AS v(a, d) WHERE v.a = r.a) AS d FROM r"
    found = connection.execute(render(plain(plan(single)), DUCKDB)).fetchall()
    assert all(d == (7 if a == 1 else None) for a, d in found)
