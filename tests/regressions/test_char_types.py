"""CHAR(n) and VARCHAR(n): tables hold, refuse and compare values as Spark's own tables do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException

import viewkeeper as vk
from tests.regressions.beside_spark import Beside, bag
from viewkeeper.errors import WrongType

pytestmark = pytest.mark.usefixtures("maintained")

COLUMNS = "k INT, c CHAR(4), v VARCHAR(3), n STRUCT<a: CHAR(3), b: ARRAY<VARCHAR(2)>>, m MAP<CHAR(2), INT>"
NESTED = "named_struct('a', 'q', 'b', array('r ', NULL)), map('k', 1)"
ROWS = [
    f"(1, 'ab', 'x', {NESTED})",
    "(2, 'abcd    ', 'xyz     ', NULL, NULL)",
    "(3, '', '', NULL, NULL)",
    "(4, NULL, NULL, NULL, NULL)",
    "(5, 'äöüß', ' a ', named_struct('a', NULL, 'b', NULL), NULL)",
    "(6, 'a ', 'a    ', NULL, map())",
]
TOO_LONG = {
    "(9, 'abcde', 'x', NULL, NULL)": ("c", 5, 4),
    "(9, 'a   b', 'x', NULL, NULL)": ("c", 5, 4),
    "(9, 'ab', 'xyzw', NULL, NULL)": ("v", 4, 3),
    "(9, 'ab', 'x', named_struct('a', 'abcd', 'b', NULL), NULL)": ("n", 4, 3),
    "(9, 'ab', 'x', NULL, map('abc', 1))": ("m", 3, 2),
}


@pytest.fixture
def plain(warehouse: vk.Warehouse) -> Iterator[str]:
    """A table of Spark itself."""
    warehouse.spark.sql(f"CREATE TABLE char_beside ({COLUMNS}) USING parquet")
    yield "char_beside"
    warehouse.spark.sql("DROP TABLE char_beside")


@pytest.fixture
def table(warehouse: vk.Warehouse, plain: str) -> vk.Warehouse:
    warehouse.sql(f"CREATE TABLE t ({COLUMNS})")
    for rows in (ROWS[:3], ROWS[3:]):
        warehouse.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        warehouse.spark.sql(f"INSERT INTO {plain} VALUES {', '.join(rows)}")
    return warehouse


CONDITIONS = [
    "c = 'ab'",
    "'ab      ' = c",
    "c IN ('ab', 'x', NULL)",
    "c <=> 'a'",
    "c <> 'ab'",
    "c < 'abcde'",
    "c >= 'ab'",
    "c BETWEEN 'a' AND 'ab'",
    "c = v",
    "v = 'xyz'",
    "c = concat('a', 'b')",
    "c LIKE 'ab'",
    "trim(c) = 'ab'",
    "CASE c WHEN 'ab' THEN true ELSE k = 3 END",
    "decode(c, 'ab', true, false)",
    "nullif(c, 'ab') IS NULL",
    "'ab' IN (SELECT c FROM {t})",
    "EXISTS (SELECT 1 FROM {t} o WHERE o.c = t.c AND o.c = 'ab')",
]


def test_values_are_held_and_compared_as_by_spark(table: vk.Warehouse, plain: str) -> None:
    spark = table.spark
    assert bag(table.table("t")) == bag(spark.table(plain))
    assert table.table("t").schema == spark.table(plain).schema
    for condition in CONDITIONS:
        text = f"SELECT k, c, length(c) AS n FROM {{t}} AS t WHERE {condition}"
        shown, wanted = table.sql(text.format(t="t")), spark.sql(text.format(t=plain))
        assert bag(shown) == bag(wanted), condition


@pytest.mark.parametrize("row", TOO_LONG)
def test_what_is_too_long_is_refused(table: vk.Warehouse, plain: str, row: str) -> None:
    version, (column, length, limit) = table.version, TOO_LONG[row]
    with pytest.raises(PySparkException, match="EXCEED_LIMIT_LENGTH"):
        table.spark.sql(f"INSERT INTO {plain} VALUES {row}")
    for statement in (
        f"INSERT INTO t VALUES (7, 'a', 'b', NULL, NULL), {row}",
        f"MERGE INTO t USING (VALUES {row}) AS s(k, c, v, n, m) ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
    ):
        told = rf"(?s)column {column} of t\..*{length} characters.*takes {limit}\."
        with pytest.raises(WrongType, match=told) as e:
            table.sql(statement)
        assert (e.value.code, e.value.table, e.value.columns) == ("EXCEED_LIMIT_LENGTH", "t", (column,))
    assert table.version == version, "nothing was applied"


def _insert_list(wh: vk.Warehouse, row: tuple[Any, ...]) -> None:
    with wh.transaction() as transaction:
        transaction.insert("s", [row])


def _insert_dicts(wh: vk.Warehouse, row: tuple[Any, ...]) -> None:
    with wh.transaction() as transaction:
        transaction.insert("s", [dict(zip("kcv", row, strict=True))])


def _insert_frame(wh: vk.Warehouse, row: tuple[Any, ...]) -> None:
    with wh.transaction() as transaction:
        transaction.insert("s", wh.spark.createDataFrame([row], "k INT, c STRING, v STRING"))


def _update(wh: vk.Warehouse, row: tuple[Any, ...]) -> None:
    with wh.transaction() as transaction:
        transaction.insert("s", [(row[0], "", "")])
        transaction.update("s", [row])


def _update_by_sql(wh: vk.Warehouse, row: tuple[Any, ...]) -> None:
    wh.sql(f"UPDATE s SET k = {row[0]}, c = '{row[1]}', v = '{row[2]}' WHERE k = 0")


@pytest.mark.parametrize("door", [_insert_list, _insert_dicts, _insert_frame, _update, _update_by_sql])
def test_by_every_door(
    warehouse: vk.Warehouse, door: Callable[[vk.Warehouse, tuple[Any, ...]], None]
) -> None:
    warehouse.sql("CREATE TABLE s (k INT PRIMARY KEY, c CHAR(4), v VARCHAR(3))")
    warehouse.sql("INSERT INTO s VALUES (0, 'zero', 'z')")
    version = warehouse.version
    with pytest.raises(WrongType, match=r"(?s)column c of s\..*5 characters.*takes 4"):
        door(warehouse, (1, "abcde", "x"))
    with pytest.raises(WrongType, match=r"(?s)column v of s\..*4 characters.*takes 3"):
        door(warehouse, (1, "ab", "x yz"))
    assert warehouse.version == version
    door(warehouse, (1, "ab", "xy      "))
    assert (1, "ab  ", "xy ") in [tuple(row) for row in warehouse.table("s").collect()]
    with warehouse.transaction() as transaction:
        transaction.delete("s", [(1, "ab", "xy ")])
    assert 1 not in [row.k for row in warehouse.table("s").collect()], "rows are found by padded values"


def test_tables_made_from_rows(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE s (k CHAR(3) PRIMARY KEY, v VARCHAR(2))")
    warehouse.sql("INSERT INTO s VALUES ('a', 'b')")
    warehouse.sql("CREATE TABLE copy AS SELECT k, v FROM s")
    with pytest.raises(WrongType, match="too long for the column k of copy"):
        warehouse.sql("INSERT INTO copy VALUES ('abcd', 'b')")
    with pytest.raises(vk.ViewkeeperError, match="would occur twice"):
        warehouse.sql("INSERT INTO s VALUES ('a  ', 'c')")
    again = vk.open(warehouse.path, spark=warehouse.spark)
    assert again.sql("SELECT v FROM copy WHERE k = 'a'").collect()[0].v == "b"
    with pytest.raises(vk.ViewkeeperError, match="has no length"):
        warehouse.sql("CREATE TABLE u (c CHAR)")


VIEWS = {
    "chosen": "SELECT k, c FROM t WHERE c = 'ab'",
    "longer": "SELECT k, c FROM t WHERE c < 'abcde'",
    "listed": "SELECT k FROM t WHERE c IN ('ab', 'b') OR v = 'x'",
    "summed": "SELECT c, SUM(k) AS s, COUNT_IF(c = 'ab') AS n FROM t GROUP BY c",
    "above": "SELECT d, n FROM (SELECT c AS d, COUNT(*) AS n FROM t GROUP BY c) WHERE d = 'ab'",
    "united": "SELECT k FROM (SELECT k, c FROM t UNION ALL SELECT 9, 'ab') WHERE c = 'ab'",
    "joined": "SELECT a.k, b.k AS o FROM t a JOIN t b ON a.c = b.c WHERE a.k < b.k",
    "cased": "SELECT k, CASE c WHEN 'ab' THEN 'x' ELSE c END AS x FROM t",
    "shown": "SELECT k, c, v FROM t",
    "over": "SELECT k FROM shown WHERE c = 'ab'",
}
AS_TEXT = {
    "apart": "SELECT t.k FROM t JOIN d ON t.c = d.c",
    "sought": "SELECT k FROM t WHERE 'ab' IN (SELECT c FROM d)",
    "made": "SELECT k FROM t WHERE c = concat('a', 'b')",
}


def test_views_compare_as_their_texts(warehouse: vk.Warehouse) -> None:
    beside = Beside(
        warehouse,
        "CREATE TABLE t (k INT, c CHAR(4), v VARCHAR(3))",
        "CREATE TABLE d (c CHAR(6))",
        "INSERT INTO t VALUES (1, 'ab', 'x'), (2, 'abcd', 'y'), (3, NULL, 'x'), (4, 'b', NULL)",
        "INSERT INTO d VALUES ('ab')",
    )
    beside.define({**VIEWS, **AS_TEXT})
    report = beside.after(
        "INSERT INTO t VALUES (5, 'ab', 'z'), (6, 'b ', 'x')", "DELETE FROM t WHERE c = 'ab' AND k = 1"
    )
    recomputed = {one.view for one in report if one.strategy == "recompute"}
    assert recomputed == set(AS_TEXT), "only what Spark alone knows is run as text"
    assert warehouse.verify("over", deep=True)
    beside.after("UPDATE t SET c = 'ab' WHERE c = 'b'", "INSERT INTO d VALUES ('b')")
    assert all(warehouse.verify(name) for name in (*VIEWS, *AS_TEXT))


REACHED = """WITH RECURSIVE r(x, y{n}) AS (
  SELECT a, b{one} FROM e WHERE a = 'a' UNION {all}
  SELECT r.x, e.b{more} FROM r JOIN e ON r.y = e.a WHERE r.y <> 'c' AND r.x IN ('a', 'b'){bound}
) SELECT x, y FROM r WHERE y <> 'd'"""


def test_recursions_compare_what_they_have_derived(warehouse: vk.Warehouse) -> None:
    """Columns of a recursion are CHAR(n) where those that it starts from are, as Spark has it."""
    walks = REACHED.format(n=", n", one=", 1", all="ALL", more=", n + 1", bound=" AND n < 6")
    beside = Beside(
        warehouse,
        "CREATE TABLE e (a CHAR(3), b CHAR(3))",
        "INSERT INTO e VALUES ('a', 'b'), ('b', 'c'), ('c', 'x'), ('b', 'd'), ('d', 'y')",
    )
    beside.define({"walks": walks})
    warehouse.create_view("paths", REACHED.format(n="", one="", all="", more="", bound=""))
    for change in ("INSERT INTO e VALUES ('b', 'a'), ('d', 'z')", "DELETE FROM e WHERE b = 'y'"):
        beside.after(change)
        assert {*bag(warehouse.table("paths"))} == {*bag(warehouse.table("walks"))} > {("a  ", "b  ")}
        assert all(warehouse.verify(name) for name in ("paths", "walks"))
