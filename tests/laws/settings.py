"""How many random cases a law is tried with.

`VIEWKEEPER_CASES=20000` spreads that many over all laws; by default there are some 2,000.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

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
    )
