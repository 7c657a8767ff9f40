"""gupta93 sections 1 to 6: counting, with the paper's relations and counts."""

from __future__ import annotations

from sqlglot import exp

from tests.papers.example_database import Example, pairs
from viewkeeper.algebra.build import joined, projected, union_all
from viewkeeper.algebra.expressions import Named, column, conjunction, equal, function
from viewkeeper.algebra.relations import Aggregate, Distinct, JoinKind, Relation, State
from viewkeeper.algebra.walk import scans, with_children
from viewkeeper.delta import delta, old
from viewkeeper.delta.join import delta_inner_join
from viewkeeper.delta.states import Operand
from viewkeeper.rewrite.join_block import join_block

LINK = frozenset({"link"})


def followed_by_link(db: Example, first: Relation, number: int) -> Relation:
    """first(X, Z) & link(Z, Y), as pairs (X, Y)."""
    x, z = first.columns
    link = db.scan("link", f"s{number}", f"d{number}")
    both = joined(first, link, JoinKind.INNER, equal(column(z), column(f"s{number}")))
    return projected(both, (Named(f"x{number}", column(x)), Named(f"y{number}", column(f"d{number}"))))


def hop(db: Example, number: int = 0) -> Relation:
    return followed_by_link(db, db.scan("link", f"s{number}0", f"d{number}0"), number + 1)


def tri_hop(db: Example, hops: Relation, number: int = 5) -> Relation:
    return followed_by_link(db, hops, number)


def delta_rules(view: Relation) -> list[Relation]:
    """Δ1, Δ2, …: the terms of the delta of a projected join, each projected."""
    change = delta(view, LINK)
    return [with_children(change, (term,)) for term in change.child.inputs]


def graph(links: str, changes: str = "") -> Example:
    db = Example(link="s string, d string")
    db.load("link", list(pairs(links)), pairs(changes))
    return db


def test_example_1_1_counts_tell_which_tuples_lose_their_last_derivation() -> None:
    db = graph("ab bc be ad dc", "ab*-1")
    assert db.value(old(hop(db), LINK)) == pairs("ac*2 ae")
    assert db.value(delta(hop(db), LINK)) == pairs("ac*-1 ae*-1")
    assert db.value(delta(Distinct(hop(db)), LINK)) == pairs("ae*-1")
    assert db.value(Distinct(hop(db))) == pairs("ac")


def test_example_4_1_delta_rules_d1_and_d2() -> None:
    """Δ(link) & link ⊎ link^ν & Δ(link): two terms, each from its delta on; old after it, new before."""
    db = Example(link="s string, d string")
    states = [[scan.at for scan in scans(term)] for term in delta_rules(hop(db))]
    assert states == [[State.DELTA, State.OLD], [State.DELTA, State.NEW]]


def test_example_4_2_hop_and_tri_hop_with_duplicates() -> None:
    db = graph("ab ad dc bc ch fg", "ab*-1 df af")
    hops = hop(db)
    tri = tri_hop(db, hops)
    assert db.value(old(hops, LINK)) == pairs("ac*2 dh bh")
    assert db.value(old(tri, LINK)) == pairs("ah*2")
    first, second = delta_rules(hops)
    assert db.value(first) == pairs("ac*-1 ag dg")
    assert db.value(second) == pairs("af")
    assert db.value(hops) == pairs("ac af ag dg dh bh")
    assert db.value(delta(tri, LINK)) == pairs("ah*-1 ag")
    assert db.value(tri) == pairs("ah ag")


def test_example_4_2_delta_rules_of_the_second_stratum() -> None:
    """Δ1(v2) gives {ah*−1, ag}, Δ2(v2) gives nothing."""
    db = graph("ab ad dc bc ch fg", "ab*-1 df af")
    hops, link = hop(db), db.scan("link", "s5", "d5")
    join = joined(hops, link, JoinKind.INNER, equal(column(hops.columns[1]), column("s5")))
    left = Operand(old(hops, LINK), hops, delta(hops, LINK))
    right = Operand(old(link, LINK), link, delta(link, LINK))
    rules = delta_inner_join(join_block(join), (left, right))
    ends = (Named("x", column(hops.columns[0])), Named("y", column("d5")))
    nothing = Operand(old(link, LINK), link, delta(link, frozenset()))
    first = delta_inner_join(join_block(join), (left, nothing))
    assert db.value(projected(first, ends)) == pairs("ah*-1 ag")
    assert db.value(projected(rules, ends)) == pairs("ah*-1 ag")


