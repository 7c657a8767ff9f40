"""Drawing a lattice as mumick97 draws Figures 5 and 9: for a terminal, as Mermaid and as SVG.

Nodes stand on levels, the tops above; a node shows its group-by attributes and its size, an edge the
dimensions that it joins. Edges that were chosen are heavy, the others light.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape

from viewkeeper.algebra.expressions import columns_of
from viewkeeper.maintenance.lattice.build import Lattice
from viewkeeper.maintenance.lattice.cube_view import CubeView, short
from viewkeeper.maintenance.lattice.derives import Edge
from viewkeeper.maintenance.lattice.parents import ParentChoice


@dataclass(frozen=True)
class Drawing:
    """A lattice, and what is known of it: rows by node, and the edges that were chosen."""

    nodes: Lattice
    rows: Mapping[str, int]
    chosen: frozenset[tuple[str, str]]

    def is_chosen(self, edge: Edge) -> bool:
        return (edge.parent.name, edge.child.name) in self.chosen

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """What is drawn: the covering edges, and chosen ones that skip a level."""
        covers = set(map(id, self.nodes.covers))
        return tuple(edge for edge in self.nodes.edges if id(edge) in covers or self.is_chosen(edge))

    def size(self, view: CubeView) -> str:
        return f"{self.rows[view.name]:,} rows" if view.name in self.rows else ""

    def __str__(self) -> str:
        return as_text(self)

    def to_mermaid(self) -> str:
        return as_mermaid(self)

    def to_svg(self) -> str:
        return as_svg(self)

    def _repr_svg_(self) -> str:
        return as_svg(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "views": [
                {"name": view.name, "group_by": list(view.key_names), "rows": self.rows.get(view.name)}
                for view in self.nodes.views
            ],
            "edges": [
                {
                    "parent": edge.parent.name,
                    "child": edge.child.name,
                    "joins": list(edge.annotation),
                    "chosen": self.is_chosen(edge),
                }
                for edge in self.edges
            ],
        }


def drawing(
    nodes: Lattice, rows: Mapping[str, int] | None = None, choices: Iterable[ParentChoice] = ()
) -> Drawing:
    chosen = frozenset((c.edge.parent.name, c.view.name) for c in choices if c.edge is not None)
    return Drawing(nodes, rows or {}, chosen)


def group_by(view: CubeView) -> str:
    """The node as the paper writes it: (storeID, itemID, date), hidden attributes in brackets."""
    shown = [key.name for key in view.keys]
    hidden = [f"[{' '.join(short(n) for n in sorted(columns_of(key.expr)))}]" for key in view.hidden_keys]
    return f"({', '.join([*shown, *hidden])})"


def levels(nodes: Lattice) -> tuple[tuple[CubeView, ...], ...]:
    """Nodes by the longest path from a top."""
    depth: dict[str, int] = {}
    for view in nodes.views:
        depth[view.name] = 1 + max((depth[edge.parent.name] for edge in nodes.into(view)), default=-1)
    wanted = range(max(depth.values(), default=-1) + 1)
    return tuple(tuple(view for view in nodes.views if depth[view.name] == level) for level in wanted)


def as_text(drawn: Drawing) -> str:
    """One node a line, its parents below it: ━ marks the chosen edge, ⋈ the joined dimensions."""
    lines = []
    for level in levels(drawn.nodes):
        for view in level:
            lines.append("  ".join(part for part in (view.name, group_by(view), drawn.size(view)) if part))
            lines.extend(f"    {line}" for line in _parent_lines(drawn, view))
    return "\n".join(lines)


def _parent_lines(drawn: Drawing, view: CubeView) -> Iterable[str]:
    into = [edge for edge in drawn.edges if edge.child.name == view.name]
    for edge in sorted(into, key=lambda edge: not drawn.is_chosen(edge)):
        mark = "┗━" if drawn.is_chosen(edge) else "└─"
        joins = f" ⋈ {', '.join(edge.annotation)}" if edge.joins else ""
        yield f"{mark} from {edge.parent.name}{joins}"


def as_mermaid(drawn: Drawing) -> str:
    """A Mermaid flow chart."""
    number = {view.name: f"n{i}" for i, view in enumerate(drawn.nodes.views)}
    lines = ["flowchart TD"]
    for view in drawn.nodes.views:
        label = "<br/>".join(part for part in (view.name, group_by(view), drawn.size(view)) if part)
        lines.append(f'  {number[view.name]}["{label.replace(chr(34), "#quot;")}"]')
    for edge in drawn.edges:
        arrow = "==>" if drawn.is_chosen(edge) else "-->"
        label = f"|{', '.join(edge.annotation)}|" if edge.joins else ""
        lines.append(f"  {number[edge.parent.name]} {arrow}{label} {number[edge.child.name]}")
    return "\n".join(lines) + "\n"


_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 210, 58, 30, 70, 20


def as_svg(drawn: Drawing) -> str:
    """A self-contained SVG picture."""
    rows = levels(drawn.nodes)
    widest = max((len(row) for row in rows), default=1)
    width = 2 * _MARGIN + widest * _WIDTH + (widest - 1) * _GAP_X
    height = 2 * _MARGIN + len(rows) * _HEIGHT + max(len(rows) - 1, 0) * _GAP_Y
    places = _places(rows, width)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="12">'
    )
    lines = [line for edge in drawn.edges for line in _svg_edge(edge, places, drawn.is_chosen(edge))]
    boxes = [line for view in drawn.nodes.views for line in _svg_node(view, places, drawn.size(view))]
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, *boxes, "</svg>", ""])


def _places(rows: tuple[tuple[CubeView, ...], ...], width: int) -> dict[str, tuple[float, float]]:
    """The upper left corner of every node, each level centred."""
    places: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        used = len(row) * _WIDTH + (len(row) - 1) * _GAP_X
        for position, view in enumerate(row):
            x = (width - used) / 2 + position * (_WIDTH + _GAP_X)
            places[view.name] = (x, _MARGIN + level * (_HEIGHT + _GAP_Y))
    return places


def _svg_edge(edge: Edge, places: Mapping[str, tuple[float, float]], chosen: bool) -> Iterable[str]:
    (x1, y1), (x2, y2) = places[edge.parent.name], places[edge.child.name]
    x1, y1, x2 = x1 + _WIDTH / 2, y1 + _HEIGHT, x2 + _WIDTH / 2
    look = 'stroke="#1f6feb" stroke-width="2.5"' if chosen else 'stroke="#8c959f" stroke-dasharray="4 3"'
    yield f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {look}/>'
    if edge.joins:
        label = escape("⋈ " + ", ".join(edge.annotation))
        middle = f'x="{(x1 + x2) / 2 + 6:g}" y="{(y1 + y2) / 2:g}"'
        yield f'<text {middle} fill="#57606a" font-style="italic">{label}</text>'


def _svg_node(view: CubeView, places: Mapping[str, tuple[float, float]], size: str) -> Iterable[str]:
    x, y = places[view.name]
    shape = f'x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"'
    yield f'<rect {shape} fill="#f6f8fa" stroke="#57606a"/>'
    for number, text in enumerate((view.name, group_by(view), size)):
        weight = ' font-weight="bold"' if number == 0 else ""
        place = f'x="{x + _WIDTH / 2:g}" y="{y + 18 + 16 * number:g}"'
        yield f'<text {place} text-anchor="middle"{weight}>{escape(text)}</text>'
