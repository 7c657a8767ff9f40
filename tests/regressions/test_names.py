"""What a user writes is what Spark reads: names, literals, IN as a value, recursion by UNION, USING, maps."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside, bag

IN_VALUES = [
    "x IN (SELECT y FROM s)",
    "x NOT IN (SELECT y FROM s)",
    "(x IN (SELECT y FROM s)) IS NULL",
    "CASE WHEN x NOT IN (SELECT y FROM s) THEN 'a' WHEN x IN (SELECT y FROM s) THEN 'b' ELSE 'c' END",
    "(k, x) IN (SELECT k, y FROM s)",
    "(k, x) NOT IN (SELECT k, y FROM s)",
    "x IN (SELECT y FROM s WHERE s.k = t.k)",
    "x NOT IN (SELECT y FROM s WHERE s.k = t.k)",
    "NOT (x IN (SELECT y FROM s) OR k IS NULL)",
    "NOT (x NOT IN (SELECT y FROM s) AND k > 0)",
    "coalesce(x IN (SELECT y FROM s), true)",
    "(x NOT IN (SELECT y FROM s)) = (x > 2)",
]
IN_CONDITIONS = [
    "x NOT IN (SELECT y FROM s) OR k = 1",
    "(x IN (SELECT y FROM s)) IS NULL",
    "NOT (x IN (SELECT y FROM s)) AND k > 0",
    "NOT (k = 3 AND x IN (SELECT y FROM s))",
]


def test_in_as_a_value_is_what_spark_gives_where_there_are_nulls(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE t (k INT, x INT)",
        "CREATE TABLE s (k INT, y INT)",
        "INSERT INTO t VALUES (1, 1), (2, NULL), (3, 3), (4, NULL), (NULL, 5)",
        "INSERT INTO s VALUES (1, 1), (3, NULL), (5, 2)",
    )
    values = {f"value{n}": f"SELECT k, x, {text} AS v FROM t" for n, text in enumerate(IN_VALUES)}
    beside.define(values, policy="full")
    beside.define({f"where{n}": f"SELECT k, x FROM t WHERE {c}" for n, c in enumerate(IN_CONDITIONS)}, "full")
    beside.after("DELETE FROM s WHERE y IS NULL")
    beside.after("DELETE FROM s")


def test_in_as_a_value_is_maintained(warehouse: vk.Warehouse) -> None:
    beside = Beside(warehouse, "CREATE TABLE t (k INT, x INT)", "CREATE TABLE s (k INT, y INT)")
    beside.define(
        {
            "tested": f"SELECT k, x, {IN_VALUES[0]} AS i FROM t",
            "negated": f"SELECT k, x, {IN_VALUES[1]} AS n FROM t",
            "pairs": f"SELECT k, x, {IN_VALUES[5]} AS n FROM t",
            "summed": "SELECT k, SUM(CASE WHEN x IN (SELECT y FROM s) THEN 1 ELSE 0 END) AS n FROM t GROUP BY k",
        }
    )
    beside.after(
        "INSERT INTO t VALUES (1, 1), (2, NULL), (3, 3), (4, NULL), (NULL, 5)",
        "INSERT INTO s VALUES (1, 1), (3, NULL), (5, 2)",
    )
    beside.after("DELETE FROM s WHERE y IS NULL", "INSERT INTO t VALUES (6, 2), (6, NULL)")
    beside.after("UPDATE s SET y = 3", "DELETE FROM t WHERE k = 1")


def closure(edges: set[tuple[int, int]]) -> dict[str, set[tuple[int, int]]]:
    """Paths of an even and of an odd number of edges."""
    odd, even = set(edges), set[tuple[int, int]]()
    while True:
        more = {(x, z) for x, y in odd for w, z in edges if w == y}
        further = {(x, z) for x, y in even for w, z in edges if w == y}
        if more <= even and further <= odd:
            return {"even": even, "odd": odd, "all": odd | even}
        odd, even = odd | further, even | more


EVEN = "SELECT odd.a, e.b FROM odd JOIN e ON odd.b = e.a"
ODD = "SELECT even.a, e.b FROM even JOIN e ON even.b = e.a"
RECURSIVE = {
    "mutual": (f"WITH RECURSIVE even AS ({EVEN}), odd AS (SELECT * FROM e UNION {ODD}) SELECT a, b FROM even", "even"),
    "named_by_a_star": (
        "WITH RECURSIVE p AS (SELECT * FROM q UNION SELECT * FROM e),"
        " q AS (SELECT p.a, e.b FROM p JOIN e ON p.b = e.a UNION SELECT * FROM p) SELECT * FROM q",
        "all",
    ),
    "forward": (
        "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM q), q(a, b) AS (SELECT a, b FROM e"
        " UNION SELECT q.a, e.b FROM q JOIN e ON q.b = e.a) SELECT a, b FROM p",
        "all",
    ),
    "seeded_by_union_all": (
        "WITH RECURSIVE p(a, b) AS (SELECT a, b FROM e UNION ALL SELECT a, b FROM e"
        " UNION SELECT p.a, e.b FROM p JOIN e ON p.b = e.a) SELECT a, b FROM p",
        "all",
    ),
}


def test_mutual_and_forward_recursion_by_union(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE e (a INT, b INT)")
    for name, (text, _) in RECURSIVE.items():
        warehouse.create_view(name, text, policy="strict")
    for change in (
        "INSERT INTO e VALUES (1, 2), (2, 3), (3, 4), (4, 5), (9, 1)",
        "DELETE FROM e WHERE a = 2",
        "INSERT INTO e VALUES (2, 3), (5, 1)",
    ):
        warehouse.sql(change)
        warehouse.refresh()
        wanted = closure({(row.a, row.b) for row in warehouse.table("e").collect()})
        for name, (_, paths) in RECURSIVE.items():
            assert bag(warehouse.table(name)) == dict.fromkeys(wanted[paths], 1), (name, change)


def test_recursion_that_neither_spark_nor_we_can_take_is_refused_with_the_reason(
    warehouse: vk.Warehouse,
) -> None:
    warehouse.sql("CREATE TABLE e (a INT, b INT)")
    text = "WITH RECURSIVE p(a) AS (SELECT a FROM e UNION SELECT max(a) FROM p) SELECT a FROM p"
    with pytest.raises(vk.ViewkeeperError, match="negated or aggregated"):
        warehouse.create_view("v", text)
    assert [status.name for status in warehouse.status()] == ["e"]


LITERALS = [
    r"s RLIKE r'\d'",
    r"regexp_replace(s, r'\d+', 'N')",
    r"regexp_replace(s, '\\d+', 'N')",
    r"concat(s, 'a\\b', 'it\'s', 'tab\tend', '\u0041\101', '%\_')",
    r"""concat(s, "dq\"x" 'adjacent' "strings")""",
    r"s LIKE 'b\\\\d'",
    r"R'\s' 'x'",
    "concat(s, 'ünïcödé 😀')",
    "DATE '2020-01-01' + INTERVAL '1' MONTH",
    "TIMESTAMP '2020-01-01 00:00:00.123456+02:00'",
    "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    "INTERVAL '1 02:03:04' DAY TO SECOND",
    "X'1F0a'",
    "k * 1e3 + 1L + 1.5BD + 1S + 1Y",
    "k * 1D",
    "k * 1F",
    "k * 1.50",
    "log10(k)",
    "to_char(k, '9')",
    "space(k)",
    "unix_date(DATE '2020-01-01')",
    "exists(array(1, 2), x -> x > k)",
    "to_timestamp('2020-01-01')",
    "from_utc_timestamp(TIMESTAMP '2020-01-01 00:00:00', 'Asia/Seoul')",
]


def test_literals_and_calls_mean_in_a_plan_what_they_mean_in_the_text(warehouse: vk.Warehouse) -> None:
    beside = Beside(warehouse, "CREATE TABLE t (k INT, s STRING)")
    values = ", ".join(f"{text} AS v{number}" for number, text in enumerate(LITERALS))
    beside.define({"literals": f"SELECT k, {values} FROM t"}, policy="strict")
    report = beside.after(r"INSERT INTO t VALUES (1, 'a1'), (2, r'b\d'), (3, 'it\'s'), (4, 'x\ny' 'z')")
    assert [entry.strategy for entry in report] == ["counting"]
    beside.after(r"DELETE FROM t WHERE s = r'b\d'", "UPDATE t SET s = to_char(k, '99') WHERE k = 3")
