"""Spans of OpenTelemetry around stages and steps, where it is installed and an exporter is configured.

Viewkeeper configures none: whoever sets a tracer provider sees the spans, and for others they cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def _tracer() -> Any:
    try:
        return import_module("opentelemetry.trace").get_tracer("viewkeeper")
    except ImportError:
        return None


_TRACER = _tracer()


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[None]:
    """Marks what happens inside; an exception is noted and passed on."""
    if _TRACER is None:
        yield
        return
    with _TRACER.start_as_current_span(name, attributes=attributes):
        yield
