"""docs/support.md is current, lists every reason code, and promises nothing that cannot be planned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.support.examples import REDEFINED, SECTIONS
from tools.support.page import (
    ASKED,
    INSERTED,
    MIXED,
    answers,
    batch_of,
    keeps_no_state,
    page,
    refusals,
    strategy_of,
    view_of,
)

ROOT = Path(__file__).parents[2]
MAINTENANCE = ROOT / "src" / "viewkeeper" / "maintenance"
QUERIES = [sql for examples in SECTIONS.values() for sql in examples.values()]


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
    assert written == page(), "docs/support.md is not current: run `make docs`"


def codes_in(file: Path) -> Iterator[str]:
    """The codes of all reasons that a module makes; a code is a literal or a constant of the module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id in {"Reason", "Refused"}:
                code = node.args[0]
                yield code.value if isinstance(code, ast.Constant) else constants.get(ast.unparse(code), "")


def below(folder: Path) -> list[Path]:
    return [file.relative_to(folder) for file in folder.rglob("*.py")]


def test_every_code_that_a_refusal_can_give_is_listed() -> None:
    """Refusals to derive one summary from another, or from any, are no refusals of a strategy."""
    files = [MAINTENANCE / file for file in below(MAINTENANCE) if "lattice" not in file.parts]
    possible = {code for file in files for code in codes_in(file) if code}
    codes = page().partition("## Reason codes")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", codes, re.MULTILINE)
    listed = {code for code, given_by in rows if given_by != "`lattice`"}
    assert len(possible) > 5
    assert possible == listed
    assert {reason.code for _, reason in refusals()} == listed


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_not_refused_can_be_planned(asked: str) -> None:
    taken = 0
    for sql in QUERIES:
        for reason, change in zip(answers(sql, asked), (INSERTED, MIXED), strict=True):
            if reason is None:
                batch, view = batch_of(sql, change), view_of(sql, asked)
                script = strategy_of(view, asked).plan(view, batch)
                assert bool(script) == bool(batch.changes), sql
                taken += 1
    assert taken


def test_state_is_kept_for_sums_and_not_for_medians() -> None:
    group = "SELECT storeID, {} AS v FROM pos GROUP BY storeID"
    assert not keeps_no_state(view_of(group.format("SUM(qty)"), "auto"))
    assert keeps_no_state(view_of(group.format("MEDIAN(qty)"), "auto"))


def test_no_example_is_given_twice() -> None:
    assert len(set(QUERIES)) > 90
    assert all(before != after for before, after in REDEFINED)
