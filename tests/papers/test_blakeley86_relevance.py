"""blakeley86 section 4: Example 4.1 with its numbers, normalization, the split, the graph, Theorem 4.2."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest
from sqlglot import exp

from tests.laws.irrelevant_views import scalar
from tests.reference.relevance_together import relevance, relevance_together
from viewkeeper.algebra.counts import plain
from viewkeeper.algebra.expressions import same
from viewkeeper.algebra.relations import Bound, Filter, Join, JoinKind, Project, Relation, Scan
from viewkeeper.algebra.schema import Column
from viewkeeper.maintenance.relevance.domains import ConstantNode, ValueKind
from viewkeeper.maintenance.relevance.formulae import AtMost
from viewkeeper.maintenance.relevance.graph import Graph
from viewkeeper.maintenance.relevance.irrelevant_updates import explained_relevance
from viewkeeper.sql.render import DUCKDB, render, render_expression

ZERO = ConstantNode(ValueKind.EXACT)


def scan(table: str, *names: str) -> Scan:
    return Scan(table, tuple(Bound(name, Column(name, "int")) for name in names))


R, S = scan("r", "A", "B"), scan("s", "C", "D")


def selected(condition: str) -> Relation:
    return Filter(Join(R, S, JoinKind.INNER, exp.true()), scalar(condition))


EXAMPLE = Project(selected("A < 10 AND C > 5 AND B = C"), same(("A", "D")))


@pytest.fixture
def database() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 1})
    con.execute("CREATE TABLE r AS FROM (VALUES (1, 2), (5, 10), (12, 15)) AS t(A, B)")
    con.execute("CREATE TABLE s AS FROM (VALUES (2, 10), (10, 20)) AS t(C, D)")
    return con


def view(con: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    return con.execute(render(plain(EXAMPLE), DUCKDB)).fetchall()


def is_kept(con: duckdb.DuckDBPyConnection, a: int, b: int) -> bool:
    test = render_expression(relevance(EXAMPLE, "r"), DUCKDB)
    (kept,) = con.execute(f"SELECT {test} FROM (VALUES ({a}, {b})) AS t(A, B)").fetchone()
    return kept


class TestExample41:
    def test_the_state_of_the_view(self, database: duckdb.DuckDBPyConnection) -> None:
        assert view(database) == [(5, 20)]

    def test_the_tuple_9_10_is_relevant(self, database: duckdb.DuckDBPyConnection) -> None:
        assert is_kept(database, 9, 10)
        database.execute("INSERT INTO r VALUES (9, 10)")
        assert sorted(view(database)) == [(5, 20), (9, 20)]

    def test_the_tuple_11_10_is_irrelevant(self, database: duckdb.DuckDBPyConnection) -> None:
        assert not is_kept(database, 11, 10)
        database.execute("INSERT INTO r VALUES (11, 10)")
        assert view(database) == [(5, 20)]

    def test_the_compiled_filters(self) -> None:
        assert render_expression(relevance(EXAMPLE, "r")) == "A <= 9 AND B >= 6"
        assert render_expression(relevance(EXAMPLE, "s")) == "C >= 6"

    def test_a_relevant_tuple_may_still_change_nothing(self, database: duckdb.DuckDBPyConnection) -> None:
        assert is_kept(database, 9, 7)
        database.execute("INSERT INTO r VALUES (9, 7)")
        assert view(database) == [(5, 20)]


class TestAlgorithm41:
    def test_the_split_into_invariant_and_variant_formulae(self) -> None:
        (occurrence,) = explained_relevance(EXAMPLE, "r").occurrences
        (found,) = occurrence.conjunctions
        assert _edges(found.invariant) == ["s.C >= 6"]
        assert _edges(found.evaluable) == ["A <= 9"]
        assert _edges(found.non_evaluable) == ["B <= s.C", "s.C <= B"]

    def test_the_split_depends_on_the_updated_relation(self) -> None:
        (occurrence,) = explained_relevance(EXAMPLE, "s").occurrences
        (found,) = occurrence.conjunctions
        assert _edges(found.invariant) == ["r.A <= 9"]
        assert _edges(found.evaluable) == ["C >= 6"]
        assert _edges(found.non_evaluable) == ["C <= r.B", "r.B <= C"]

    def test_the_invariant_portion_of_the_graph(self) -> None:
        (found,) = explained_relevance(EXAMPLE, "r").occurrences[0].conjunctions
        graph = found.graph
        assert graph.edges == (AtMost(ZERO, "s.C", Fraction(-6)),)

    @pytest.mark.parametrize(
        ("condition", "normal"),
        [
            ("C < D + 3", ["s.C <= s.D + 2"]),
            ("C > D + 3", ["s.D <= s.C - 4"]),
            ("C = D + 3", ["s.C <= s.D + 3", "s.D <= s.C - 3"]),
            ("C <= D - 3", ["s.C <= s.D - 3"]),
            ("C >= D", ["s.D <= s.C"]),
            ("C < 5", ["s.C <= 4"]),
            ("C > 5", ["s.C >= 6"]),
            ("C = 5", ["s.C <= 5", "s.C >= 5"]),
        ],
    )
    def test_normalization(self, condition: str, normal: list[str]) -> None:
        (found,) = explained_relevance(selected(condition), "r").occurrences[0].conjunctions
        assert _edges(found.invariant) == normal

    def test_an_unsatisfiable_invariant_part_makes_every_tuple_irrelevant(self) -> None:
        assert relevance(selected("C > D AND D > C"), "r") == exp.false()

    def test_a_disjunction_is_satisfiable_when_one_part_is(self) -> None:
        condition = "(A < C AND C < 4) OR (B > C AND C > 8) OR (C > 5 AND C < 5)"
        assert render_expression(relevance(selected(condition), "r")) == "A <= 2 OR B >= 10"


class TestGraph:
    def test_a_negative_cycle(self) -> None:
        cycle = (
            AtMost("x", "y", Fraction(2)),
            AtMost("y", "z", Fraction(-1)),
            AtMost("z", "x", Fraction(-2)),
        )
        assert not Graph(cycle).is_satisfiable
        assert Graph(cycle[:2]).is_satisfiable

    def test_a_cycle_of_weight_zero_is_an_equality_unless_an_edge_is_strict(self) -> None:
        there, back = AtMost("x", "y", Fraction(1)), AtMost("y", "x", Fraction(-1))
        assert Graph((there, back)).is_satisfiable
        assert not Graph((there, AtMost("y", "x", Fraction(-1), strict=True))).is_satisfiable

    def test_the_shortest_path(self) -> None:
        graph = Graph(
            (AtMost("x", "y", Fraction(2)), AtMost("y", "z", Fraction(3)), AtMost("x", "z", Fraction(9)))
        )
        assert graph.length("x", "z") == (Fraction(5), True)


class TestTheorem42:
    def test_tuples_of_both_relations(self) -> None:
        together = render_expression(relevance_together(EXAMPLE, ("r", "s")))
        assert together == "`r.A` <= 9 AND `r.B` = `s.C` AND `s.C` >= 6"

    def test_a_third_relation_between_them(self) -> None:
        chain = Filter(
            Join(Join(R, S, JoinKind.INNER, exp.true()), scan("t", "E"), JoinKind.INNER, exp.true()),
            scalar("A < C AND C < E"),
        )
        together = render_expression(relevance_together(chain, ("r", "t")))
        assert together == "CAST(`r.A` AS BIGINT) <= CAST(`t.E` AS BIGINT) - 2"


def _edges(formulae: tuple[object, ...]) -> list[str]:
    return [str(formula) for formula in formulae if isinstance(formula, AtMost)]
