"""What a user writes is what Spark reads: names, literals, IN as a value, recursion by UNION, USING, maps."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside, bag

pytestmark = pytest.mark.usefixtures("maintained")

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
            "summed": f"SELECT k, SUM(CASE WHEN {IN_VALUES[0]} THEN 1 ELSE 0 END) AS n FROM t GROUP BY k",
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
    "mutual": (
        f"WITH RECURSIVE even AS ({EVEN}), odd AS (SELECT * FROM e UNION {ODD}) SELECT a, b FROM even",
        "even",
    ),
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
    "concat(s, 'ünïcödé 😀')",
    "DATE '2020-01-01' + INTERVAL '1' MONTH",
    "TIMESTAMP '2020-01-01 00:00:00.123456+02:00'",
    "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    "TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '1 02:03:04' DAY TO SECOND",
    "X'1F0a'",
    "'it''s'",
    "'a' 'b' \"c\"",
    '"a""b"',
    "\"a''b\"",
    "''''",
    r"'a\\''b\%'",
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
    rows = r"(1, 'a1'), (2, r'b\d'), (3, 'it\'s'), (4, 'x\ny' 'z'), (5, 'it''s')"
    report = beside.after(f"INSERT INTO t VALUES {rows}")
    assert [entry.strategy for entry in report] == ["counting"]
    beside.after(r"DELETE FROM t WHERE s = r'b\d'", "UPDATE t SET s = to_char(k, '99') WHERE k = 3")
    beside.after("UPDATE t SET s = 'who''s' WHERE s = 'it''s'", "DELETE FROM t WHERE s IN ('x''y', 'a1')")
    source = "(SELECT 4 AS n, 'it''s' AS w) AS u"
    beside.after(f"MERGE INTO t USING {source} ON t.k = u.n WHEN MATCHED THEN UPDATE SET s = u.w")
    assert {row.k: row.s for row in warehouse.table("t").collect()} == {3: " 3", 4: "it's", 5: "who's"}


SIDES = ("", "LEFT", "RIGHT", "FULL")
USING = [
    "SELECT c.*, amt FROM c {} JOIN o USING (ID)",
    "SELECT o.*, n FROM c {} JOIN o USING (id)",
    "SELECT * FROM c {} JOIN o USING (id)",
    "SELECT c.id AS ci, o.id AS oi, id, n, amt FROM c {} JOIN o USING (id)",
]
USED_AGAIN = {
    "three": "SELECT c.*, o.amt, d.w FROM c FULL JOIN o USING (id) LEFT JOIN d USING (id)",
    "other_keys": "SELECT c.*, d.w FROM c RIGHT JOIN o USING (id) JOIN d USING (n)",
    "natural": "SELECT o.*, c.n FROM c NATURAL JOIN o",
    "semi": "SELECT * FROM o LEFT SEMI JOIN c USING (id)",
    "anti": "SELECT o.* FROM o LEFT ANTI JOIN c USING (id)",
}


def test_stars_beside_using_show_the_columns_that_spark_shows(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE c (n STRING, id INT)",
        "CREATE TABLE o (oid INT, id INT, amt INT)",
        "CREATE TABLE d (w INT, id INT, n STRING)",
        "INSERT INTO c VALUES ('a', 1), ('b', 2), ('z', NULL)",
        "INSERT INTO o VALUES (10, 1, 5), (11, 3, 6), (12, NULL, 7)",
        "INSERT INTO d VALUES (1, 3, 'a'), (2, 2, 'b')",
    )
    texts = [text.format(side) for text in USING for side in SIDES]
    beside.define({f"using{number}": text for number, text in enumerate(texts)}, policy="full")
    beside.define(USED_AGAIN)
    beside.after("DELETE FROM c WHERE id = 1", "UPDATE o SET id = 2 WHERE oid = 11")


ODD_COLUMNS = (
    "`a b` INT, `x.y` INT, `c``d` INT, `größe` INT, `avg(x)` INT, `SELECT` INT, `__count` INT, `_qaq` INT"
)
ODD_VIEWS = {
    "all of it": "SELECT * FROM `my ta.ble`",
    "sales": "SELECT `a b`, MIN(`x.y`) AS `min of x.y`, avg(`größe`), count(*), `avg(x)`"
    " FROM `my ta.ble` GROUP BY `a b`, `avg(x)`",
    "__v": "SELECT `a b` + 1, -`x.y`, `__count`, 'text' FROM `my ta.ble` AS `__outer`"
    " WHERE EXISTS (SELECT 1 FROM sales__groups WHERE k = `__outer`.`a b`)",
    "v.4": "SELECT `_qaq`, SUM(`__count`) AS `__rows`, MIN(`__count`) AS `__count` FROM `my ta.ble`"
    " GROUP BY `_qaq`",
    "sales__groups__delta": "SELECT k, MIN(x) AS m FROM sales__groups GROUP BY k",
    "分組": "SELECT `c``d`, COUNT(DISTINCT `SELECT`) FROM `my ta.ble` GROUP BY 1",
}


def test_names_are_as_spark_lets_them_be(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse, f"CREATE TABLE `my ta.ble` ({ODD_COLUMNS})", "CREATE TABLE sales__groups (k INT, x INT)"
    )
    beside.define(ODD_VIEWS)
    warehouse.create_view("above", "SELECT `avg(größe)`, `min of x.y` FROM `SALES` WHERE `count(1)` > 0")
    with warehouse.transaction() as t:
        t.insert("MY ta.ble", [{"A B": 1, "x.y": 0, "__count": 5}, {"A B": 9, "x.y": 0, "__count": 5}])
        t.insert("sales__groups", [(1, 2), (1, 3), (2, 4)])
    beside.after("INSERT INTO `my ta.ble` VALUES (1, 2, 3, 4, 5, 6, 7, 8), (1, 3, 4, 5, 6, 7, 8, 9)")
    report = beside.after(
        "DELETE FROM `my ta.ble` WHERE `x.y` = 0",
        "UPDATE `my ta.ble` SET `avg(x)` = 9, `c``d` = `__count` WHERE `__count` = 8",
        "DELETE FROM sales__groups WHERE x = 2",
    )
    assert {entry.view for entry in report} == {*ODD_VIEWS, "above"}
    warehouse.compact()
    beside.check()
    assert bag(warehouse.table("above")) == bag(warehouse.sql("SELECT `avg(größe)`, `min of x.y` FROM sales"))
    assert warehouse.changes("v.4", since=warehouse.version - 1).columns[:3] == [
        "change",
        "old__qaq",
        "new__qaq",
    ]
    with pytest.raises(vk.ViewkeeperError, match=r"my ta\.ble cannot be dropped"):
        warehouse.sql("DROP TABLE `my ta.ble`")


def test_a_key_may_have_any_name(warehouse: vk.Warehouse) -> None:
    warehouse.create_table("`t`", [{"the id": 1, "v.w": 2}, {"the id": 2, "v.w": 3}], key=["the id"])
    beside = Beside(
        warehouse, "CREATE TABLE `s/t` (`fk id` INT, FOREIGN KEY (`fk id`) REFERENCES ```t``` (`the id`))"
    )
    beside.define({"joined": "SELECT * FROM ```t``` JOIN `s/t` ON `the id` = `fk id`"})
    with warehouse.transaction() as t:
        t.update("`t`", [{"the id": 1, "v.w": 7}])
        t.insert("s/t", [(1,), (2,)])
    beside.after()
    with pytest.raises(vk.ViewkeeperError, match="'the id': 2"):
        warehouse.sql("INSERT INTO ```t``` VALUES (2, 2)")
    with pytest.raises(vk.ViewkeeperError, match="fk id"):
        warehouse.sql("INSERT INTO `s/t` VALUES (5)")
    with warehouse.transaction() as t:
        t.delete("s/t", [(2,)])
        t.delete("`t`", [{"the id": 2}])
    beside.after()


MAPPED = {
    "rows": "SELECT k, m FROM t",
    "looked_up": "SELECT k, m['c'] AS c, size(m) AS n FROM t",
    "counted": "SELECT k, COUNT(*) AS n, COUNT(m) AS maps FROM t GROUP BY k",
    "grouped": "SELECT m, COUNT(*) AS n, SUM(k) AS total FROM t GROUP BY m",
    "joined": "SELECT t.k, t.m, u.m AS other FROM t LEFT JOIN u ON t.k = u.k",
    "keyed": "SELECT k, m FROM u",
    "tested": "SELECT k, m FROM t WHERE k IN (SELECT k FROM u)",
}


def test_maps_are_values_of_tables_and_views(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE t (k INT, m MAP<STRING, INT>)",
        "CREATE TABLE u (k INT PRIMARY KEY, m MAP<INT, STRUCT<a: DECIMAL(10, 2)>>)",
    )
    beside.define(MAPPED)
    beside.after(
        "INSERT INTO t VALUES (1, map('a', 1, 'b', 2)), (2, map('c', 3)), (3, NULL), (2, map('c', 3)),"
        " (1, map('b', 2, 'a', 1))",
        "INSERT INTO u VALUES (1, map(1, named_struct('a', 1.5))), (2, NULL), (3, NULL)",
    )
    beside.after("DELETE FROM t WHERE k = 1", "DELETE FROM u WHERE k = 1")
    beside.after(
        "UPDATE t SET m = map('z', 1) WHERE k = 2",
        "UPDATE u SET m = map(2, named_struct('a', 2)) WHERE k = 2",
    )


@pytest.mark.parametrize(
    "column", ["m ARRAY<MAP<STRING, INT>>", "m MAP<STRING, MAP<STRING, INT>>", "m MAP<INT, INT> PRIMARY KEY"]
)
def test_maps_that_cannot_be_compared_are_refused(warehouse: vk.Warehouse, column: str) -> None:
    with pytest.raises(vk.ViewkeeperError, match="map_entries"):
        warehouse.sql(f"CREATE TABLE t ({column})")
    assert warehouse.status() == []
