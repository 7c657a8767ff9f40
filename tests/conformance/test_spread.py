"""Conformance cases, spread evenly over what they exercise, recomputed in full."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.conformance.location import CASES
from tests.sizes import SIZES
from tools.conformance.cases import choose, load
from tools.conformance.run import Verdict, run_case


def spread():
    return choose([case for case in load(CASES) if case.spark_can_recompute], spread=SIZES.conformance)


@pytest.mark.parametrize("case", spread(), ids=lambda case: case.id)
def test_case(case, spark):
    outcome = run_case(case, lambda path: vk.open(path, spark=spark), "full")
    assert outcome.verdict is Verdict.PASSED, f"{outcome.reason}\n{outcome.detail}"
