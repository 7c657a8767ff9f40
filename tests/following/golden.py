"""Where the tables are that the Delta project wrote for its own readers: beside the repository, or where
VIEWKEEPER_DELTA_TABLES says."""

from __future__ import annotations

import os
from pathlib import Path

BESIDE = Path(__file__).parents[3] / "shared" / "delta-tables"
GOLDEN = Path(os.environ.get("VIEWKEEPER_DELTA_TABLES") or BESIDE) / "golden"


def tables() -> list[Path]:
    """The tables that have a log; none where they are not there."""
    found = sorted(GOLDEN.iterdir()) if GOLDEN.is_dir() else []
    return [path for path in found if (path / "_delta_log").is_dir()]
