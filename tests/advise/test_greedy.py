"""The greedy choice, on the example lattice of Harinarayan, Rajaraman and Ullman (1996)."""

from __future__ import annotations

import pytest

from viewkeeper.advise.greedy import AskedQuery, Candidate, greedy

ROWS = {"a": 100, "b": 50, "c": 75, "d": 20, "e": 30, "f": 40, "g": 1, "h": 10}
ABOVE = {
    "a": "a",
    "b": "ab",
    "c": "ac",
    "d": "abd",
    "e": "abce",
    "f": "acf",
    "g": "abcdeg",
    "h": "abcefh",
}
"""From which views each can be computed, itself among them; all queries are asked once, and a is stored."""


def lattice_queries(times: float = 1.0) -> list[AskedQuery]:
    return [
        AskedQuery(times, ROWS["a"], {name: ROWS[name] for name in above if name != "a"})
        for above in ABOVE.values()
    ]


def candidates(upkeep: float = 0.0) -> list[Candidate]:
    return [Candidate(name, rows, upkeep) for name, rows in ROWS.items() if name != "a"]


def test_the_first_three_choices_and_their_benefits() -> None:
    picks = greedy(candidates(), lattice_queries(), most=3)
    assert [(pick.name, pick.benefit) for pick in picks] == [("b", 250), ("f", 70), ("d", 60)]


def test_where_space_is_short_benefit_counts_for_each_row() -> None:
    """g saves 99 for one row, h 90 for ten, and d 80 for twenty; b saves more, but does not fit."""
    picks = greedy(candidates(), lattice_queries(), budget=31)
    assert [(pick.name, pick.benefit) for pick in picks] == [("g", 99), ("h", 90), ("d", 80)]


def test_a_view_that_costs_more_than_it_saves_is_not_stored() -> None:
    assert [pick.name for pick in greedy(candidates(upkeep=65), lattice_queries())] == ["b", "f"]
    assert greedy(candidates(upkeep=250), lattice_queries()) == ()
    assert greedy(candidates(upkeep=249), lattice_queries())[0].name == "b"


def test_queries_that_are_asked_often_weigh_more() -> None:
    often = [AskedQuery(100, 100, {"g": 1, "d": 20}), AskedQuery(1, 100, {"b": 50})]
    assert greedy(candidates(), often, most=1)[0].name == "g"


def test_a_view_that_later_choices_make_needless_goes_again() -> None:
    """First v saves most, then v1 and v2 answer all that it was for, and its upkeep is for nothing."""
    queries = [AskedQuery(1, 100, {"v": 40, "v1": 1}), AskedQuery(1, 100, {"v": 40, "v2": 1})]
    views = [Candidate("v", 40, 2), Candidate("v1", 1, 2), Candidate("v2", 1, 2)]
    assert [pick.name for pick in greedy(views, queries)] == ["v1", "v2"]


@pytest.mark.parametrize("exists", ["x", "y"])
def test_of_equal_views_the_one_that_exists_stays(exists: str) -> None:
    views = [Candidate(name, 10, exists=name == exists) for name in "xy"]
    [pick] = greedy(views, [AskedQuery(1, 100, {"x": 10, "y": 10})])
    assert pick.name == exists


def test_without_queries_or_space_nothing_is_chosen() -> None:
    assert greedy(candidates(), []) == ()
    assert greedy(candidates(), lattice_queries(), budget=0) == ()
    assert greedy(candidates(), lattice_queries(), most=0) == ()
