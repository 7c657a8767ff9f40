"""Which parts of the scripts of several views are recognised as common, and what is written of them."""

from __future__ import annotations

import pytest

from viewkeeper.algebra.canonical import canonical
from viewkeeper.algebra.counts import weighted
from viewkeeper.algebra.relations import Relation, Scan, State
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.algebra.walk import scans
from viewkeeper.delta.rules import delta
from viewkeeper.maintenance.incremental import maintained
from viewkeeper.maintenance.program import program
from viewkeeper.maintenance.steps import Script
from viewkeeper.maintenance.strategy import Batch, Stored, View
from viewkeeper.maintenance.table_change import TableChange
from viewkeeper.planning.cost import saved_by_sharing, sizes_of
from viewkeeper.planning.shared_work import Saved, SharedWork, shared_work
from viewkeeper.sql.known_relations import StaticCatalog
from viewkeeper.sql.parse import parse_view
from viewkeeper.sql.show import show

TABLES = StaticCatalog(
    (
        TableSchema("orders", (Column("okey", "int"), Column("ckey", "int"), Column("day", "date"))),
        TableSchema("lines", (Column("okey", "int"), Column("part", "int"), Column("qty", "int"))),
        TableSchema("days", (Column("day", "date"), Column("month", "int"))),
    )
)
CHANGED = frozenset({"lines", "orders"})


def plan_of(sql: str) -> Relation:
    found = parse_view(sql, TABLES).relation
    assert found is not None
    return found


def script(name: str, sql: str, changed: frozenset[str] = CHANGED) -> Script:
    plan = plan_of(sql)
    view = View(name, sql, (), program(name, plan), query=plan)
    changes = {table: TableChange(10, only_inserts=True) for table in changed}
    return maintained(view, Batch(changes, Stored({"orders": 1000, "lines": 4000, "days": 100, name: 5})))


def always(plan: Relation, users: int) -> float:
    return float(users)


def work(saved: Saved = always, changed: frozenset[str] = CHANGED, **views: str) -> SharedWork:
    return shared_work({name: script(name, sql, changed) for name, sql in views.items()}, saved)


