"""Which filter each operator, each domain and each kind of formula gives: positive and negative cases."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tests.laws.irrelevant_views import scalar
from tests.reference.relevance_together import derivation, irrelevant_together, relevance, relevance_together
from viewkeeper.algebra.expressions import Named, column, same
from viewkeeper.algebra.relations import (
    Aggregate,
    Bound,
    Definition,
    Difference,
    Distinct,
    Filter,
    Fixpoint,
    Intersection,
    Join,
    JoinKind,
    Lateral,
    Project,
    Reference,
    Relation,
    Scan,
    TopK,
    UnionAll,
    Values,
    Window,
)
from viewkeeper.algebra.schema import Column
from viewkeeper.maintenance.relevance.irrelevant_updates import explained_relevance
from viewkeeper.maintenance.relevance.normal_form import MOST_CONJUNCTIONS
from viewkeeper.sql.render import DUCKDB, render_expression


def scan(table: str, **types: str) -> Scan:
    return Scan(table, tuple(Bound(name, Column(name, text)) for name, text in types.items()))


R, S = scan("r", a="int", b="int"), scan("s", c="int", d="int")
CROSS = Join(R, S, JoinKind.INNER, exp.true())
COUNT = (Named("n", exp.Count(this=exp.Star())),)


def kept(rel: Relation, table: str = "r") -> str:
    return render_expression(relevance(rel, table))


def where(rel: Relation, condition: str) -> Filter:
    return Filter(rel, scalar(condition))


class TestFormulae:
    @pytest.mark.parametrize(
        ("condition", "filter_of_r"),
        [
            ("a < c + 3 AND c < b - 5", "CAST(a AS BIGINT) <= CAST(b AS BIGINT) - 4"),
            ("a = c AND b = c", "a = b"),
            ("a <= c AND c <= a - 1", "FALSE"),
            ("a > 3 AND a < 2", "FALSE"),
            ("a <> c AND c = 4", "a <= 3 OR a >= 5"),
            ("a <> 4", "a <> 4 AND NOT a IS NULL"),
            ("c = a AND c NOT IN (7, 8)", "NOT a IN (7, 8) AND NOT a IS NULL"),
            ("a IN (1, 2)", "a IN (1, 2)"),
            ("a = c AND c IN (1, 2, NULL)", "a IN (1, 2, NULL) AND NOT a IS NULL"),
            ("a NOT IN (1, NULL) AND c = 1", "NOT a IN (1, NULL)"),
            ("c NOT IN (1, NULL)", "FALSE"),
            ("c BETWEEN 3 AND 5 AND a < c", "a <= 4"),
            ("c NOT BETWEEN 3 AND 5 AND a = c + 1", "a <= 3 OR a >= 7"),
            ("c IS NULL AND c = a", "FALSE"),
            ("a IS NULL AND b = c", "a IS NULL AND NOT b IS NULL"),
            ("a <=> c", "TRUE"),
            ("a <=> c AND c > 5", "a >= 6"),
            ("NOT (a > 3 OR c > 4) AND b < c", "a <= 3 AND b <= 3"),
            ("NOT (c < a) AND c < 3", "a <= 2"),
            ("c IN (1, NULL) AND a < c", "a <= 0"),
            ("c IN (1, 2, 3, 4, 5, 6, 7, 8, 9) AND c > a", "a <= 8"),
            ("c = 10.5 AND a = 1", "FALSE"),
            ("c > 10.5 AND a > c", "a >= 12"),
            ("FALSE", "FALSE"),
            ("NULL", "FALSE"),
            ("1 = 1", "TRUE"),
            ("'x' = 'y'", "FALSE"),
        ],
    )
    def test_decided(self, condition: str, filter_of_r: str) -> None:
        assert kept(where(CROSS, condition)) == filter_of_r

    @pytest.mark.parametrize(
        ("condition", "filter_of_r"),
        [
            ("a * c > 5", "NOT a IS NULL"),
            ("abs(c) > a", "NOT a IS NULL"),
            ("coalesce(a, 0) > c", "TRUE"),
            ("a / b > 2", "NOT a IS NULL AND NOT b IS NULL"),
            ("rand() > 0.5", "TRUE"),
            ("a > 5 OR abs(c) = 3", "TRUE"),
            ("c IS DISTINCT FROM a", "TRUE"),
        ],
    )
    def test_what_cannot_be_decided_is_kept(self, condition: str, filter_of_r: str) -> None:
        assert kept(where(CROSS, condition)) == filter_of_r

    def test_too_many_conjunctions_are_given_up(self) -> None:
        parts = [f"(a < c + {i} AND d > {i} OR b > d + {i})" for i in range(12)]
        found = explained_relevance(where(CROSS, " AND ".join(parts)), "r")
        assert 1 <= len(found.occurrences[0].conjunctions) <= MOST_CONJUNCTIONS

    def test_a_column_that_is_never_null_is_not_tested(self) -> None:
        strict = Scan("r", (Bound("a", Column("a", "int", nullable=False)),))
        assert kept(Join(strict, S, JoinKind.INNER, scalar("a = c"))) == "TRUE"

    def test_the_filter_runs_on_both_engines(self) -> None:
        dates = Join(
            scan("r", x="date", y="date"), scan("s", z="date"), JoinKind.INNER, scalar("x < z AND z < y")
        )
        found = relevance(dates, "r")
        assert render_expression(found) == "DATEDIFF(x, y) <= -2"
        assert render_expression(found, DUCKDB) == "DATE_DIFF('DAY', y, x) <= -2"


class TestDomains:
    @pytest.mark.parametrize(
        ("type_text", "condition", "filter_of_r"),
        [
            ("bigint", "x <= z AND z < y", "CAST(x AS DECIMAL(19, 0)) <= CAST(y AS DECIMAL(19, 0)) - 1"),
            ("bigint", "x = z AND z = y", "x = y"),
            ("decimal(10,2)", "x > z AND z > 1", "x >= 1.02"),
            ("decimal(10,2)", "x < z AND z < 1.005", "x <= 0.99"),
            ("decimal(38,10)", "x < z AND z < 1", "NOT x IS NULL"),
            ("date", "x > z AND z >= '2020-02-28'", "x >= CAST('2020-02-29' AS DATE)"),
            ("date", "x = date_add(z, 2) AND z = DATE '2020-01-01'", "x = CAST('2020-01-03' AS DATE)"),
            ("date", "x = z + INTERVAL 2 DAYS AND z < DATE '2020-01-01'", "x <= CAST('2020-01-02' AS DATE)"),
            ("date", "x = z AND z = 'soon'", "NOT x IS NULL"),
            ("string", "x = z AND z > 'm'", "x > 'm'"),
            ("string", "x < z AND z < y", "x < y"),
            ("string", "x < z AND z <= 'a' AND z >= 'b'", "FALSE"),
            ("string", "x = z AND z LIKE 'a%'", "x LIKE 'a%' AND NOT x IS NULL"),
            ("string", "x = z AND z = 5", "NOT x IS NULL"),
            ("double", "x < z AND z < 0.5", "x < 0.5"),
            ("double", "x < z + 1 AND z < 0.5", "NOT x IS NULL"),
            ("double", "z < 0.5 AND z > 0.5", "FALSE"),
            ("boolean", "x = z AND z", "x = TRUE"),
            ("boolean", "z AND NOT z", "FALSE"),
            (
                "timestamp_ntz",
                "x < z AND z < TIMESTAMP_NTZ '2020-01-01 00:00:00'",
                "x < CAST('2020-01-01 00:00:00' AS TIMESTAMP_NTZ)",
            ),
            ("timestamp", "z < '2020-01-01 02:30:00' AND z > '2020-01-01 03:00:00'", "TRUE"),
            ("timestamp", "z < '2020-01-01 02:30:00' AND z > '2020-02-01 03:00:00'", "FALSE"),
            ("array<int>", "x = z", "NOT x IS NULL"),
            ("char(3)", "x = z AND z = 'a'", "NOT x IS NULL"),
        ],
    )
    def test_each(self, type_text: str, condition: str, filter_of_r: str) -> None:
        left, right = scan("r", x=type_text, y=type_text), scan("s", z=type_text)
        assert kept(Join(left, right, JoinKind.INNER, scalar(condition))) == filter_of_r

    def test_different_types_of_one_kind_meet(self) -> None:
        mixed = Join(scan("r", x="decimal(5,2)"), S, JoinKind.INNER, scalar("x < c AND c < 2"))
        assert kept(mixed) == "x <= 0.99"

    def test_kinds_do_not_mix(self) -> None:
        mixed = Join(scan("r", x="bigint"), scan("s", z="double"), JoinKind.INNER, scalar("x = z AND z > 5"))
        assert kept(mixed) == "NOT x IS NULL"

    def test_a_widening_cast_is_seen_through(self) -> None:
        wide = Join(R, scan("s", z="bigint"), JoinKind.INNER, scalar("CAST(a AS BIGINT) = z AND z > 5"))
        assert kept(wide) == "a >= 6"
        narrow = Join(R, scan("s", z="bigint"), JoinKind.INNER, scalar("a = CAST(z AS INT) AND z > 5"))
        assert kept(narrow) == "NOT a IS NULL"


class TestJoins:
    """A filter `d < 10` above, and the condition `a = c AND d > 3 AND b > 2` of the join."""

    ON = "a = c AND d > 3 AND b > 2"

    @pytest.mark.parametrize(
        ("kind", "of_r", "of_s"),
        [
            (JoinKind.INNER, "b >= 3 AND NOT a IS NULL", "d >= 4 AND NOT c IS NULL"),
            (JoinKind.LEFT, "TRUE", "d >= 4 AND NOT c IS NULL"),
            (JoinKind.RIGHT, "b >= 3 AND NOT a IS NULL", "TRUE"),
            (JoinKind.FULL, "TRUE", "TRUE"),
            (JoinKind.SEMI, "b >= 3 AND NOT a IS NULL", "d >= 4 AND NOT c IS NULL"),
            (JoinKind.ANTI, "TRUE", "d >= 4 AND NOT c IS NULL"),
        ],
    )
    def test_the_condition_of_the_join(self, kind: JoinKind, of_r: str, of_s: str) -> None:
        join = Join(R, S, kind, scalar(self.ON))
        assert (kept(join, "r"), kept(join, "s")) == (of_r, of_s)

    @pytest.mark.parametrize(
        ("kind", "of_r", "of_s"),
        [
            (JoinKind.LEFT, "b >= 3 AND NOT a IS NULL", "d <= 9 AND d >= 4 AND NOT c IS NULL"),
            (JoinKind.RIGHT, "b >= 3 AND NOT a IS NULL", "d <= 9"),
            (JoinKind.FULL, "b >= 3 AND NOT a IS NULL", "d <= 9"),
        ],
    )
    def test_a_filter_that_rejects_null(self, kind: JoinKind, of_r: str, of_s: str) -> None:
        join = where(Join(R, S, kind, scalar(self.ON)), "d < 10")
        assert (kept(join, "r"), kept(join, "s")) == (of_r, of_s)

    def test_a_row_of_the_inner_side_takes_the_null_row_away(self) -> None:
        unmatched = where(Join(R, S, JoinKind.LEFT, scalar("a = c AND d > 3")), "c IS NULL AND b < 5")
        assert kept(unmatched, "s") == "d >= 4 AND NOT c IS NULL"
        assert kept(unmatched, "r") == "b <= 4"

    def test_a_filter_above_says_nothing_of_the_inner_side_alone(self) -> None:
        outer = where(Join(R, S, JoinKind.LEFT, scalar("a = c")), "d > 3 OR d IS NULL")
        assert kept(outer, "s") == "NOT c IS NULL"

    def test_a_left_join_below_a_join(self) -> None:
        inner = Join(S, scan("t", e="int"), JoinKind.LEFT, scalar("c = e AND e > 5"))
        assert kept(Join(R, inner, JoinKind.INNER, scalar("a <=> e AND b = c"))) == (
            "(a IS NULL AND NOT b IS NULL) OR (a = b AND a >= 6 AND b >= 6)"
        )

    def test_a_right_join_below_a_join(self) -> None:
        inner = Join(scan("t", e="int"), S, JoinKind.RIGHT, scalar("c = e AND e > 5"))
        assert kept(Join(R, inner, JoinKind.INNER, scalar("a <=> e AND b = c"))) == (
            "(a IS NULL AND NOT b IS NULL) OR (a = b AND a >= 6 AND b >= 6)"
        )

    def test_an_anti_join_below_a_join_promises_nothing(self) -> None:
        inner = Join(S, scan("t", e="int"), JoinKind.ANTI, scalar("c = e AND c > 5"))
        assert kept(Join(R, inner, JoinKind.INNER, scalar("a = c"))) == "NOT a IS NULL"

    def test_a_self_join_keeps_what_either_side_needs(self) -> None:
        again = Scan("r", (Bound("a2", Column("a", "int")), Bound("b2", Column("b", "int"))))
        assert kept(Join(R, again, JoinKind.INNER, scalar("a = a2 AND b > 5 AND b2 < 2"))) == (
            "(b >= 6 AND NOT a IS NULL) OR (b <= 1 AND NOT a IS NULL)"
        )

    def test_literal_rows(self) -> None:
        rows = Values(("v",), ((exp.Literal.number(3),), (exp.Literal.number(7),)))
        assert kept(Join(R, rows, JoinKind.INNER, scalar("a = v"))) == "a = 3 OR a = 7"


class TestOperators:
    def test_a_projection_is_looked_through(self) -> None:
        made = Project(R, (Named("x", scalar("a + 1")), Named("y", column("b"))))
        assert kept(where(made, "x > 5 AND y = 3")) == "a >= 5 AND b = 3"

    def test_a_renamed_column_is_filtered_under_its_stored_name(self) -> None:
        bound = Scan("r", (Bound("x", Column("a", "int")),))
        assert kept(where(bound, "x = 5")) == "a = 5"

    def test_the_filter_below_an_aggregate(self) -> None:
        assert kept(Aggregate(where(R, "a > 5"), same(("b",)), COUNT)) == "a >= 6"

    def test_having_on_a_group_key(self) -> None:
        assert kept(where(Aggregate(R, same(("b",)), COUNT), "b > 5 AND n > 3")) == "b >= 6"

    def test_having_without_keys(self) -> None:
        assert kept(where(Aggregate(R, (), COUNT), "n > 3")) == "TRUE"

    def test_an_aggregate_without_keys_has_a_row_even_over_none(self) -> None:
        total = Aggregate(where(S, "c > 5 AND c < 3"), (), COUNT)
        assert kept(Join(R, total, JoinKind.INNER, scalar("a > n"))) == "NOT a IS NULL"

    def test_the_group_keys_of_another_input(self) -> None:
        groups = Aggregate(where(S, "c > 5"), same(("c",)), COUNT)
        assert kept(Join(R, groups, JoinKind.INNER, scalar("a = c"))) == "a >= 6"

    def test_distinct(self) -> None:
        assert kept(where(Distinct(R), "a > 5")) == "a >= 6"

    def test_a_filter_above_a_window_counts_for_its_partition_only(self) -> None:
        number = exp.Window(this=exp.RowNumber(), partition_by=[column("a")])
        window = Window(R, ("a",), (Named("n", number),))
        assert kept(where(window, "a > 5 AND b > 3 AND n = 1")) == "a >= 6"

    def test_a_filter_above_a_limit_says_nothing(self) -> None:
        top = TopK(where(R, "b > 3"), (), 5)
        assert kept(where(top, "a > 5")) == "b >= 4"

    def test_a_union_keeps_what_either_branch_needs(self) -> None:
        again = Scan("r", (Bound("x", Column("a", "int")), Bound("y", Column("b", "int"))))
        union = where(UnionAll((where(R, "b = 1"), where(again, "y = 2"))), "a > 5")
        assert kept(union) == "(a >= 6 AND b = 1) OR (a >= 6 AND b = 2)"

    def test_a_union_that_converts_values(self) -> None:
        union = UnionAll((Project(R, same(("a",))), Project(scan("s", z="string"), same(("z",)))))
        assert kept(where(union, "a = '5'")) == "TRUE"

    def test_a_constant_tells_the_branches_apart(self) -> None:
        one, two = (Project(rel, (Named("k", exp.Literal.string(k)),)) for rel, k in ((R, "r"), (S, "s")))
        union = where(UnionAll((one, two)), "k = 's'")
        assert (kept(union, "r"), kept(union, "s")) == ("FALSE", "TRUE")

    @pytest.mark.parametrize("node", [Difference, Intersection])
    @pytest.mark.parametrize("keeps_copies", [True, False])
    def test_except_and_intersect(
        self, node: type[Difference] | type[Intersection], keeps_copies: bool
    ) -> None:
        rel = where(node(R, where(S, "d > 3"), keeps_copies), "a > 5")
        assert (kept(rel, "r"), kept(rel, "s")) == ("a >= 6", "c >= 6 AND d >= 4")

    def test_what_a_generator_makes_may_be_anything(self) -> None:
        spread = Lateral(scan("r", a="int", xs="array<int>"), exp.Explode(this=column("xs")), ("x",))
        assert kept(where(spread, "x > 5 AND a = 1")) == "a = 1"

    def test_inside_a_fixpoint_only_its_own_conditions_count(self) -> None:
        step = Join(Reference("reach", ("x", "y")), where(R, "b > 0"), JoinKind.INNER, scalar("y = a"))
        body = UnionAll((where(R, "b > 0 AND a < 9"), Project(step, same(("x", "b")))))
        closure = Fixpoint((Definition("reach", ("x", "y"), body),), "reach", True)
        assert kept(where(closure, "x = 1")) == "(a <= 8 AND b >= 1) OR (b >= 1 AND NOT a IS NULL)"

    def test_a_table_that_the_view_does_not_read(self) -> None:
        found = explained_relevance(R, "elsewhere")
        assert found.drops_everything
        assert not found.occurrences


class TestTogether:
    def test_a_table_that_is_met_in_an_outer_join_is_not_decided(self) -> None:
        assert relevance_together(Join(R, S, JoinKind.LEFT, scalar("a = c")), ("r", "s")) == exp.true()

    def test_irrelevant_is_the_opposite_without_null(self) -> None:
        found = irrelevant_together(Join(R, S, JoinKind.INNER, scalar("a = c")), ("r", "s"))
        assert render_expression(found) == "NOT COALESCE(`r.a` = `s.c`, FALSE)"

    def test_each_occurrence_of_a_self_joined_table(self) -> None:
        again = Scan("s", (Bound("c2", Column("c", "int")),))
        both = Join(Join(R, S, JoinKind.INNER, scalar("a = c")), again, JoinKind.INNER, scalar("b = c2"))
        assert render_expression(relevance_together(both, ("r", "s"))) == (
            "(`r.b` = `s.c` AND NOT `r.a` IS NULL) OR (`r.a` = `s.c` AND NOT `r.b` IS NULL)"
        )


def test_the_explanation() -> None:
    lines = list(derivation(explained_relevance(where(CROSS, "a < 10 AND c > 5 AND b = c"), "r")))
    assert lines == [
        "changes of r are kept where a <= 9 AND b >= 6",
        "  condition a < 10 AND `s.c` > 5 AND b = `s.c`",
        "    C1",
        "      invariant: s.c >= 6, s.c is not null",
        "      variant evaluable: a <= 9, a is not null, b is not null",
        "      variant non-evaluable: b <= s.c, s.c <= b",
        "      tests: a <= 9, b >= 6",
    ]
