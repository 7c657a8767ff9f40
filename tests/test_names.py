"""One name, one thing: a class name says what it is without its module."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.test_reachable import modules


def places() -> dict[str, list[str]]:
    """The modules that define each class."""
    found = defaultdict(list)
    for module, path in sorted(modules().items()):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return found


def test_each_class_name_occurs_once() -> None:
    twice = {name: where for name, where in places().items() if len(where) > 1}
    assert not twice
