"""Where the conformance cases are: beside the repository, or where VIEWKEEPER_CONFORMANCE says."""

from __future__ import annotations

import os
from pathlib import Path

BESIDE = Path(__file__).parents[3] / "shared" / "conformance" / "cases.jsonl"
CASES = Path(os.environ.get("VIEWKEEPER_CONFORMANCE") or BESIDE)
