"""gupta93 sections 1, 3 and 7 on the paper's own and on small hand-made graphs."""

from __future__ import annotations

import pytest

from tests.datalog.interpreter import Bag
from tests.datalog.programs import TABLES
from tests.datalog.views import Views, naive
from viewkeeper.datalog.parse import parse_program, with_rules, without_rules

LETTERS = "abcdefghijklmn"
HOP = "hop(X, Y) :- link(X, Z), link(Z, Y)."
TRI_HOP = HOP + " tri_hop(X, Y) :- hop(X, Z), link(Z, Y)."
CLOSURE = "path(X, Y) :- link(X, Y). path(X, Y) :- path(X, Z), link(Z, Y)."


def pairs(*words: str) -> Bag:
    """`ab` is the tuple (a, b), as the paper writes it; nodes are numbers here."""
    bag: Bag = {}
    for word in words:
        row = tuple(LETTERS.index(letter) for letter in word)
        bag[row] = bag.get(row, 0) + 1
    return bag


def words(bag: Bag) -> set[str]:
    return {"".join(LETTERS[node] for node in row) for row in bag}


def views(program: str, *links: str) -> Views:
    return Views(parse_program(program), {**{name: {} for name in TABLES}, "link": pairs(*links)})


def changed(views: Views, *links: str) -> None:
    """`-ab` deletes the tuple ab, `ab` inserts it."""
    delta = pairs(*(word for word in links if word[0] != "-"))
    for word in links:
        if word[0] == "-":
            (row,) = pairs(word[1:])
            delta[row] = delta.get(row, 0) - 1
    views.change({"link": delta})


def test_example_1_1_hop_is_overdeleted_and_rederived() -> None:
    hop = views(HOP, "ab", "bc", "be", "ad", "dc")
    assert words(hop.rows["hop"]) == {"ac", "ae"}
    changed(hop, "-ab")
    assert words(hop.rows["hop"]) == {"ac"}
    (work,) = hop.work
    assert (work.overdeleted, work.rederived, work.inserted) == (2, 1, 0)


def test_example_4_2_under_set_semantics() -> None:
    both = views(TRI_HOP, "ab", "ad", "dc", "bc", "ch", "fg")
    assert words(both.rows["hop"]) == {"ac", "dh", "bh"}
    assert words(both.rows["tri_hop"]) == {"ah"}
    changed(both, "-ab", "df", "af")
    assert words(both.rows["hop"]) == {"ac", "af", "ag", "dg", "dh", "bh"}
    assert words(both.rows["tri_hop"]) == {"ah", "ag"}


def test_example_5_1_a_rederived_row_is_not_cascaded() -> None:
    """hop(a, c) is rederived, so tri_hop loses nothing: its own work starts from insertions only."""
    both = views(TRI_HOP, "ab", "ad", "dc", "bc", "ch", "fg")
    changed(both, "-ab", "df", "af")
    hop, tri_hop = both.work
    assert (hop.overdeleted, hop.rederived) == (1, 1)
    assert (tri_hop.overdeleted, tri_hop.inserted) == (0, 1)


def test_example_6_1_negation() -> None:
    links = ("ab", "ae", "af", "ag", "bc", "cd", "ck", "ed", "fd", "gh", "hk")
    three = views(f"{TRI_HOP} only_tri_hop(X, Y) :- tri_hop(X, Y), not hop(X, Y).", *links)
    assert words(three.rows["hop"]) == {"ac", "ad", "ah", "bd", "bk", "gk"}
    assert words(three.rows["tri_hop"]) == {"ad", "ak"}
    assert words(three.rows["only_tri_hop"]) == {"ak"}
    changed(three, "-ed")
    assert words(three.rows["only_tri_hop"]) == {"ak"}
    changed(three, "-fd")
    assert words(three.rows["only_tri_hop"]) == {"ad", "ak"}


def test_example_6_2_minimal_cost() -> None:
    program = """hop(S, D, C1 + C2) :- link3(S, I, C1), link3(I, D, C2).
                 min_cost_hop(S, D, M) :- groupby(hop(S, D, C), [S, D], M = min(C))."""
    costs = Views(
        parse_program(program.replace("link3", "cost")),
        {**{name: {} for name in TABLES}, "cost": {(0, 1, 3): 1, (1, 2, 4): 1, (0, 3, 1): 1, (3, 2, 8): 1}},
    )
    assert costs.rows["min_cost_hop"] == {(0, 2, 7): 1}
    costs.change({"cost": {(0, 1, 3): -1}})
    assert costs.rows["min_cost_hop"] == {(0, 2, 9): 1}
    costs.change({"cost": {(3, 2, 8): -1, (3, 2, 2): 1}})
    assert costs.rows["min_cost_hop"] == {(0, 2, 3): 1}


def test_section_7_semi_naive_insertion() -> None:
    paths = views(CLOSURE, "ab", "cd")
    changed(paths, "bc")
    assert words(paths.rows["path"]) == {"ab", "ac", "ad", "bc", "bd", "cd"}
    assert paths.work[0].overdeleted == 0
    assert paths.work[0].inserted == 4


def test_section_7_alternative_derivations_are_put_back() -> None:
    diamond = views(CLOSURE, "ab", "ac", "bd", "cd", "de")
    changed(diamond, "-bd")
    assert words(diamond.rows["path"]) == {"ab", "ac", "ad", "ae", "cd", "ce", "de"}
    (work,) = diamond.work
    assert work.overdeleted == 4  # bd, be, ad, ae
    assert work.rederived == 2  # ad, ae


def test_an_edge_of_a_cycle() -> None:
    cycle = views(CLOSURE, "ab", "bc", "ca")
    assert len(cycle.rows["path"]) == 9
    changed(cycle, "-ca")
    assert words(cycle.rows["path"]) == {"ab", "bc", "ac"}
    assert cycle.work[0].overdeleted == 9


def test_the_only_path_goes_and_another_comes_in_one_batch() -> None:
    chain = views(CLOSURE, "ab", "bd")
    changed(chain, "-bd", "ac", "cd")
    assert words(chain.rows["path"]) == {"ab", "ac", "cd", "ad"}


def test_one_copy_of_a_duplicate_edge_changes_nothing() -> None:
    twice = views(CLOSURE, "ab", "ab", "bc")
    changed(twice, "-ab")
    assert twice.work[0].overdeleted == 0
    changed(twice, "-ab")
    assert words(twice.rows["path"]) == {"bc"}


@pytest.mark.parametrize(
    "rule", ["path(X, Y) :- path(X, Z), path(Z, Y).", "path(X, X) :- link(X, _).", "path(0, 9)."]
)
def test_rules_come_and_go(rule: str) -> None:
    paths = views("path(X, Y) :- link(X, Y).", "ab", "bc", "cd")
    for program in (with_rules(paths.program, rule), paths.program):
        paths.change({}, program)
        assert paths.rows == naive(program, paths.tables)


def test_a_dropped_rule_leaves_what_other_rules_derive() -> None:
    program = f"{CLOSURE} path(X, Y) :- link(X, Z), link(Z, Y)."
    paths = views(program, "ab", "bc", "cd")
    paths.change({}, without_rules(paths.program, "path(X, Y) :- path(X, Z), link(Z, Y)."))
    assert words(paths.rows["path"]) == {"ab", "bc", "cd", "ac", "bd"}