def test_example_5_1_with_sets_the_flow_stops_where_the_set_is_the_same() -> None:
    db = graph("ab ad dc bc ch fg", "ab*-1 df af")
    hops = Distinct(hop(db))
    assert db.value(delta(hops, LINK)) == pairs("af ag dg")
    tri = tri_hop(db, hops)
    assert db.value(delta(tri, LINK)) == pairs("ag")
    assert ("a", "h") not in db.value(delta(tri, LINK))


def only_tri_hop(db: Example) -> Relation:
    tri, hops = tri_hop(db, hop(db), 5), hop(db, 7)
    match = conjunction(equal(column(a), column(b)) for a, b in zip(tri.columns, hops.columns, strict=True))
    return joined(tri, hops, JoinKind.ANTI, match)


def test_example_6_1_only_tri_hop() -> None:
    db = graph("ab ae af ag bc cd ck ed fd gh hk")
    assert db.value(hop(db)) == pairs("ac ad*2 ah bd bk gk")
    assert db.value(tri_hop(db, hop(db))) == pairs("ad ak*2")
    assert db.value(only_tri_hop(db)) == pairs("ak*2")


def test_definition_6_1_a_negated_subgoal_turns_with_the_last_and_the_first_derivation() -> None:
    """Removing ae leaves hop(a, d) one derivation: nothing turns. Removing af too turns ad."""
    links = "ab ae af ag bc cd ck ed fd gh hk"
    one_left = graph(links, "ae*-1")
    assert one_left.value(delta(only_tri_hop(one_left), LINK)) == {}
    none_left = graph(links, "ae*-1 af*-1")
    assert none_left.value(delta(only_tri_hop(none_left), LINK)) == pairs("ad")
    regained = graph("ab ag bc cd ck ed fd gh hk", "ae")
    assert regained.value(delta(only_tri_hop(regained), LINK)) == pairs("ad*-1")


def min_cost_hop(db: Example) -> Relation:
    one, two = db.scan("link", "s", "i", "c1"), db.scan("link", "j", "d", "c2")
    both = joined(one, two, JoinKind.INNER, equal(column("i"), column("j")))
    cost = exp.Add(this=column("c1"), expression=column("c2"))
    hops = projected(both, (Named("s", column("s")), Named("d", column("d")), Named("c", cost)))
    keys = (Named("s", column("s")), Named("d", column("d")))
    return Aggregate(hops, keys, (Named("m", function("min", column("c"))),))


def test_example_6_2_min_cost_hop() -> None:
    """Inserting hop(a, b, 10) can only change the tuple from a to b, and does if it was dearer."""
    db = Example(link="s string, d string, c int")
    dear = [("a", "x", 8), ("x", "b", 7), ("x", "c", 1)]
    db.load("link", dear, {("a", "y", 4): 1, ("y", "b", 6): 1})
    view = min_cost_hop(db)
    assert db.value(old(view, LINK)) == {("a", "b", 15): 1, ("a", "c", 9): 1}
    assert db.value(delta(view, LINK)) == {("a", "b", 15): -1, ("a", "b", 10): 1}
    db.load("link", dear, {("a", "y", 9): 1, ("y", "b", 6): 1})
    assert db.value(delta(view, LINK)) == {}
    db.load("link", dear, {("x", "b", 7): -1})
    assert db.value(delta(view, LINK)) == {("a", "b", 15): -1}


def test_section_3_union_adds_counts_and_drops_zeros() -> None:
    db = Example(p="x string, y string", q="x string, y string")
    db.load("p", [("a", "b")] * 4)
    db.load("q", [("a", "b")], {("a", "b"): -1})
    both = union_all((db.scan("p", "a", "b"), db.scan("q", "c", "d")), ("a", "b"))
    assert db.value(old(both, frozenset({"q"}))) == {("a", "b"): 5}
    assert db.value(both) == {("a", "b"): 4}
