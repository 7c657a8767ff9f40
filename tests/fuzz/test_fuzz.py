"""A few scenarios of the fuzzer with fixed seeds: `make fuzz` plays others for as long as it is let.

`VIEWKEEPER_FUZZ=20` plays that many, `VIEWKEEPER_FIRST_FUZZ=1000` begins with that seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from fuzz.bags import Bag, same
from fuzz.case import Case, from_json, read, to_json
from fuzz.kinds import taken_kinds
from fuzz.looks import look
from fuzz.metamorphic import LAWS
from fuzz.run import Player, run
from fuzz.scenarios import scenario
from fuzz.values import Kind, only
from tests.sizes import SIZES

FIRST = int(os.environ.get("VIEWKEEPER_FIRST_FUZZ", "320"))


@pytest.fixture(scope="module")
def kinds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kind, ...]:
    return taken_kinds(spark, tmp_path_factory.mktemp("kinds") / "warehouse")[0]


@pytest.fixture(autouse=True)
def only_types_that_tables_can_have(kinds: tuple[Kind, ...]) -> Iterator[None]:
    with only(kinds):
        yield


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SIZES.fuzz))
def test_views_answer_as_spark_does(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = scenario(spark, seed, Counter(), views=10, rounds=2)
    outcome = run(spark, case, tmp_path / "warehouse")
    assert outcome.counts["compared"] >= len(case.views)
    assert not outcome.failures, to_json(case)


def test_every_kind_of_step_is_played(spark: SparkSession, tmp_path: Path) -> None:
    case = read(Path(__file__).parent / "every-step.json")
    outcome = run(spark, case, tmp_path / "warehouse")
    assert not outcome.failures
    assert outcome.counts["compared"] > 15
    assert [outcome.counts[name] for name in ("rules: add", "rules: drop", "rule refused")] == [1, 1, 0]
    assert outcome.counts["verified right"] == outcome.counts["travel"] == outcome.counts["feed"] == 3


def test_a_scenario_is_made_again_from_its_seed_and_from_its_file(spark: SparkSession) -> None:
    one, other = (scenario(spark, 7, Counter(), views=6, rounds=2) for _ in range(2))
    assert to_json(one) == to_json(other) == to_json(from_json(to_json(one)))


@pytest.fixture(scope="module")
def small(spark: SparkSession, kinds: tuple[Kind, ...]) -> Case:
    with only(kinds):
        return scenario(spark, FIRST + 50, Counter(), views=4, rounds=1)


@pytest.fixture(scope="module")
def ends(spark: SparkSession, small: Case, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bag]:
    return stored(spark, small, tmp_path_factory.mktemp("plain") / "warehouse")


@pytest.mark.parametrize("law", sorted(LAWS.keys() - {"inverse"}))
def test_cases_that_mean_the_same_lead_to_the_same_rows(
    spark: SparkSession, tmp_path: Path, small: Case, ends: dict[str, Bag], law: str
) -> None:
    assert not different(ends, stored(spark, LAWS[law](small, Random(1)), tmp_path / "warehouse"))


def test_changes_that_are_taken_back_leave_the_rows_of_the_start(
    spark: SparkSession, tmp_path: Path, small: Case
) -> None:
    began = stored(spark, replace(small, steps=()), tmp_path / "began")
    assert not different(began, stored(spark, LAWS["inverse"](small, Random(1)), tmp_path / "undone"))


def stored(spark: SparkSession, case: Case, path: Path) -> dict[str, Bag]:
    """What all views show when a case is over, in which nothing may go wrong."""
    player = Player(spark, case, path)
    assert not player.play().failures, to_json(case)
    return {name: look(player.wh, name)[1] for view in player.alive for name in view.predicates}


def different(one: dict[str, Bag], other: dict[str, Bag]) -> list[str]:
    assert one.keys() == other.keys()
    return [name for name in one if not same(one[name], other[name], 1e-9)]
