"""Recursions by UNION beside each other in one WITH: each is complete before those that read it."""

from __future__ import annotations

from collections import Counter

import pytest

import viewkeeper as vk
from tests.sizes import SIZES, in_batches
from viewkeeper import errors

pytestmark = pytest.mark.usefixtures("maintained")

R = "r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a)"
S = "s(a, b) AS (SELECT a, b FROM f UNION SELECT s.a, r.b FROM s JOIN r ON s.b = r.a)"
ODD = "odd(a, b) AS (SELECT a, b FROM e UNION SELECT even.a, e.b FROM even JOIN e ON even.b = e.a)"
EVEN = "even(a, b) AS (SELECT odd.a, f.b FROM odd JOIN f ON odd.b = f.a UNION SELECT * FROM s)"
TEXTS = {
    "after": f"WITH RECURSIVE {R}, {S} SELECT * FROM s",
    "forward": f"WITH RECURSIVE {S}, {R} SELECT * FROM s",
    "both": f"WITH RECURSIVE {S}, {R} SELECT r.a, s.b FROM r JOIN s ON r.b = s.a",
    "mutual_over_others": f"WITH RECURSIVE {EVEN}, {R}, {ODD}, {S} SELECT * FROM odd",
    "negated": f"""WITH RECURSIVE {R}, n(a, b) AS (SELECT a, b FROM f UNION SELECT n.a, f.b FROM n
        JOIN f ON n.b = f.a WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.a = n.a AND r.b = f.b))
        SELECT * FROM n""",
    "counted": f"""WITH RECURSIVE {R}, c(a, n) AS (SELECT a, COUNT(*) FROM r GROUP BY a),
        m(a, n) AS (SELECT a, n FROM c UNION SELECT m.a, f.b FROM m JOIN f ON m.n = f.a) SELECT * FROM m""",
    "summed": f"WITH RECURSIVE {R}, {S} SELECT s.a, COUNT(*) AS n, SUM(r.b) AS t FROM s JOIN r ON s.b = r.a "
    "GROUP BY s.a",
    "over_a_bag": """WITH RECURSIVE d(a, n) AS (SELECT a, 1 FROM e UNION ALL
        SELECT a, n + 1 FROM d WHERE n < 3),
        p(a, n) AS (SELECT a, n FROM d UNION SELECT p.a, d.n FROM p JOIN d ON p.n = d.a) SELECT * FROM p""",
}
ABOVE = {"both": "counting", "summed": "summary-delta"}
"""A report names a view by its top stratum: these join or sum up what is above the recursions."""

CHANGES = (
    ("INSERT INTO e VALUES (4, 5), (5, 1)", "INSERT INTO f VALUES (5, 2), (3, 4)"),
    ("DELETE FROM e WHERE a = 2", "DELETE FROM f WHERE a = 1", "UPDATE e SET b = 3 WHERE a = 1"),
)


def closure(first: set[tuple[int, int]], step: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The least set that holds `first`, and with (x, y) every (x, z) for (y, z) in `step`."""
    found = set(first)
    while True:
        more = {(x, z) for x, y in found for w, z in step if y == w} - found
        if not more:
            return found
        found |= more


def summed(r: set[tuple[int, int]], s: set[tuple[int, int]]) -> Counter[tuple[int, ...]]:
    met = {a: [x for y, x in r for z, b in s if (z, b) == (a, y)] for a, _ in s}
    return Counter((a, len(found), sum(found)) for a, found in met.items() if found)


def bag(warehouse: vk.Warehouse, name: str) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row) for row in warehouse.table(name).collect())


def test_recursions_that_read_each_other(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE e (a INT, b INT)")
    warehouse.sql("CREATE TABLE f (a INT, b INT)")
    warehouse.sql("INSERT INTO e VALUES (1, 2), (2, 3), (3, 4)")
    warehouse.sql("INSERT INTO f VALUES (1, 1), (4, 2)")
    views = {name: text for name, text in TEXTS.items() if name != "forward" or not SIZES.short}
    for name, text in views.items():
        warehouse.create_view(name, text)
    for statements in in_batches(CHANGES):
        for statement in statements:
            warehouse.sql(statement)
        report = warehouse.refresh(policy="incremental")
        assert {entry.view: entry.strategy for entry in report} == dict.fromkeys(views, "dred") | ABOVE
        r = closure(set(bag(warehouse, "e")), set(bag(warehouse, "e")))
        s = closure(set(bag(warehouse, "f")), r)
        both = Counter((a, b) for a, x in r for y, b in s if x == y)
        computed = {"after": Counter(s), "forward": Counter(s), "both": both, "summed": summed(r, s)}
        assert all(bag(warehouse, name) == computed[name] for name in views if name in computed)
    assert [name for name in views if name not in computed and not warehouse.verify(name)] == []


def test_definitions_that_read_each_other_by_union_all(warehouse: vk.Warehouse) -> None:
    warehouse.sql("CREATE TABLE e (a INT, b INT)")
    text = f"WITH RECURSIVE {ODD}, even(a, b) AS (SELECT odd.a, e.b FROM odd JOIN e ON odd.b = e.a)"
    mutual = text.replace("UNION", "UNION ALL") + " SELECT * FROM odd"
    with pytest.raises(errors.Unsupported, match=r"odd and even read each other[\s\S]*Use UNION"):
        warehouse.create_view("v", mutual)
    warehouse.create_view("v", f"{text} SELECT * FROM odd")
    assert warehouse.verify("v")
