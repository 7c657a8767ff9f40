"""The four plots of Figure 10: seconds over the changes, and over the fact table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LINES = {
    "recompute": ("recompute, lattice", "s--"),
    "individual": ("propagate, no lattice", "^-"),
    "lattice": ("propagate, lattice", "o-"),
    "refresh": ("refresh", "v-"),
    "by_hand": ("by hand", "x:"),
    "duckdb": ("DuckDB recompute", "d:"),
}


def plot(points: Sequence[Any], folder: Path, rows: int, changes: int) -> list[Path]:
    """Writes (a) to (d) as PNG and SVG; `rows` and `changes` are what stays fixed in each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    panels = [("a", "update", "changes"), ("b", "insertion", "changes")]
    panels += [("c", "update", "rows"), ("d", "insertion", "rows")]
    for letter, kind, axis in panels:
        fixed = ("rows", rows) if axis == "changes" else ("changes", changes)
        shown = [p for p in points if p.kind == kind and getattr(p, fixed[0]) == fixed[1]]
        if not shown:
            continue
        figure, axes = pyplot.subplots(figsize=(6, 4))
        for name, (label, style) in LINES.items():
            axes.plot(
                [getattr(p, axis) for p in shown], [getattr(p, name) for p in shown], style, label=label
            )
        axes.set(xscale="log", yscale="log", xlabel=_label(axis), ylabel="seconds")
        axes.set_title(f"({letter}) {kind}-generating, {fixed[1]:,} {_label(fixed[0])}")
        axes.legend(fontsize=7)
        figure.tight_layout()
        for kind_of_file in ("png", "svg"):
            written.append(folder / f"figure-10{letter}.{kind_of_file}")
            figure.savefig(written[-1])
        pyplot.close(figure)
    return written


def _label(axis: str) -> str:
    return "sales" if axis == "rows" else "changes"
