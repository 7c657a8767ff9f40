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
MADE = {"fuzz/failures/", "repros/"}
"""Folders that are made as they are needed; so are those with a name in capitals, which stands for any."""


def is_history(text: str) -> bool:
    """Whether a document tells of what was: the changelog, or a decision that is no longer followed."""
    return text.startswith("# Changelog") or bool(re.search(r"^\*Status\*:.*superseded", text, re.MULTILINE))


def is_there(name: str, document: Path) -> bool:
    path = name.rstrip("/")
    folder, _, last = path.rpartition("/")
    module, _, function = last.rpartition(".")
    for root in (*ROOTS, document.parent):
        source = root / folder / f"{module}.py"
        if (root / path).exists() or (source.exists() and f"def {function}(" in source.read_text("utf-8")):
            return True
    inside = (found for part in ("src", "tests", "fuzz") for found in (ROOT / part).rglob(last))
    return any(found.as_posix().endswith(f"/{path}") for found in inside)


def is_path(name: str) -> bool:
    """Whether a name is one of this repository: of a file, or below one of its folders."""
    parts = name.split("/")
    is_inside = any((root / parts[0]).is_dir() for root in ROOTS[:2]) and ".." not in parts
    is_made = name in MADE or any(part.isupper() for part in parts)
    return not is_made and (is_inside or name.endswith((".py", ".md")))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_document_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = () if is_history(text) else filter(is_path, NAMED.findall(text))
    missing = {name for name in named if not is_there(name, path)}
    broken = {name for name in LINKED.findall(text) if not (path.parent / name).exists()}
    assert missing | broken == set()
