"""NaN is greater than every other number: files that hold it are not skipped for the others."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.regressions.mirrored import Mirrored

NAN = float("nan")


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_rows_with_nan_beside_smaller_numbers(warehouse: vk.Warehouse, kind: str) -> None:
    mirrored = Mirrored(warehouse)
    rows = [(1, 1, 0.5), (2, 1, NAN), (3, 2, 1.0)]
    mirrored.table("p", f"id INT, v INT, d {kind}", rows, key="id")
    for strategy in ("auto", "id-diffs", "tuple-diffs"):
        name = strategy.replace("-", "_")
        mirrored.view(f"{name}_rows", "SELECT id, d FROM p WHERE d > 1", strategy=strategy)
        text = "SELECT v, COUNT(*) AS n FROM p WHERE d > 1 GROUP BY v"
        mirrored.view(f"{name}_counts", text, strategy=strategy)
    assert not mirrored.wrong()
    mirrored.change("p", insert=[(4, 1, NAN), (5, 2, 0.5), (6, 2, None)])
    assert not mirrored.refreshed("incremental")
    mirrored.change("p", delete=[(2, 1, NAN), (5, 2, 0.5)])
    assert not mirrored.refreshed("incremental")
    assert not mirrored.refreshed("full")
