"""What the documents name is there: files, folders, functions of modules, and the pages that they link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOTS = (ROOT, ROOT / "src" / "viewkeeper", ROOT / "src", ROOT / "tests", ROOT / "docs")
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

NAMED = re.compile(r"`((?:[\w.-]+/)+(?:[\w.-]+)?|[\w-]+\.(?:py|md|txt))(?:::?[^`]*)?`")
"""A path, or the name of a file, alone in code quotes; what follows a colon is inside of the file."""

LINKED = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
MADE = {"fuzz/failures/", "repros/", "published/NAME"}
"""Folders that are made as they are needed."""


def is_history(text: str) -> bool:
    """Whether a document tells of what was: the changelog, or a decision that is no longer followed."""
    return text.startswith("# Changelog") or bool(re.search(r"^\*Status\*:.*superseded", text, re.MULTILINE))


def is_there(name: str, document: Path) -> bool:
    folder, _, last = name.rpartition("/")
    module, _, function = last.rpartition(".")
    for root in (*ROOTS, document.parent):
        source = root / folder / f"{module}.py"
        if (root / name).exists() or (source.exists() and f"def {function}(" in source.read_text("utf-8")):
            return True
    inside = (path for part in ("src", "tests", "fuzz") for path in (ROOT / part).rglob(last or name))
    return any(path.as_posix().endswith(f"/{name}") for path in inside)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_document_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set() if is_history(text) else set(NAMED.findall(text)) - MADE
    missing = {name for name in named if not name.startswith("..") and not is_there(name, path)}
    broken = {name for name in LINKED.findall(text) if not (path.parent / name).exists()}
    assert missing | broken == set()
