"""The tutorial is run, and tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import run
from tests.warehouse.rows import bag, rows


def test_the_tutorial_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("tutorial.md", spark, tmp_path, monkeypatch)
    assert rows(names["wh"].table("cities")) == bag([("Lyon", 2, 3, 2)])
    assert bag(tuple(row.values()) for row in names["before"].to_arrow().to_pylist()) == bag(
        [("Lyon", 2, 3, 2), ("Lille", 2, 14, 9)]
    )
    told = capsys.readouterr().out
    assert "sales followed  1" in told
    assert "cities view stale" in told
    assert "sales from version 0 to 1 by commits - 7 rows in files" in told
    assert re.search(r"cities by [a-z-]+ from \d+ rows, with [1-9]\d* written", told)
