"""gupta93 through the public surface: what is stored after each step of its examples, with its counts."""

from __future__ import annotations

from collections import Counter

import pytest

import viewkeeper as vk

pytestmark = pytest.mark.usefixtures("maintained")

FOLLOWED = "SELECT {0}h.s, l.d FROM {1} h JOIN link l ON h.d = l.s"
VIEWS = {
    "hop": FOLLOWED.format("", "link"),
    "tri_hop": FOLLOWED.format("", "hop"),
    "hop_set": FOLLOWED.format("DISTINCT ", "link"),
    "tri_hop_set": FOLLOWED.format("DISTINCT ", "hop_set"),
    "starts": "SELECT s, COUNT(*) AS n FROM hop_set GROUP BY s",
    "only_tri_hop": """SELECT * FROM tri_hop t
        WHERE NOT EXISTS (SELECT 1 FROM hop h WHERE h.s = t.s AND h.d = t.d)""",
}
Bag = Counter[str]


def pairs(words: str) -> Bag:
    """`ac*2` is the tuple (a, c) with two derivations, as the paper writes it."""
    found: Bag = Counter()
    for word in words.split():
        pair, _, count = word.partition("*")
        found[pair] += int(count or 1)
    return found


def stored(wh: vk.Warehouse, view: str) -> Bag:
    return Counter(row[0] + row[1] for row in wh.table(view).collect())


def with_links(wh: vk.Warehouse, links: str, *views: str) -> vk.Warehouse:
    wh.sql("CREATE TABLE link (s STRING, d STRING)")
    changed(wh, links)
    for view in views:
        wh.create_view(view, VIEWS[view])
    return wh


def changed(wh: vk.Warehouse, links: str) -> None:
    """`ab*-1` deletes the tuple ab, `ab` inserts it; all in one transaction."""
    with wh.transaction() as t:
        for pair, count in pairs(links).items():
            change = t.insert if count > 0 else t.delete
            change("link", [tuple(pair)] * abs(count))


def test_examples_4_2_and_5_1_hop_and_tri_hop_as_bags_and_as_sets(warehouse: vk.Warehouse) -> None:
    wh = with_links(warehouse, "ab ad dc bc ch fg", *list(VIEWS)[:5])
    assert stored(wh, "hop") == pairs("ac*2 dh bh")
    assert stored(wh, "tri_hop") == pairs("ah*2")
    assert stored(wh, "hop_set") == pairs("ac dh bh")
    changed(wh, "ab*-1 df af")
    report = wh.refresh()
    assert stored(wh, "hop") == pairs("ac af ag dg dh bh")
    assert stored(wh, "tri_hop") == pairs("ah ag")
    assert stored(wh, "hop_set") == pairs("ac af ag dg dh bh")
    assert stored(wh, "tri_hop_set") == pairs("ah ag")
    assert report.of("hop").rows_written == 4, "Δ(hop) = {ac*-1, af, ag, dg}"
    assert report.of("tri_hop").rows_written == 2, "Δ(tri_hop) = {ah*-1, ag}"

    # Statement (2): another link from a to d gives ac and af a second derivation; as sets they are the same.
    changed(wh, "ad")
    report = wh.refresh()
    assert stored(wh, "hop") == pairs("ac*2 af*2 ag dg dh bh")
    for view in ("hop_set", "starts"):
        assert wh.changes(view, report.version - 1).count() == 0, "Δ(hop_set) = ∅"
    above = report.of("starts")
    assert above.details["reads"].keys() == {"hop_set__delta"}, "no link and no stored hop is looked at again"
    assert (above.strategy, above.rows_written) == ("summary-delta", 1), "the group of a, with 0 more rows"
    assert all(wh.verify(view) for view in VIEWS if view != "only_tri_hop")


def test_examples_1_1_and_6_1_negation(warehouse: vk.Warehouse) -> None:
    """A negated subgoal turns with the last and with the first derivation of what it denies."""
    wh = with_links(warehouse, "ab ae af ag bc cd ck ed fd gh hk", "hop", "tri_hop", "only_tri_hop")
    assert stored(wh, "hop") == pairs("ac ad*2 ah bd bk gk")
    assert stored(wh, "tri_hop") == pairs("ad ak*2")
    assert stored(wh, "only_tri_hop") == pairs("ak*2")
    changed(wh, "ed*-1")
    wh.refresh()
    assert stored(wh, "hop")["ad"] == 1
    assert stored(wh, "only_tri_hop") == pairs("ak*2")
    changed(wh, "fd*-1")
    wh.refresh()
    assert stored(wh, "only_tri_hop") == pairs("ad ak*2")
    changed(wh, "fd")
    wh.refresh()
    assert stored(wh, "only_tri_hop") == pairs("ak*2")


def test_example_6_2_min_cost_hop(warehouse: vk.Warehouse) -> None:
    """Inserting hop(a, b, 10) can only change the tuple from a to b, and does if that was dearer."""
    wh = warehouse
    wh.sql("CREATE TABLE link (s STRING, d STRING, c INT)")
    wh.sql("INSERT INTO link VALUES ('a', 'x', 8), ('x', 'b', 7), ('x', 'c', 1)")
    wh.create_view(
        "min_cost_hop",
        "SELECT h.s, l.d, MIN(h.c + l.c) AS m FROM link h JOIN link l ON h.d = l.s GROUP BY h.s, l.d",
    )

    def costs() -> dict[str, int]:
        return {row.s + row.d: row.m for row in wh.table("min_cost_hop").collect()}

    assert costs() == {"ab": 15, "ac": 9}
    wh.sql("INSERT INTO link VALUES ('a', 'z', 9), ('z', 'b', 9)")
    before = wh.refresh().version - 1
    assert wh.changes("min_cost_hop", before).count() == 0, "18 is dearer than 15"
    wh.sql("INSERT INTO link VALUES ('a', 'y', 4), ('y', 'b', 6)")
    [entry] = wh.refresh()
    assert (costs(), entry.details["groups_recomputed"]) == ({"ab": 10, "ac": 9}, 0)
    wh.sql("DELETE FROM link WHERE s = 'y'")
    [entry] = wh.refresh()
    assert (costs(), entry.details["groups_recomputed"]) == ({"ab": 15, "ac": 9}, 1)


def test_section_7_overdeletion_rederivation_insertion(warehouse: vk.Warehouse) -> None:
    wh = with_links(warehouse, "ab ac bd cd de")
    wh.datalog("path(X, Y) :- link(X, Y). path(X, Y) :- path(X, Z), link(Z, Y).")
    assert stored(wh, "path") == pairs("ab ac ad ae bd be cd ce de")
    changed(wh, "bd*-1")
    [entry] = wh.refresh()
    assert entry.strategy == "dred"
    assert stored(wh, "path") == pairs("ab ac ad ae cd ce de"), "ad and ae are put back"
    changed(wh, "ef")
    wh.refresh()
    assert stored(wh, "path") == pairs("ab ac ad ae af cd ce cf de df ef")
    wh.add_rule("path(X, Y) :- link(Y, X).")
    assert {"ba", "ca", "dc"} <= stored(wh, "path").keys()
    wh.drop_rule("path(X, Y) :- link(Y, X).")
    assert stored(wh, "path") == pairs("ab ac ad ae af cd ce cf de df ef")
