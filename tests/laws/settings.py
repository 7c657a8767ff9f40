"""How many random cases a law is tried with.

Shares are out of `SHARES`: `VIEWKEEPER_CASES=20000` gives each law eight times its share. By default it is
half of it, and a few at least.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

SHARES = 2400
DEFAULT_CASES = 1200
FEW = 10


def cases(share: int) -> Callable[[Any], Any]:
    """Settings for a law with this share of all cases."""
    wanted = int(os.environ.get("VIEWKEEPER_CASES", DEFAULT_CASES))
    fewest = 1 if wanted < DEFAULT_CASES else min(share, FEW)
    return settings(
        max_examples=max(fewest, share * wanted // SHARES),
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
