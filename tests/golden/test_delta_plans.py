"""Each rule's plan before and after, as text in `*.txt`.

`VIEWKEEPER_GOLDEN=update pytest tests/golden` rewrites the files; read the difference before committing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.golden.cases import CASES
from viewkeeper.algebra.counts import weighted
from viewkeeper.delta import delta, minimal
from viewkeeper.sql.render import render
from viewkeeper.sql.show import show

HERE = Path(__file__).parent
UPDATE = os.environ.get("VIEWKEEPER_GOLDEN") == "update"


def text_of(name: str) -> str:
    view, changed = CASES[name]
    change = delta(view, frozenset(changed.split()))
    parts = {
        f"view, of which {' and '.join(changed.split())} changed": show(view),
        "delta": show(change),
        "strongly minimal, as SQL": render(weighted(minimal(change))),
    }
    return "\n".join(f"-- {title}\n{body}\n" for title, body in parts.items())


@pytest.mark.parametrize("name", CASES)
def test_the_delta_is_as_written_down(name: str) -> None:
    path, text = HERE / f"{name}.txt", text_of(name)
    if UPDATE:
        path.write_text(text)
    assert text == path.read_text()


def test_every_written_delta_has_its_case() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(CASES)
