"""How many random cases a law is tried with.

`VIEWKEEPER_CASES=20000` spreads that many over all laws; by default there are some 2,000.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

DEFAULT_CASES = 2400


def cases(share: int) -> Callable[[Any], Any]:
    """Settings for a law with this share of the default number of cases."""
    wanted = int(os.environ.get("VIEWKEEPER_CASES", DEFAULT_CASES))
    return settings(
        max_examples=max(1, share * wanted // DEFAULT_CASES),
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
