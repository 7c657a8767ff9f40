"""Cases found or reported wrong, played again: `tests/regressions/*.json`, as the fuzzer writes them.

A case is tables, views and steps as plain data. Each view is compared with Spark's answer to its own text
over a model of the tables wherever it is refreshed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fuzz.case import read
from fuzz.run import run

CASES = sorted(Path(__file__).parent.glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_is_answered_as_spark_does(spark: SparkSession, tmp_path: Path, path: Path) -> None:
    outcome = run(spark, read(path), tmp_path / "warehouse")
    assert outcome.counts["compared"] > 0
    assert not outcome.failures
