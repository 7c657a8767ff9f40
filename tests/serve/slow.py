"""A service of its own process, without Spark, whose refreshes wait for a file.

python -m tests.serve.slow WAREHOUSE PORT GRACE_SECONDS
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.serve.shown import TOKEN, Shown
from viewkeeper.planning.explanation import Explanation
from viewkeeper.serve import server
from viewkeeper.serve.api import Service
from viewkeeper.serve.desk import Tell
from viewkeeper.serve.guard import access
from viewkeeper.serve.logs import configure
from viewkeeper.workspace import ProgressEvent


class Slow(Shown):
    """A refresh tells that it has begun, and commits when the file is there; explanations never end."""

    def refreshed(self, views: tuple[str, ...], policy: str | None, tell: Tell) -> Mapping[str, Any]:
        tell(ProgressEvent("refresh", views[0], 0, 1))
        while not (Path(sys.argv[1]) / "go").exists():
            time.sleep(0.02)
        self.change()
        return {"views": []}

    def explain(self, view: str) -> Explanation:
        while True:
            time.sleep(1)


if __name__ == "__main__":
    configure()
    server.LAST_ANSWERS, server.LAST = 1, 2.0
    service = Service(Slow(sys.argv[1]), None, access("127.0.0.1", (), TOKEN), float(sys.argv[3]))
    server.answer(service, "127.0.0.1", int(sys.argv[2]))
