"""The notebook's cells run one after the other, and what they end with shows as a table or picture."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from viewkeeper.notebook import listener
from viewkeeper.workspace import ProgressEvent

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def run(source: str, names: dict[str, Any]) -> Any:
    """What the last line of a cell gives, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, spark: Any):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = [run("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    pictures = [one for one in shown if hasattr(one, "_repr_html_") or hasattr(one, "_repr_svg_")]
    told = [one._repr_html_() if hasattr(one, "_repr_html_") else one._repr_svg_() for one in pictures]
    status, lattice, report, explanation = told[:4]
    assert "<th>seconds behind</th>" in status
    assert lattice.startswith("<svg")
    assert "<td>by_region</td>" in report
    assert "<details>" in explanation
    assert names["rows"] == {"south": (62, 1920)}


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
