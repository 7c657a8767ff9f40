"""Spans of stages and steps, where somebody configured an exporter."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from viewkeeper import tracing
from viewkeeper.tracing import span


def test_spans_nest_have_attributes_and_note_what_went_wrong(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_TRACER", provider.get_tracer("viewkeeper"))
    with pytest.raises(ValueError), span("viewkeeper.stage", stage="run", views=2):  # noqa: PT012
        with span("viewkeeper.step", step="Compute"):
            pass
        raise ValueError("no")
    step, stage = exporter.get_finished_spans()
    assert (step.name, stage.name) == ("viewkeeper.step", "viewkeeper.stage")
    assert step.parent is not None
    assert step.parent.span_id == stage.context.span_id
    assert dict(stage.attributes or {}) == {"stage": "run", "views": 2}
    assert stage.status.status_code is trace.StatusCode.ERROR


def test_without_opentelemetry_nothing_happens(monkeypatch):
    monkeypatch.setattr(tracing, "_TRACER", None)
    with pytest.raises(ValueError, match="of the body"), span("viewkeeper.stage", stage="run"):
        raise ValueError("of the body")
