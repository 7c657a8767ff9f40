"""What notebooks show while work lasts."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from viewkeeper.notebook import listener
from viewkeeper.workspace import ProgressEvent


def test_progress_is_one_line_below_each_cell(monkeypatch: pytest.MonkeyPatch):
    shell, shown = SimpleNamespace(kernel=object(), execution_count=1), []

    def display(what: str, display_id: bool) -> Any:
        shown.append([what])
        return SimpleNamespace(update=shown[-1].append)

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    tell = listener()
    assert tell is not None
    tell(ProgressEvent("refresh", "a<b", 1, 2))
    tell(ProgressEvent("iterate", "round 3", 0, 0))
    shell.execution_count = 2
    tell(ProgressEvent("refresh", "", 2, 2))
    first = '<div><progress value="1" max="2"></progress> refresh a&lt;b</div>'
    last = '<div><progress value="2" max="2"></progress> refresh</div>'
    assert shown == [[first, "<div>iterate round 3</div>"], [last]]


def test_elsewhere_nobody_listens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert listener() is None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=SimpleNamespace))
    assert listener() is None
