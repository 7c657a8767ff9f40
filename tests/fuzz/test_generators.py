"""What scenarios are made of, without Spark being asked."""

from __future__ import annotations

from random import Random

import pytest

from fuzz.bags import bag_of
from fuzz.case import Case, View
from fuzz.looks import signed
from fuzz.model import Model
from fuzz.query import Expr, Item, Named, Select
from fuzz.recursion import Graph, changed_rules, program
from fuzz.scenarios import BLOCK, choice_of
from fuzz.schemas import scaled
from fuzz.session import CHOICES, choosing
from fuzz.star import random_summary, star_tables
from fuzz.streams import first_rows, random_steps
from viewkeeper import limits
from viewkeeper.planning import planner

SEEDS = range(30)


def test_a_rule_that_is_added_and_dropped_again_leaves_the_program_as_it_was() -> None:
    before = program(Random(3), Graph("t0", "a", "b", "v0"))
    for seed in SEEDS:
        step, after = changed_rules(Random(seed), before)
        back, again = changed_rules(Random(seed), after)
        assert {step["change"], back["change"]} == {"add", "drop"}
        assert (step["rule"] in after.text.split("\n")) == (step["change"] == "add")
        assert sorted(again.text.split("\n")) == sorted(before.text.split("\n"))
        assert [name for name, _ in again.equations] == [name for name, _ in before.equations]


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_can_be_applied_to_the_tables_that_they_were_drawn_for(seed: int) -> None:
    rng = Random(seed)
    scale = 5 if seed % 3 == 0 else 1
    tables = scaled(star_tables(rng), scale)
    query = Select((Item(Expr("r1.k"), "x1"),), Named("t0", "r1"), (Expr("r1.b"),))
    views = (View("v0", str(query), query=query), program(rng, Graph("t1", "k", "a", "v1")))
    case = Case(seed, tables, first_rows(rng, tables, scale), views, ())
    steps = random_steps(rng, case, 4, scale)
    model = Model.of(case)
    for step in steps:
        model.apply(step)
    assert sum(step["do"] == "refresh" for step in steps) >= 4
    for table in tables:
        keys = [table.key_of(row) for row in model.rows[table.name]]
        assert not table.key or len(keys) == len(set(keys))


def test_summaries_group_by_what_they_show() -> None:
    for seed in SEEDS:
        summary = random_summary(Random(seed))
        assert [item.value for item in summary.items[: len(summary.group)]] == list(summary.group)
        assert len(summary.items) > len(summary.group)


@pytest.mark.parametrize("choice", sorted(CHOICES))
def test_a_choice_lasts_for_a_case(choice: str) -> None:
    before = planner.NOISE, limits.LIMITS
    with choosing(choice):
        assert (before[1].layers > limits.LIMITS.layers) == (choice == "tight")
    assert before == (planner.NOISE, limits.LIMITS)


def test_a_block_of_scenarios_has_one_choice() -> None:
    assert {choice_of(seed) for seed in range(5 * BLOCK)} == set(CHOICES)
    assert all(len({choice_of(BLOCK * block + n) for n in range(BLOCK)}) == 1 for block in range(9))


def test_a_difference_of_bags_has_signs() -> None:
    assert signed(bag_of([(1,), (1,), (3,)]), bag_of([(1,), (2,), (3,)])) == {(1,): 1, (2,): -1}
