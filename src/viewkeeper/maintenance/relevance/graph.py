"""The weighted graph of a conjunction, and its negative cycles (blakeley86 section 4, after RH80 and F62).

    x <= y + c   →   an edge from x to y of weight c

Along a path weights add up: `x <= y + 2` and `y <= z + 3` give `x <= z + 5`. A cycle of negative weight,
or of weight zero with a strict edge, says `x < x`: the conjunction is unsatisfiable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from viewkeeper.maintenance.relevance.domains import ConstantNode, precedes
from viewkeeper.maintenance.relevance.formulae import AtMost, GraphNode

Length: TypeAlias = tuple[Fraction, bool]
"""The weight of a path, and whether it is *not* strict: the smaller, the tighter."""

Lengths: TypeAlias = dict[tuple[GraphNode, GraphNode], Length]
EMPTY_PATH: Length = (Fraction(0), True)


def along(first: Length, second: Length) -> Length:
    return first[0] + second[0], first[1] and second[1]


@dataclass(frozen=True)
class Graph:
    edges: tuple[AtMost, ...]

    @cached_property
    def nodes(self) -> tuple[GraphNode, ...]:
        """Constants last, so that the shortest paths between variables are known before them."""
        found = dict.fromkeys(node for edge in self.edges for node in edge.nodes)
        return tuple(sorted(found, key=lambda node: isinstance(node, ConstantNode)))

    @cached_property
    def paths(self) -> Lengths:
        """The shortest paths whose inner nodes are variables.

        A path over a constant says nothing new about a tuple: it is two comparisons with that constant.
        """
        variables = [node for node in self.nodes if not isinstance(node, ConstantNode)]
        return _shortest(_lengths(self.edges), self.nodes, variables)

    @cached_property
    def is_satisfiable(self) -> bool:
        constants = [node for node in self.nodes if isinstance(node, ConstantNode)]
        known = _lengths(_order(constants))
        for ends, length in self.paths.items():
            known[ends] = min(length, known.get(ends, length))
        every = _shortest(known, self.nodes, constants)
        return all(every.get((node, node), EMPTY_PATH) >= EMPTY_PATH for node in self.nodes)

    def length(self, start: GraphNode, end: GraphNode) -> Length | None:
        return EMPTY_PATH if start == end else self.paths.get((start, end))


def _lengths(edges: Iterable[AtMost]) -> Lengths:
    known: Lengths = {}
    for edge in edges:
        length = (edge.weight, not edge.strict)
        known[edge.nodes] = min(length, known.get(edge.nodes, length))
    return known


def _shortest(known: Lengths, nodes: Iterable[GraphNode], inner: Iterable[GraphNode]) -> Lengths:
    """Floyd's algorithm, with these nodes as the inner nodes of paths."""
    lengths, nodes = dict(known), tuple(nodes)
    for middle in inner:
        arriving = [(node, lengths[node, middle]) for node in nodes if (node, middle) in lengths]
        leaving = [(node, lengths[middle, node]) for node in nodes if (middle, node) in lengths]
        for start, first in arriving:
            for end, second in leaving:
                length = along(first, second)
                lengths[start, end] = min(length, lengths.get((start, end), length))
    return lengths


def _order(constants: list[ConstantNode]) -> Iterable[AtMost]:
    """What is known of the constants themselves: `'a' < 'b'`."""
    for left in constants:
        for right in constants:
            if precedes(left, right):
                yield AtMost(left, right, strict=True)
