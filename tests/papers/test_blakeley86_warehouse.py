"""blakeley86 through the public surface: counters, differential joins, and changes that cannot matter."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")


def stored(wh: vk.Warehouse, view: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in wh.table(view).collect())


def test_example_4_1_a_tuple_that_cannot_matter(warehouse: vk.Warehouse) -> None:
    """Inserting (9, 10) into r matters, (11, 10) does not: then no row is read, and nothing is written."""
    wh = warehouse
    wh.sql("CREATE TABLE r (A INT, B INT)")
    wh.sql("CREATE TABLE s (C INT, D INT)")
    wh.sql("INSERT INTO r VALUES (1, 2), (5, 10), (12, 15)")
    wh.sql("INSERT INTO s VALUES (2, 10), (10, 20)")
    wh.create_view("u", "SELECT A, D FROM r, s WHERE A < 10 AND C > 5 AND B = C")
    assert stored(wh, "u") == Counter([(5, 20)])
    wh.sql("INSERT INTO r VALUES (11, 10)")
    [entry] = wh.refresh()
    assert (entry.strategy, entry.reason.code) == ("none", "irrelevant")
    assert (entry.rows_read, entry.rows_written, entry.details["rows_dropped"]) == (0, 0, 1)
    wh.sql("INSERT INTO r VALUES (9, 10), (12, 10)")
    [entry] = wh.refresh()
    assert entry.details["rows_dropped"] == 1
    assert stored(wh, "u") == Counter([(5, 20), (9, 20)])


def test_theorem_4_2_on_a_batch_that_the_driver_does_not_hold(warehouse: vk.Warehouse) -> None:
    """Algorithm 4.1 asks of 5,000 rows what it asks of one: each is tested, on Spark."""
    wh = warehouse
    wh.sql("CREATE TABLE r (A INT, B INT)")
    wh.sql("CREATE TABLE s (C INT, D INT)")
    wh.sql("INSERT INTO s VALUES (10, 20)")
    wh.create_view("u", "SELECT A, D FROM r, s WHERE A < 10 AND C > 5 AND B = C")
    wh.sql("INSERT INTO r SELECT CAST(11 + id AS INT), 10 FROM range(5000)")
    [entry] = wh.refresh()
    assert (entry.strategy, entry.details["rows_dropped"], entry.rows_read) == ("none", 5000, 0)
    wh.sql("INSERT INTO r SELECT CAST(id AS INT), 10 FROM range(5000)")
    [entry] = wh.refresh()
    assert entry.rows_written == 10
    assert stored(wh, "u") == Counter((number, 20) for number in range(10))


def test_examples_5_1_to_5_5_counters_and_differential_joins(warehouse: vk.Warehouse) -> None:
    wh = warehouse
    wh.sql("CREATE TABLE r (A INT, B INT)")
    wh.sql("CREATE TABLE s (B INT, C INT)")
    wh.sql("INSERT INTO r VALUES (1, 10), (2, 10), (3, 20)")
    wh.sql("INSERT INTO s VALUES (10, 5), (20, 12)")
    wh.create_view("selected", "SELECT * FROM r WHERE B = 10")
    wh.create_view("projected", "SELECT B FROM r")
    wh.create_view("joined", "SELECT A, C FROM r JOIN s ON r.B = s.B AND C > 4")
    assert stored(wh, "projected") == Counter({(10,): 2, (20,): 1})

    # Example 5.1: one of two derivations of 10 goes, and the only one of 20.
    wh.sql("DELETE FROM r WHERE A IN (1, 3)")
    report = wh.refresh()
    assert stored(wh, "projected") == Counter({(10,): 1})
    assert stored(wh, "selected") == Counter([(2, 10)])
    assert report.of("selected").rows_written == 1, "(3, 20) does not satisfy the condition"
    assert "r" not in report.of("projected").details["reads"]

    # Examples 5.2 to 5.4: insertions and deletions of both relations in one transaction.
    with wh.transaction() as t:
        t.insert("r", [(4, 10), (5, 30)])
        t.delete("r", [(2, 10)])
        t.insert("s", [(30, 9), (10, 2)])
        t.delete("s", [(20, 12)])
    wh.refresh()
    assert stored(wh, "joined") == Counter([(4, 5), (5, 9)])
    assert all(wh.verify(view) for view in ("selected", "projected", "joined"))
