"""Large relations are asked for keys that the driver knows; views stay equal to their queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import viewkeeper as vk
from viewkeeper.spark.engine import SparkEngine

pytestmark = pytest.mark.usefixtures("maintained")

ODD = [
    "it's",
    'say "hi"',
    "back\\slash",
    "{brace}",
    "%like_",
    "žluť",
    "new\nline",
    "",
    "vkslot_a_",
    "--",
    None,
]
"""Texts that are easily written down wrongly."""

DAYS = [date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(2026, 11, 17), None]
NUMBERS = [-(2**63), -1, 0, 2**63 - 1, None]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> list[str]:
    """Every relation is worth asking; the SQL that did so."""
    limit(worth_in_list=0)
    found: list[str] = []
    text = SparkEngine.text

    def noted(self: SparkEngine, sql: str, frames: Any) -> Any:
        found.extend([sql] if " IN (" in sql else [])
        return text(self, sql, frames)

    monkeypatch.setattr(SparkEngine, "text", noted)
    return found


VIEWS = {
    "joined": "SELECT f.k, f.n, d.v FROM facts f JOIN dims d ON f.k = d.k",
    "beside": "SELECT f.k, f.n, d.v FROM facts f LEFT JOIN dims d ON f.k = d.k",
    "there": "SELECT f.k, f.n FROM facts f WHERE EXISTS (SELECT 1 FROM dims d WHERE d.k = f.k AND d.v > 1)",
    "missing": "SELECT f.k, f.n FROM facts f WHERE NOT EXISTS (SELECT 1 FROM dims d WHERE d.k <=> f.k)",
}


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("STRING", ODD), ("DATE", DAYS), ("BIGINT", NUMBERS)],
    ids=["texts", "days", "numbers"],
)
def test_any_key_can_be_asked_for(
    warehouse: vk.Warehouse, asked: list[str], kind: str, keys: list[Any]
) -> None:
    warehouse.sql(f"CREATE TABLE facts (k {kind}, n INT)")
    warehouse.sql(f"CREATE TABLE dims (k {kind}, v INT)")
    with warehouse.transaction() as t:
        t.insert("facts", [(key, number) for number, key in enumerate(keys)])
        t.insert("dims", [(key, number) for number, key in enumerate(keys) if number % 2])
    for name, query in VIEWS.items():
        warehouse.create_view(name, query)
    with warehouse.transaction() as t:
        t.insert("facts", [(key, 100) for key in keys])
        t.delete("dims", [(keys[1], 1)])
        t.insert("dims", [(keys[0], 7), (keys[-1], 8), (keys[1], 9)])
    report = warehouse.refresh(policy="strict")
    assert {entry.strategy for entry in report} == {"counting"}
    assert asked
    for name in VIEWS:
        assert warehouse.verify(name), warehouse.verify(name)


CLOSURE = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- reach(X, Z), edge(Z, Y)."


def changed_in_steps(wh: vk.Warehouse, kind: str, nodes: list[Any]) -> list[int]:
    """A ring over all nodes, edges that go and come back while others go; the actions of each refresh."""
    wh.sql(f"CREATE TABLE edge (s {kind}, t {kind})")
    ring = [(nodes[i], nodes[(i + 1) % len(nodes)]) for i in range(len(nodes))]
    with wh.transaction() as t:
        t.insert("edge", [*ring, ring[0]])
    wh.datalog(CLOSURE)
    actions = []
    for gone, new in (
        ([ring[1]], []),
        ([ring[2], ring[0]], [ring[1]]),
        ([], [ring[2]]),
        ([ring[0]], [ring[0]]),
    ):
        with wh.transaction() as t:
            if gone:
                t.delete("edge", gone)
            if new:
                t.insert("edge", new)
        report = wh.refresh(policy="strict")
        actions.append(report.actions)
        assert wh.verify("reach"), wh.verify("reach")
    return actions


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [("STRING", ODD), ("DATE", DAYS), ("BIGINT", NUMBERS), ("DOUBLE", [0.0, -0.0, float("nan"), 1.5, None])],
    ids=["texts", "days", "numbers", "floating-point numbers"],
)
def test_closures_over_any_nodes(warehouse: vk.Warehouse, kind: str, nodes: list[Any]) -> None:
    changed_in_steps(warehouse, kind, nodes)


@pytest.mark.parametrize(
    "limits",
    [
        {"round_held": 2},
        {"in_list": 1},
        {"driver_join": 1},
    ],
    ids=["many rows near", "many keys", "many rows joined"],
)
def test_closures_with_more_than_few_rows(
    warehouse: vk.Warehouse, limit: Callable[..., None], limits: dict[str, int]
) -> None:
    limit(**limits)
    changed_in_steps(warehouse, "INT", list(range(6)))


def test_an_insertion_takes_two_looks_and_a_deletion_three(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE edge (s INT, t INT, PRIMARY KEY (s, t))")
    with warehouse.transaction() as t:
        t.insert("edge", [(n, n + 1) for n in range(20)])
    warehouse.datalog(CLOSURE)
    taken = []
    for change in ("DELETE FROM edge WHERE s = 7", "INSERT INTO edge VALUES (7, 8)"):
        warehouse.sql(change)
        taken.append(warehouse.refresh(policy="strict").actions)
        assert warehouse.verify("reach")
    assert taken == [3, 2]


BOUND = "SELECT src, dst FROM edges WHERE weight > -5"
BOUNDED = f"""
    WITH RECURSIVE reach AS (
      {BOUND} UNION SELECT r.src, e.dst FROM reach r JOIN edges e ON r.dst = e.src WHERE e.weight > -5
    ) SELECT * FROM reach"""


def test_numbers_below_zero_are_compared_as_such(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE edges (src INT, dst INT, weight INT, PRIMARY KEY (src, dst))")
    warehouse.sql("INSERT INTO edges VALUES (1, 2, 0), (2, 3, -9), (3, 4, 7)")
    ids = "TBLPROPERTIES ('viewkeeper.strategy' = 'id-diffs')"
    warehouse.sql(f"CREATE MATERIALIZED VIEW bounded AS {BOUNDED}")
    warehouse.sql(f"CREATE MATERIALIZED VIEW chosen {ids} AS {BOUND}")
    statements = (
        "INSERT INTO edges VALUES (4, 5, -4), (5, 6, -5), (5, 7, -6)",
        "UPDATE edges SET weight = -1 WHERE src = 2",
        "DELETE FROM edges WHERE weight = -4",
    )
    for sql in statements:
        warehouse.sql(sql)
        warehouse.refresh(policy="strict")
        assert warehouse.verify("bounded"), sql
        assert warehouse.verify("chosen"), sql


@pytest.mark.parametrize("strategy", ["tuple-diffs", "auto"])
def test_all_tables_of_a_join_are_asked(warehouse: vk.Warehouse, asked: list[str], strategy: str) -> None:
    """The second table is met by a column of the change and by one of the first table."""
    warehouse.sql("CREATE TABLE parts (pid INT, price INT, PRIMARY KEY (pid))")
    for name in ("pairs", "more"):
        warehouse.sql(f"CREATE TABLE {name} (did INT, pid INT, PRIMARY KEY (did, pid))")
    with warehouse.transaction() as t:
        t.insert("parts", [(pid, 10 * pid) for pid in range(4)])
        for name in ("pairs", "more"):
            t.insert(name, [(did, pid) for did in range(3) for pid in range(4) if (did + pid) % 4])
    joined = "parts JOIN pairs USING (pid) JOIN more USING (did, pid)"
    warehouse.create_view(
        "v", f"SELECT did, SUM(price) AS cost FROM {joined} GROUP BY did", strategy=strategy
    )
    with warehouse.transaction() as t:
        t.update("parts", [{"pid": 1, "price": 7}, {"pid": 2, "price": None}])
    asked.clear()
    warehouse.refresh(policy="strict")
    assert any(sql.count(".pid IN (") == 2 for sql in asked), asked
    assert warehouse.verify("v")
