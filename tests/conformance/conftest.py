"""The spread of real cases is collected only where the file of cases is."""

from __future__ import annotations

from tests.conformance.location import CASES

collect_ignore = [] if CASES.exists() else ["test_spread.py"]
