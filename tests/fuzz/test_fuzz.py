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
from fuzz.case import Case, from_json, to_json
from fuzz.kinds import taken_kinds
from fuzz.metamorphic import LAWS
from fuzz.run import Player, run
from fuzz.scenarios import scenario
from fuzz.values import Kind, only

SCENARIOS = int(os.environ.get("VIEWKEEPER_FUZZ", "2"))
FIRST = int(os.environ.get("VIEWKEEPER_FIRST_FUZZ", "1"))


@pytest.fixture(scope="module")
def kinds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kind, ...]:
    return taken_kinds(spark, tmp_path_factory.mktemp("kinds") / "warehouse")[0]


@pytest.fixture(autouse=True)
def only_types_that_tables_can_have(kinds: tuple[Kind, ...]) -> Iterator[None]:
    with only(kinds):
        yield


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SCENARIOS))
def test_views_answer_as_spark_does(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = scenario(spark, seed, Counter(), views=10, rounds=2)
    outcome = run(spark, case, tmp_path / "warehouse")
    assert outcome.counts["compared"] > 10
    assert not outcome.failures, to_json(case)


def test_a_scenario_is_made_again_from_its_seed_and_from_its_file(spark: SparkSession) -> None:
    one, other = (scenario(spark, 7, Counter(), views=6, rounds=2) for _ in range(2))
    assert to_json(one) == to_json(other) == to_json(from_json(to_json(one)))


@pytest.mark.parametrize("law", LAWS)
def test_cases_that_mean_the_same_lead_to_the_same_rows(
    spark: SparkSession, tmp_path: Path, law: str
) -> None:
    case = scenario(spark, FIRST + 50, Counter(), views=5, rounds=1)
    plain = replace(case, steps=()) if law == "inverse" else case
    one, other = (
        stored(spark, played, tmp_path / str(number))
        for number, played in enumerate((plain, LAWS[law](case, Random(1))))
    )
    assert one.keys() == other.keys()
    assert not [name for name in one if not same(one[name], other[name], 1e-9)], to_json(case)


def stored(spark: SparkSession, case: Case, path: Path) -> dict[str, Bag]:
    """What all views show when a case is over, in which nothing may go wrong."""
    player = Player(spark, case, path)
    assert not player.play().failures, to_json(case)
    return {name: player.stored(name) for view in player.alive for name in view.predicates}
