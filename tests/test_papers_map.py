"""docs/papers.md names modules and tests: each of them exists, and what is there is shown by a warehouse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]


def named(column: int) -> list[str]:
    return sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])})


@pytest.mark.parametrize("name", named(2))
def test_module_exists(name):
    assert (ROOT / "src" / "viewkeeper" / name).exists()


@pytest.mark.parametrize("name", named(3))
def test_test_exists(name):
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"def {function}" in text


def test_every_row_has_a_module_and_a_test_or_says_why_not():
    bare = [row for row in ROWS if any("`" not in cell and cell not in ("planned", "—") for cell in row[2:])]
    assert bare == []
    assert {len(row) for row in ROWS} == {4}


def opens_a_warehouse(name: str) -> bool:
    return "import viewkeeper as vk" in (ROOT / name.partition("::")[0]).read_text(encoding="utf-8")


def test_every_row_with_a_module_has_a_test_that_goes_through_a_warehouse():
    with_code = [row for row in ROWS if "`" in row[2]]
    bare = [row[0] for row in with_code if not any(map(opens_a_warehouse, re.findall(r"`([^`]+)`", row[3])))]
    assert bare == []
