"""A conjunction split for Algorithm 4.1 of blakeley86, and the tests that it gives for a changed tuple.

    C = C_INV and C_VEVAL and C_VNEVAL

C_INV mentions no attribute of the tuple, C_VEVAL nothing else, C_VNEVAL both. The paper substitutes each
tuple and looks for negative cycles in the graph. Such a cycle runs through the tuple's values, and between
two of them only over invariant edges, whose shortest paths are known beforehand:

    A <= x + v,   x ⇝ y of length w,   y <= B + u     give the test     A <= B + v + w + u

So the tuple is relevant when a fixed list of comparisons of its own values holds. No tuple is substituted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from viewkeeper.algebra.expressions import columns_of
from viewkeeper.maintenance.relevance.domains import ConstantNode
from viewkeeper.maintenance.relevance.formulae import (
    AtMost,
    Conjunction,
    Evaluable,
    Formula,
    IsNull,
    NotNull,
)
from viewkeeper.maintenance.relevance.graph import Graph, Length, along


@dataclass(frozen=True)
class Split:
    """One conjunction, its formulae in the order of their texts."""

    invariant: tuple[Formula, ...]
    evaluable: tuple[Formula, ...]
    non_evaluable: tuple[AtMost, ...]
    own: frozenset[str]

    @cached_property
    def graph(self) -> Graph:
        """The invariant portion of the graph: built once, whatever the tuples."""
        return Graph(tuple(f for f in self.invariant if isinstance(f, AtMost)))

    @property
    def is_satisfiable(self) -> bool:
        """Whether any tuple at all can be relevant."""
        if not self.graph.is_satisfiable or any(_is_false(test) for test in self.tests):
            return False
        return Graph(self.tests).is_satisfiable

    @cached_property
    def tests(self) -> tuple[AtMost, ...]:
        """Comparisons of the tuple's values with each other and with constants, the tightest of each pair."""
        tightest: dict[tuple[object, object], AtMost] = {}
        for test in (*self._evaluable_edges, *self._through_graph()):
            known = tightest.get(test.nodes)
            if known is None or _length(test) < _length(known):
                tightest[test.nodes] = test
        return tuple(test for test in tightest.values() if test.left != test.right or _is_false(test))

    @property
    def _evaluable_edges(self) -> Iterable[AtMost]:
        return (f for f in self.evaluable if isinstance(f, AtMost))

    def _through_graph(self) -> Iterator[AtMost]:
        """A test for each path from a value of the tuple, over the graph, to another or to a constant."""
        constants = [node for node in self.graph.nodes if isinstance(node, ConstantNode)]
        arriving = [e for e in self.non_evaluable if self._enters(e)]
        leaving = [e for e in self.non_evaluable if not self._enters(e)]
        for first in arriving:
            ends = [AtMost(node, node) for node in constants]
            yield from self._joined(first, [*leaving, *ends])
        for last in leaving:
            for node in constants:
                yield from self._joined(AtMost(node, node), [last])

    def _enters(self, edge: AtMost) -> bool:
        """Whether the edge leads from the tuple into the graph."""
        return edge.left in self.own

    def _joined(self, first: AtMost, ends: Iterable[AtMost]) -> Iterator[AtMost]:
        for last in ends:
            between = self.graph.length(first.right, last.left)
            if between is not None:
                weight, loose = along(along(_length(first), between), _length(last))
                yield AtMost(first.left, last.right, weight, not loose)


def split(conjunction: Conjunction, own: frozenset[str]) -> Split:
    """C_INV, C_VEVAL and C_VNEVAL for tuples that give values to the attributes `own`."""
    invariant, evaluable, non_evaluable = [], [], []
    for formula in sorted(conjunction, key=str):
        variables = variables_of(formula)
        if variables <= own and (variables or isinstance(formula, Evaluable)):
            evaluable.append(formula)
        elif variables & own and isinstance(formula, AtMost):
            non_evaluable.append(formula)
        else:
            invariant.append(formula)
    return Split(tuple(invariant), tuple(evaluable), tuple(non_evaluable), own)


def variables_of(formula: Formula) -> frozenset[str]:
    match formula:
        case AtMost():
            return frozenset(node for node in formula.nodes if isinstance(node, str))
        case NotNull() | IsNull():
            return frozenset({formula.variable})
        case Evaluable():
            return columns_of(formula.condition)
        case _:
            assert_never(formula)


def _length(edge: AtMost) -> Length:
    return edge.weight, not edge.strict


def _is_false(test: AtMost) -> bool:
    return test.left == test.right and (test.weight < 0 or (test.weight == 0 and test.strict))
