"""How many random cases a law is tried with.

Each law has a share, out of `SHARES`, of the cases of all laws (`tests/sizes.py`), and a few at least:
`VIEWKEEPER_CASES=20000` gives each eight times its share.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from tests.sizes import SHORT, SIZES

SHARES = 2400
FEW = 10


def cases(share: int, at_least: int = FEW) -> Callable[[Any], Any]:
    """Settings for a law with this share of all cases. It may need some to meet what it is about at all."""
    fewest = 1 if SIZES.cases < SHORT.cases else min(share, at_least)
    return settings(
        max_examples=max(fewest, share * SIZES.cases // SHARES),
        deadline=None,
        database=None,
        derandomize="VIEWKEEPER_CASES" not in os.environ,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        phases=[phase for phase in Phase if phase is not Phase.explain and _shrinks(phase)],
    )


def _shrinks(phase: Phase) -> bool:
    """`VIEWKEEPER_SHRINK=0` reports a failure as it was found, at once."""
    return phase is not Phase.shrink or os.environ.get("VIEWKEEPER_SHRINK") != "0"