SAME = [
    (
        "SELECT day, qty FROM lines JOIN orders ON lines.okey = orders.okey",
        "SELECT o.day, l.qty FROM orders o, lines AS l WHERE o.okey = l.okey",
    ),
    (
        "SELECT a.qty FROM lines a JOIN lines b ON a.part = b.okey AND a.okey = b.part",
        "SELECT x.qty FROM lines x JOIN lines y ON x.okey = y.part AND y.okey = x.part",
    ),
    (
        "SELECT day, SUM(qty) AS q, COUNT(*) AS n FROM lines JOIN orders USING (okey) GROUP BY day",
        "SELECT COUNT(*) AS c, day AS d, SUM(qty) AS s FROM lines JOIN orders USING (okey) GROUP BY day",
    ),
    (
        "SELECT qty FROM lines WHERE part = 1 UNION ALL SELECT ckey FROM orders",
        "SELECT l.qty AS v FROM lines l WHERE 1 = l.part UNION ALL SELECT o.ckey FROM orders o",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_and_order_make_no_difference(one: str, other: str) -> None:
    first, second = (weighted(delta(plan_of(sql), CHANGED)) for sql in (one, other))
    assert first != second
    assert canonical(first).plan == canonical(second).plan


DIFFERENT = [
    ("SELECT qty FROM lines WHERE part = 1", "SELECT qty FROM lines WHERE part = 2"),
    ("SELECT okey FROM lines WHERE part < qty", "SELECT okey FROM lines WHERE qty < part"),
    (
        "SELECT day FROM lines JOIN orders ON lines.okey = orders.okey",
        "SELECT day FROM lines JOIN orders ON lines.part = orders.okey",
    ),
    (
        "SELECT day, SUM(qty) AS q FROM lines JOIN orders USING (okey) GROUP BY day",
        "SELECT day, SUM(part) AS q FROM lines JOIN orders USING (okey) GROUP BY day",
    ),
    (
        "SELECT qty FROM lines UNION ALL SELECT ckey FROM orders",
        "SELECT qty FROM lines UNION ALL SELECT okey FROM orders",
    ),
    (
        "SELECT okey, part FROM lines EXCEPT ALL SELECT okey, ckey FROM orders",
        "SELECT okey, part FROM lines EXCEPT SELECT okey, ckey FROM orders",
    ),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_meanings_do(one: str, other: str) -> None:
    first, second = (weighted(delta(plan_of(sql), CHANGED)) for sql in (one, other))
    assert canonical(first).plan != canonical(second).plan


BY_CUSTOMER = "SELECT ckey, SUM(qty) AS q FROM lines JOIN orders USING (okey) GROUP BY ckey"
BY_DAY = "SELECT o.day, COUNT(*) AS n FROM orders o, lines l WHERE o.okey = l.okey GROUP BY o.day"
BY_MONTH = (
    "SELECT month, SUM(qty) AS q FROM lines JOIN orders USING (okey) JOIN days USING (day) GROUP BY month"
)


def test_the_delta_of_a_join_is_computed_once() -> None:
    found = work(a=BY_CUSTOMER, b=BY_DAY)
    [part] = found.parts
    assert found.sharers("a") == {"__common__1": ["b"]}
    assert found.sharers("b") == {"__common__1": ["a"]}
    assert {(scan.table, scan.at) for scan in scans(part.plan)} == {
        ("lines", State.DELTA),
        ("orders", State.OLD),
        ("orders", State.DELTA),
        ("lines", State.NEW),
    }
    for view in ("a", "b"):
        assert {scan.table for step in found.scripts[view] for scan in scans(step.plan)} <= {view}


def test_a_common_part_holds_what_is_used() -> None:
    [part] = work(a=BY_CUSTOMER, b=BY_DAY).parts
    assert part.plan.columns == ("qty", "ckey", "day", "__count")


def test_common_parts_may_be_parts_of_each_other() -> None:
    """What two of three views go on to do is common too, over what all three do."""
    found = work(
        changed=frozenset({"lines"}), a=BY_MONTH, b=BY_MONTH.replace("SUM(qty)", "MAX(qty)"), c=BY_DAY
    )
    inner, outer = found.parts
    assert found.users == {inner.name: ("a", "b", "c"), outer.name: ("a", "b")}
    assert f"reference {inner.name}" in show(outer.plan)
    assert [part.name for part in found.parts_of("a")] == [inner.name, outer.name]
    assert [part.name for part in found.parts_of("c")] == [inner.name]


def test_views_without_common_parts_keep_their_scripts() -> None:
    other = "SELECT part, SUM(qty) AS q FROM lines GROUP BY part"
    scripts = {"a": script("a", BY_CUSTOMER), "b": script("b", other)}
    found = shared_work(scripts, always)
    assert (found.scripts, found.parts) == (scripts, ())
    assert found.sharers("a") == {}


def test_what_is_cheap_is_computed_again() -> None:
    sizes = sizes_of([Batch({"lines": TableChange(10, True)}, Stored({"lines": 4000, "orders": 1000}))])
    found = work(lambda plan, users: saved_by_sharing(plan, users, sizes), a=BY_CUSTOMER, b=BY_DAY)
    assert found.parts == ()
    large = sizes_of(
        [Batch({"orders": TableChange(10, True)}, Stored({"lines": 40_000_000, "orders": 1000}))]
    )
    found = work(lambda plan, users: saved_by_sharing(plan, users, large), a=BY_CUSTOMER, b=BY_DAY)
    assert len(found.parts) == 1


def test_changes_of_a_keyed_relation_are_looked_up_once() -> None:
    scripts = {name: script(name, f"SELECT qty + {name[1]} AS x FROM lines") for name in ("v1", "v2")}
    assert shared_work(scripts, always).parts == ()
    [part] = shared_work(scripts, always, frozenset({"lines"})).parts
    [scan] = scans(part.plan)
    assert isinstance(scan, Scan)
    assert (scan.table, scan.at) == ("lines", State.DELTA)


def test_views_share_where_they_begin_at_the_same_state() -> None:
    scripts = {name: script(name, BY_CUSTOMER) for name in ("a", "b", "c")}
    pasts = {"a": {"lines": 0, "orders": 0}, "b": {"lines": 1, "orders": 0}, "c": {"lines": 0, "orders": 0}}
    assert shared_work(scripts, always, pasts=pasts).users == {"__common__1": ("a", "c")}
