"""The lattice of a set of cube views: mumick97 sections 3.3, 3.4 and 5.1.

Nodes are views, and an edge runs from v1 to v2 wherever v2 ≺ v1. `edges` has all of them, so that a
partial lattice is a mere restriction; `covers` has those that no path of others replaces, which is what
the paper's figures draw. Of two views that derive each other the earlier one is above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from viewkeeper.maintenance.lattice.cube_view import CubeView
from viewkeeper.maintenance.lattice.derives import Edge, derives


@dataclass(frozen=True)
class Lattice:
    """A partial lattice of views; views come before those derived from them."""

    views: tuple[CubeView, ...]
    edges: tuple[Edge, ...]

    def view(self, name: str) -> CubeView:
        return next(view for view in self.views if view.name == name)

    def into(self, view: CubeView) -> tuple[Edge, ...]:
        """The edges from views that this one can be derived from."""
        return tuple(edge for edge in self.edges if edge.child.name == view.name)

    def out_of(self, view: CubeView) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.parent.name == view.name)

    def edge(self, parent: str, child: str) -> Edge | None:
        found = (e for e in self.edges if (e.parent.name, e.child.name) == (parent, child))
        return next(found, None)

    @cached_property
    def covers(self) -> tuple[Edge, ...]:
        """The edges without those that a longer path makes."""
        pairs = {(edge.parent.name, edge.child.name) for edge in self.edges}

        def is_direct(edge: Edge) -> bool:
            between = (v.name for v in self.views)
            return not any((edge.parent.name, n) in pairs and (n, edge.child.name) in pairs for n in between)

        return tuple(edge for edge in self.edges if is_direct(edge))

    @property
    def tops(self) -> tuple[CubeView, ...]:
        return tuple(view for view in self.views if not self.into(view))

    @property
    def bottoms(self) -> tuple[CubeView, ...]:
        return tuple(view for view in self.views if not self.out_of(view))

    def restricted_to(self, names: Iterable[str]) -> Lattice:
        """Section 3.4: without the other nodes; edges between those above and below them remain."""
        kept = set(names)
        edges = tuple(e for e in self.edges if e.parent.name in kept and e.child.name in kept)
        return Lattice(tuple(view for view in self.views if view.name in kept), edges)


def lattice(
    views: Iterable[CubeView], as_child: Callable[[CubeView], CubeView] = lambda view: view
) -> Lattice:
    """The partial lattice of these views by the derives relation.

    `as_child` gives the form in which a view is derived, where that is not its whole stored form.
    """
    nodes = tuple(views)
    below: dict[str, set[str]] = {view.name: {view.name} for view in nodes}
    edges: list[Edge] = []
    for edge in _candidates(nodes, as_child):
        parent, child = edge.parent.name, edge.child.name
        if parent in below[child]:
            continue
        edges.append(edge)
        for reached in below.values():
            if parent in reached:
                reached |= below[child]
    return Lattice(_above_first(nodes, below), tuple(edges))


def _candidates(nodes: Sequence[CubeView], as_child: Callable[[CubeView], CubeView]) -> Iterator[Edge]:
    for parent in nodes:
        for child in nodes:
            edge = derives(as_child(child), parent) if child is not parent else None
            if isinstance(edge, Edge):
                yield edge


def _above_first(nodes: Sequence[CubeView], below: dict[str, set[str]]) -> tuple[CubeView, ...]:
    """Topological order: whoever reaches more nodes stands higher."""
    return tuple(sorted(nodes, key=lambda view: -len(below[view.name])))
