"""Rules as SQL text: what Datalog views are verified by."""

from __future__ import annotations

import sqlglot

from viewkeeper.datalog.as_sql import rules_query
from viewkeeper.datalog.parse import parse_program

COLUMNS = {"p": ("x", "n"), "q": ("a", "b"), "r": ("b", "c")}


def text_of(rules: str) -> str:
    program = parse_program(rules)
    return rules_query(program.rules, COLUMNS)


def test_joins_tests_and_negations() -> None:
    found = text_of("p(X, Z + 1) :- q(X, Y), r(Y, Z), not q(Z, _), Z > 3.")
    assert found == (
        "SELECT DISTINCT s1.`a` AS `x`, (s2.`c` + 1) AS `n` FROM `q` AS s1, `r` AS s2 "
        "WHERE s2.`b` = s1.`b` AND s2.`c` > 3 AND NOT EXISTS (SELECT 1 FROM `q` AS n WHERE n.`a` = s2.`c`)"
    )


def test_groups_facts_and_assigned_variables() -> None:
    found = text_of(
        "p('it''s', -1). p(X, N) :- groupby(q(X, Y), [X], M = count()), N = M * 2. p(B, 0) :- r(b: B)."
    )
    assert found == (
        r"SELECT DISTINCT 'it\'s' AS `x`, (-1) AS `n` UNION "
        "SELECT DISTINCT s1.`k0` AS `x`, ((s1.`a0` * 2)) AS `n` FROM "
        "(SELECT g.`a` AS k0, count(*) AS a0 FROM `q` AS g GROUP BY g.`a` HAVING count(*) > 0) AS s1 UNION "
        "SELECT DISTINCT s1.`b` AS `x`, 0 AS `n` FROM `r` AS s1"
    )
    assert sqlglot.parse_one(found, dialect="spark") is not None
