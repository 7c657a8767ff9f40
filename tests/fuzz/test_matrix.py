"""Types in places: by default one type in some; with `VIEWKEEPER_TYPES="double;date"` these types, in all."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from fuzz.matrix import OPERATORS, page, played
from fuzz.values import BY_TYPE

ASKED = os.environ.get("VIEWKEEPER_TYPES", "")
TYPES = ASKED.split(";") if ASKED else ["decimal(8,2)"]
PLACES = list(OPERATORS) if ASKED else ["group key", "join key", "MIN and MAX", "DISTINCT", "primary key"]


@pytest.mark.parametrize("kind", TYPES)
def test_views_over_a_type_answer_as_spark_does(spark: SparkSession, kind: str) -> None:
    place = played(spark, BY_TYPE[kind], {name: OPERATORS[name] for name in PLACES})
    assert not place.wrong
    assert set(place.cells) == set(PLACES)
    assert kind in "".join(page([place], PLACES))
    assert "maintained" in place.cells.values()


def test_what_spark_refuses_is_told_with_its_code(spark: SparkSession) -> None:
    place = played(spark, BY_TYPE["boolean"], {"SUM": OPERATORS["SUM"]})
    assert place.cells == {"SUM": "refused: `DATATYPE_MISMATCH`"}
