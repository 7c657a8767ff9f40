"""Pages whose examples are run, one after the other, as they stand, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk

DOCS = Path(__file__).parents[1] / "docs"


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def run(page: str, spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that a page's examples leave; they use the tests' Spark session."""
    start = vk.open
    monkeypatch.setattr(vk, "open", lambda path: start(str(folder / path), spark=spark))
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for example in examples(page):
        # Java stays in the folder in which it was started.
        placed = example.replace('"landing"', repr(str(folder / "landing")))
        exec(compile(placed, page, "exec"), names)
    return names
