"""The progress of a run as server-sent events: one `progress` for each thing told, and an `end`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from viewkeeper.plain import finite, plain
from viewkeeper.serve.jobs import Job

PAUSE = 0.05
"""Seconds between two looks at a run."""

SIGN_OF_LIFE = 15.0
"""Seconds after which a comment is sent, so that nothing between takes the connection for dead."""


async def events(run: Job) -> AsyncIterator[str]:
    """What a run has told so far, and what it tells until it is over."""
    told, silent = 0, 0.0
    while True:
        is_over = run.is_over  # asked first: what it told before that is in the list
        for event in run.events[told:]:
            told, silent = told + 1, 0.0
            yield _event("progress", event)
        if is_over:
            yield _event("end", run.to_dict())
            return
        await asyncio.sleep(PAUSE)
        silent += PAUSE
        if silent >= SIGN_OF_LIFE:
            silent = 0.0
            yield ": still at work\n\n"


def _event(kind: str, data: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(finite(data), default=plain)}\n\n"
