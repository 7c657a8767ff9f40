"""A −0.0 that just passes keeps its sign, whatever becomes of the rows around it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

import viewkeeper as vk
from tests.regressions.beside_spark import Beside
from tests.regressions.beside_spark import bag as bag_of
from tests.regressions.mirrored import Mirrored, comparable
from tests.sizes import SIZES, in_batches
from viewkeeper.errors import DuplicateKey, MissingRows

pytestmark = pytest.mark.usefixtures("maintained")

NAN = math.nan
ROWS = [(1, 1, -0.0), (2, 1, 0.0), (3, 2, -0.0), (4, 2, NAN), (5, 3, None), (6, 3, 1.5)]
OTHERS = [(1, -0.0), (1, 0.0), (2, NAN), (2, -0.0), (2, -0.0), (3, None)]

VIEWS = {
    "kept": "SELECT g, x FROM b WHERE g < 3",
    "met": "SELECT a.k, a.x, b.x AS y FROM a LEFT JOIN b ON a.g = b.g AND a.x = b.x",
    "united": "SELECT g, x FROM a UNION ALL SELECT g, x FROM b",
    "beside": """SELECT k, x, COUNT(*) OVER (PARTITION BY x) AS n,
        LAG(x) OVER (PARTITION BY g ORDER BY k) AS l FROM a""",
    "made": "SELECT g, CAST(x * -1 AS FLOAT) AS m, (g - g) / -2 AS z FROM b",
    "grouped": "SELECT x, COUNT(*) AS n FROM b GROUP BY x",
    "found": """SELECT k, x FROM a WHERE EXISTS
        (SELECT 1 FROM b WHERE b.g = a.g AND CAST(b.x AS STRING) = '-0.0')""",
}

IDENTIFIED = {
    "chosen": "SELECT k, g, x FROM a WHERE g < 3",
    "joined": "SELECT a.k, a.x, c.i, c.y FROM a JOIN c ON a.g = c.i",
    "equal": "SELECT a.k, a.x, c.i, c.y FROM a JOIN c ON a.x = c.y",
}

STEPS: list[dict[str, tuple[list[Any], list[Any]]]] = [
    {"a": ([(7, 1, -0.0)], [(6, 3, 1.5)]), "b": ([(3, -0.0)], [(2, NAN)])},
    {"a": ([(1, 1, 0.0)], [(1, 1, -0.0)]), "b": ([(1, -0.0)], [(1, 0.0)])},
    {"a": ([(1, 1, -0.0)], [(1, 1, 0.0)]), "b": ([], [(1, -0.0), (2, -0.0)]), "c": ([(1, 0.0)], [(1, -0.0)])},
    {"a": ([(2, 2, -0.0)], [(2, 1, 0.0)]), "b": ([(2, NAN), (2, -0.0)], [(3, None)])},
]
"""Of each table, what comes and what goes."""


def shown(frame: Any) -> Counter[Any]:
    return Counter(comparable(tuple(row)) for row in frame.collect())


def bag(*rows: tuple[Any, ...]) -> Counter[Any]:
    return Counter(map(comparable, rows))


def mirrored(warehouse: vk.Warehouse) -> Mirrored:
    found = Mirrored(warehouse)
    found.table("a", "k INT, g INT, x DOUBLE", ROWS, key="k")
    found.table("b", "g INT, x DOUBLE", OTHERS)
    found.table("c", "i INT, y DOUBLE", [(1, -0.0), (2, 0.0), (3, NAN)], key="i")
    return found


def test_zeros_keep_their_signs(warehouse: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIEWKEEPER_CHECK", "0")
    both = mirrored(warehouse)
    for name, text in VIEWS.items():
        both.view(name, text)
    for name, text in IDENTIFIED.items():
        both.view(name, text, strategy="id-diffs")
        if name == "joined" or not SIZES.short:
            both.view(f"{name}_tuples", text, strategy="tuple-diffs")
    for number, steps in enumerate([*in_batches([STEPS[:1], STEPS[1:2]]), *([step] for step in STEPS[2:])]):
        for step in steps:
            for table, (came, went) in step.items():
                both.change(table, came, went)
        assert not both.refreshed()
        if number == 0:
            warehouse.compact()
    assert all(warehouse.verify(name) for name in VIEWS)


def test_given_rows_are_the_same_or_equal_ones(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (x DOUBLE, y FLOAT, s STRING)")
    with warehouse.transaction() as t:
        t.insert("t", [(-0.0, 0.0, "a"), (0.0, 0.0, "a"), (-0.0, -0.0, "b"), (-0.0, NAN, None)])
    with warehouse.transaction() as t:
        t.delete("t", [(0.0, 0.0, "a"), (0.0, 0.0, "b"), (0.0, NAN, None)])
    assert shown(warehouse.table("t")) == bag((-0.0, 0.0, "a"))
    with warehouse.transaction() as t:
        t.insert("t", [(-0.0, -0.0, "c"), (0.0, -0.0, "c"), (-0.0, -0.0, "d")])
        t.delete("t", [(0.0, 0.0, "c"), (0.0, -0.0, "c"), (0.0, 0.0, "d")])
        t.delete("t", warehouse.spark.sql("SELECT 0D AS x, -0F AS y, 'a' AS s"))
    assert shown(warehouse.table("t")) == bag()


def test_missing_rows_are_still_missing(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (x DOUBLE)")
    warehouse.sql("INSERT INTO t VALUES (-0D)")
    with pytest.raises(MissingRows), warehouse.transaction() as t:
        t.delete("t", [(0.0,), (-0.0,)])
    assert shown(warehouse.table("t")) == bag((-0.0,))


def test_keys_are_equal_whatever_their_signs(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (k DOUBLE, x DOUBLE, PRIMARY KEY (k))")
    warehouse.sql("INSERT INTO t VALUES (-0D, 1), (2, -0D)")
    with pytest.raises(DuplicateKey), warehouse.transaction() as t:
        t.insert("t", [(0.0, 2.0)])
    with warehouse.transaction() as t:
        t.update("t", [(0.0, -0.0), (2.0, 0.0)])
    assert shown(warehouse.table("t")) == bag((-0.0, -0.0), (2.0, 0.0))
    with warehouse.transaction() as t:
        t.delete("t", [(0.0,)])
    assert shown(warehouse.table("t")) == bag((2.0, 0.0))


def test_statements_change_the_rows_that_are_stored(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (k INT, x DOUBLE)")
    warehouse.create_view("v", "SELECT k, x FROM t", policy="incremental")
    warehouse.sql("INSERT INTO t VALUES (1, -0D), (1, 0D), (2, -0D), (3, -0D), (4, 0D)")
    steps = {
        "DELETE FROM t WHERE k = 1 AND CAST(x AS STRING) = '0.0'": [
            (1, -0.0),
            (2, -0.0),
            (3, -0.0),
            (4, 0.0),
        ],
        "DELETE FROM t WHERE k = 2 AND x = 0": [(1, -0.0), (3, -0.0), (4, 0.0)],
        "UPDATE t SET x = -x WHERE k > 1": [(1, -0.0), (3, 0.0), (4, -0.0)],
        "UPDATE t SET k = k + 1": [(2, -0.0), (4, 0.0), (5, -0.0)],
        """MERGE INTO t USING (SELECT 2 AS k, 0D AS x) s ON t.k = s.k
            WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED BY SOURCE AND t.k = 4 THEN DELETE""": [
            (2, 0.0),
            (5, -0.0),
        ],
    }
    for statement, rows in steps.items():
        warehouse.sql(statement)
        warehouse.refresh()
        assert shown(warehouse.table("t")) == shown(warehouse.table("v")) == bag(*rows), statement
        assert warehouse.verify("v")


def test_zeros_inside_of_values_keep_their_signs(warehouse: vk.Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE t (k INT, a ARRAY<DOUBLE>, s STRUCT<x: FLOAT, n: INT>, m MAP<STRING, DOUBLE>)"
    )
    warehouse.create_view("v", "SELECT k, a, s FROM t", policy="incremental")
    for number, zeros in enumerate(("0D, -0D", "-0D, 0D", "-0D, -0D")):
        first = zeros.split(",")[0]
        values = f"array({zeros}), named_struct('x', CAST({first} AS FLOAT), 'n', 1), map('a', {first})"
        warehouse.sql(f"INSERT INTO t VALUES ({number}, {values}), (9, {values})")
    wanted = shown(warehouse.sql("SELECT k, a, s, m['a'] FROM t WHERE k <> 1"))
    warehouse.refresh()
    warehouse.sql("DELETE FROM t WHERE k = 1")
    warehouse.refresh()
    assert shown(warehouse.sql("SELECT k, a, s, m['a'] FROM t")) == wanted
    assert len(shown(warehouse.sql("SELECT k, a FROM t WHERE k = 9"))) == 3
    assert warehouse.verify("v")


def test_changes_of_a_sign_are_told(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (k INT, x DOUBLE, PRIMARY KEY (k))")
    warehouse.sql("INSERT INTO t VALUES (1, -0D), (2, -0D)")
    before = warehouse.version
    with warehouse.transaction() as t:
        t.update("t", [(1, 0.0), (2, -0.0)])
    assert shown(warehouse.changes("t", before)) == bag(("update", 1, 1, -0.0, 0.0))


def test_signs_are_told_by_rows_and_not_by_groups(warehouse: vk.Warehouse, every_edge: None) -> None:
    """A group by a float shows all its zeros as 0.0: another view, or a query, may not take signs from it."""
    beside = Beside(
        warehouse,
        "CREATE TABLE d (k DOUBLE, c STRING, PRIMARY KEY (k))",
        "CREATE TABLE t (x DOUBLE, n INT)",
        "INSERT INTO d VALUES (0D, 'a'), (1D, 'b')",
        "INSERT INTO t VALUES (-0D, 1), (0D, 2), (-0D, 3), (1D, 4)",
    )
    by_text = "SELECT CAST(x AS STRING) AS s, COUNT(*) AS c FROM t GROUP BY CAST(x AS STRING)"
    by_key = """SELECT CAST(d.k AS STRING) AS s, SUM(n) AS c FROM t JOIN d ON t.x = d.k
        GROUP BY CAST(d.k AS STRING)"""
    beside.define(
        {
            "by_x": "SELECT x, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY x",
            "by_text": by_text,
            "by_test": "SELECT x > 0 AS p, COUNT(*) AS c FROM t GROUP BY x > 0",
            "by_key": by_key,
        }
    )
    report = beside.after("INSERT INTO t VALUES (-0D, 5), (0D, 6)", "DELETE FROM t WHERE n = 1")
    assert {entry.view for entry in report if entry.strategy != "recompute"} == set(beside.views)
    warehouse.drop("by_text")
    assert warehouse.explain_query(by_text).view is None
    assert bag_of(warehouse.sql(by_text)) == bag_of(warehouse.sql(by_text, use_views=False))
