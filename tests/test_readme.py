"""The examples of README.md are run, as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import viewkeeper as vk

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.strip().splitlines()[0])
def test_example(example, spark, tmp_path, monkeypatch):
    """In the tests' Spark session instead of one of its own."""
    start = vk.open
    monkeypatch.setattr(vk, "open", lambda path: start(str(tmp_path / path), spark=spark))
    names: dict[str, object] = {}
    exec(compile(example, str(README), "exec"), names)
    warehouse = names["wh"]
    assert isinstance(warehouse, vk.Warehouse)
    rows = [tuple(row) for row in warehouse.table("region_sales").collect()]
    assert rows == [("south", 3, 14)]


def test_there_is_an_example():
    assert len(EXAMPLES) == 1
