"""Rows that Spark itself says it has read from files: the metrics of its scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def rows_scanned(spark: SparkSession, run: Callable[[], Any]) -> int:
    """The rows that came out of all scans of files while something ran."""
    store = spark._jsparkSession.sharedState().statusStore()
    bus = spark._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    known = {one.executionId() for one in _all(store.executionsList())}
    run()
    bus.waitUntilEmpty()
    fresh = [one.executionId() for one in _all(store.executionsList()) if one.executionId() not in known]
    return sum(_scanned(store, number) for number in fresh)


def _scanned(store: Any, number: int) -> int:
    values = store.executionMetrics(number)
    found = 0
    for node in _all(store.planGraph(number).allNodes()):
        if not node.name().startswith("Scan "):
            continue
        for metric in _all(node.metrics()):
            if metric.name() == "number of output rows":
                text = values.get(metric.accumulatorId())
                found += int(text.get().replace(",", "")) if text.isDefined() else 0
    return found


def _all(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]
