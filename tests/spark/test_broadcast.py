"""A change that has met one table is broadcast to the next, whatever Spark thinks of its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import viewkeeper as vk
from viewkeeper.algebra.relations import Relation
from viewkeeper.spark.execute import Execution
from viewkeeper.spark.frames import Answer

pytestmark = pytest.mark.usefixtures("maintained")

NEVER = "spark.sql.autoBroadcastJoinThreshold"
VIEW = "SELECT c.name, o.okey, l.qty FROM c JOIN o ON o.ckey = c.ckey JOIN l ON l.okey = o.okey"


@pytest.fixture
def shop(warehouse: vk.Warehouse) -> Iterator[vk.Warehouse]:
    """Spark broadcasts nothing of its own accord here."""
    tables = (
        "c (ckey INT NOT NULL PRIMARY KEY, name STRING)",
        "o (okey INT, ckey INT)",
        "l (okey INT, qty INT)",
    )
    for table in tables:
        warehouse.sql(f"CREATE TABLE {table}")
    with warehouse.transaction() as t:
        t.insert("c", [(n, f"name {n}") for n in range(10)])
        t.insert("o", [(n, n % 10) for n in range(100)])
        t.insert("l", [(n % 100, n) for n in range(400)])
    warehouse.create_view("v", VIEW)
    before = warehouse.spark.conf.get(NEVER)
    warehouse.spark.conf.set(NEVER, "-1")
    yield warehouse
    warehouse.spark.conf.set(NEVER, before)


def broadcasts(shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> int:
    """Renames one customer; how many joins of the refresh broadcast a side."""
    plans: list[str] = []
    answer = Execution.answer

    def noted(self: Execution, plan: Relation, is_part: bool = False) -> Answer:
        made = answer(self, plan, is_part)
        plans.append(self.engine.frame(made)._jdf.queryExecution().executedPlan().toString())
        return made

    monkeypatch.setattr(Execution, "answer", noted)
    with shop.transaction() as t:
        t.delete("c", [(3, "name 3")])
        t.insert("c", [(3, "another")])
    report = shop.refresh(policy="incremental")
    assert report[0].strategy == "counting"
    assert shop.verify("v")
    assert shop.table("v").where("name = 'another'").count() == 40
    return sum(text.count("BroadcastHashJoin") for text in plans)


def test_many_rows_stay_where_they_are(
    shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    limit(broadcast_to=200)
    assert broadcasts(shop, monkeypatch) > 0


def test_few_rows_are_left_to_spark(shop: vk.Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    assert broadcasts(shop, monkeypatch) == 0
